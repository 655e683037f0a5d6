"use strict";
// Keeps the page as the relay tells it, cell by cell, so that focus, selection and what a screen reader is at stay where they are.
// Without it the page is what it was when it was loaded.
const link = document.getElementById("link");
const say = (text, lost) => { link.textContent = text; link.className = lost ? "lost" : ""; };
const made = (html) => { const t = document.createElement("template"); t.innerHTML = html; return t.content; };

// morph makes the children of an element those of another, and leaves alone what is the same.
function morph(from, to) {
  const wanted = [...to.childNodes];
  let at = from.firstChild;
  for (const want of wanted) {
    if (at && at.nodeName === want.nodeName && (at.nodeType !== 1 || at.id === want.id)) {
      if (at.nodeType !== 1) {
        if (at.nodeValue !== want.nodeValue) at.nodeValue = want.nodeValue;
      } else if (!at.isEqualNode(want)) {
        for (const a of [...at.attributes]) if (!want.hasAttribute(a.name)) at.removeAttribute(a.name);
        for (const a of want.attributes) if (at.getAttribute(a.name) !== a.value) at.setAttribute(a.name, a.value);
        morph(at, want);
      }
      at = at.nextSibling;
    } else {
      from.insertBefore(want, at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    const held = at.contains(document.activeElement);
    at.remove();
    if (held) (from.closest("tr, section, main") || document.body).querySelector("a, button")?.focus({ preventScroll: true });
    at = next;
  }
}

// order puts the rows of a table in their order. The row that has the focus is not moved, the others are moved around it; one that
// goes stays until the focus has left it.
function order(id, { order: ids, new: rows = {} }) {
  const body = document.getElementById(id)?.tBodies[0];
  if (!body) return;
  document.getElementById(id + "-wide").hidden = ids.length === 0;
  document.getElementById(id + "-none").hidden = ids.length > 0;
  for (const [row, html] of Object.entries(rows)) {
    const is = document.getElementById(row), now = made(html).firstElementChild;
    if (is) morph(is, now); else body.append(now);
  }
  const keep = new Set(ids);
  for (const row of [...body.rows]) {
    if (keep.has(row.id)) { row.classList.remove("gone"); continue; }
    if (!row.contains(document.activeElement)) { row.remove(); continue; }
    row.classList.add("gone");
  }
  const anchor = [...body.rows].find((row) => row.contains(document.activeElement));
  const cut = anchor ? ids.indexOf(anchor.id) : -1;
  let next = cut < 0 ? null : anchor;
  const place = (row, before) => { if (row && row.nextElementSibling !== before) body.insertBefore(row, before); };
  for (let i = (cut < 0 ? ids.length : cut) - 1; i >= 0; i--) {
    const row = document.getElementById(ids[i]);
    place(row, next);
    next = row || next;
  }
  if (cut < 0) return;
  let last = anchor;
  for (const rowID of ids.slice(cut + 1)) {
    const row = document.getElementById(rowID);
    if (row && last.nextElementSibling !== row) last.after(row);
    last = row || last;
  }
}

// Times are told as how long it is until then, and counted here.
const span = (s) => s < 60 ? `${s} s` : s < 3600 ? `${Math.floor(s / 60)} min` : s < 86400 ? `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min` : `${Math.floor(s / 86400)} d ${Math.floor(s % 86400 / 3600)} h`;
function times() {
  for (const time of document.querySelectorAll("time.until, time.since")) {
    const s = Math.floor((Date.parse(time.dateTime) - Date.now()) / 1000);
    const text = time.className === "since" ? span(Math.max(0, -s)) + " ago" : s < 1 ? "now" : "in " + span(s);
    if (time.textContent !== text) { time.textContent = text; time.title = time.dateTime.replace("T", " ").replace("Z", " UTC"); }
  }
}

function show({ cells = {}, rows = {}, tables = {} }) {
  for (const [id, html] of Object.entries(cells)) {
    const element = document.getElementById(id);
    if (element) morph(element, made(html));
  }
  for (const [id, changed] of Object.entries(rows)) {
    const row = document.getElementById(id);
    if (row) for (const [i, html] of Object.entries(changed)) morph(row.cells[i], made(html));
  }
  for (const [id, now] of Object.entries(tables)) order(id, now);
  times();
}

say("connecting", false);
times();
setInterval(() => {
  times();
  for (const row of document.querySelectorAll("tr.gone")) if (!row.contains(document.activeElement)) row.remove();
}, 1000);
const { of, version } = document.body.dataset;
const source = new EventSource("changes?" + new URLSearchParams({ of, version }));
source.onopen = () => say("live view", false);
source.onerror = () => say("not connected; what is shown may be old", true);
source.onmessage = (message) => show(JSON.parse(message.data));

// Buttons that change something: without script they lead to another page.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post" || form.dataset.leaves) return;
  event.preventDefault();
  const data = new URLSearchParams(new FormData(form));
  data.delete("back");
  const button = form.querySelector("button");
  button.setAttribute("aria-disabled", "true");
  fetch(form.action, { method: "POST", body: data })
    .then((answer) => answer.text().then((text) => say(!answer.ok ? text || "it failed" : text.startsWith("{") ? "done" : text.trim(), !answer.ok)))
    .catch(() => say("the relay does not answer", true))
    .finally(() => button.removeAttribute("aria-disabled"));
});
