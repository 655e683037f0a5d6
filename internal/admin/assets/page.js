"use strict";
// Keeps the parts of the page as the relay tells them. Without it the page is what it was when it was loaded.
const link = document.getElementById("link");
const say = (text, lost) => { link.hidden = false; link.textContent = text; link.className = lost ? "lost" : ""; };
const source = new EventSource("changes");
source.onopen = () => say("live view", false);
source.onerror = () => say("not connected; what is shown may be old", true);
source.onmessage = (message) => {
  const { part, html } = JSON.parse(message.data);
  const element = document.getElementById(part);
  const places = [...element.querySelectorAll(".tall, .wide")].map((e) => [e.scrollLeft, e.scrollTop]);
  element.innerHTML = html;
  element.querySelectorAll(".tall, .wide").forEach((e, i) => { if (places[i]) [e.scrollLeft, e.scrollTop] = places[i]; });
};
document.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  const data = new URLSearchParams(new FormData(form));
  data.delete("back");
  form.querySelector("button").disabled = true;
  fetch("retry", { method: "POST", body: data })
    .then((answer) => answer.text().then((text) => { if (!answer.ok) say(text, true); }))
    .catch(() => say("the relay does not answer", true));
});
