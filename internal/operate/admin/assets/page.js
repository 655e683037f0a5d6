"use strict";
// Asks for the page again and again and takes over what differs, so that focus, selection and what a screen reader is at stay where they are.
// Without it the page is what it was when it was loaded.
const link = document.getElementById("link");
const say = (text, lost) => { link.textContent = text; link.className = lost ? "lost" : ""; };
const hasFocus = (node) => node.contains(document.activeElement);
const kept = new Set(["open", "aria-disabled"]); // what the person or this script has set

// alike says whether one element or text can become the other.
const alike = (is, want) => is && is.nodeName === want.nodeName && (is.id ?? "") === (want.id ?? "");

// morph makes the children of an element those of another, and leaves alone what is the same. It finds elements by their ids wherever they
// stand; one that has the focus is not moved, the others are moved around it. A row that goes stays until the focus has left it.
function morph(from, to) {
  const stays = new Set([...to.children].map((child) => child.id));
  for (const child of [...from.children]) {
    if (!child.id || stays.has(child.id)) child.classList.remove("gone");
    else if (hasFocus(child) && child.nodeName === "TR") child.classList.add("gone");
    else remove(child);
  }
  const known = new Map([...from.children].map((child) => [child.id, child]));
  let at = from.firstChild;
  for (const want of [...to.childNodes]) {
    while (at?.classList?.contains("gone")) at = at.nextSibling;
    const is = want.id ? known.get(want.id) : at;
    if (!alike(is, want)) { from.insertBefore(want, at); continue; }
    if (is !== at && !hasFocus(is)) from.insertBefore(is, at);
    else while (at && at !== is) { const next = at.nextSibling; from.append(at); at = next; }
    become(is, want);
    at = is.nextSibling;
  }
  while (at) {
    const next = at.nextSibling;
    if (!at.classList?.contains("gone")) remove(at);
    at = next;
  }
}

function become(is, want) {
  if (is.isEqualNode(want)) return;
  if (is.nodeType !== 1) { is.nodeValue = want.nodeValue; return; }
  for (const a of [...is.attributes]) if (!want.hasAttribute(a.name) && !kept.has(a.name)) is.removeAttribute(a.name);
  for (const a of want.attributes) if (is.getAttribute(a.name) !== a.value) is.setAttribute(a.name, a.value);
  morph(is, want);
}

function remove(node) {
  const near = hasFocus(node) && node.parentNode.closest("tr, section, main");
  node.remove();
  if (near) (near.querySelector("a, button") || document.querySelector("a")).focus({ preventScroll: true });
}

// Times are told as how long it is until then, and counted here.
const span = (s) => s < 60 ? `${s} s` : s < 3600 ? `${Math.floor(s / 60)} min` : s < 86400 ? `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min` : `${Math.floor(s / 86400)} d ${Math.floor(s % 86400 / 3600)} h`;
function times(within) {
  for (const time of within.querySelectorAll("time.until, time.since")) {
    const s = Math.floor((Date.parse(time.dateTime) - Date.now()) / 1000);
    const text = time.className === "since" ? span(Math.max(0, -s)) + " ago" : s < 1 ? "now" : "in " + span(s);
    if (time.textContent !== text) { time.textContent = text; time.title = time.dateTime.replace("T", " ").replace("Z", " UTC"); }
  }
}

let version = document.body.dataset.version, lost = true, asked = 0;

// load asks for the page, of which the relay sends nothing where it is as it was. An answer that comes after a later question is old.
async function load() {
  if (document.hidden) return;
  const mine = ++asked;
  let problem = "not connected; what is shown may be old";
  try {
    const answer = await fetch(location.href, { headers: { "If-None-Match": version }, signal: AbortSignal.timeout(20000) });
    if (answer.status !== 304 && !answer.ok) {
      problem = "the relay does not show this page any more; what is shown may be old";
      throw answer;
    }
    const text = answer.ok ? await answer.text() : "";
    if (mine !== asked) return;
    if (text) {
      const now = new DOMParser().parseFromString(text, "text/html");
      times(now);
      morph(document.getElementById("main"), now.getElementById("main"));
      version = now.body.dataset.version;
    }
    if (lost) say("live view", false);
    lost = false;
  } catch {
    if (mine === asked) say(problem, lost = true);
  }
}

say("connecting", false);
times(document);
setInterval(() => {
  times(document);
  for (const row of document.querySelectorAll("tr.gone")) if (!hasFocus(row)) row.remove();
}, 1000);
const again = () => load().finally(() => setTimeout(again, 5000));
again();
document.addEventListener("visibilitychange", load);

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
    .finally(() => { button.removeAttribute("aria-disabled"); load(); });
});
