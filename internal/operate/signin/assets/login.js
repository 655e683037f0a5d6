"use strict";
// Has the browser's extension sign one request (NIP-07, NIP-98), sends that, and loads the page again with the session that it gave.
const button = document.getElementById("login");
const said = document.getElementById("said");
button.addEventListener("click", async () => {
  if (!window.nostr) {
    said.textContent = "No extension answers. Install one that has NIP-07, allow it for this page, and load the page again.";
    return;
  }
  button.setAttribute("aria-disabled", "true");
  said.textContent = "The extension asks you.";
  const { payload, body } = button.dataset;
  const url = new URL("login", location.href).href;
  try {
    const event = await window.nostr.signEvent({
      kind: 27235, created_at: Math.floor(Date.now() / 1000), content: "",
      tags: [["u", url], ["method", "POST"], ["payload", payload]],
    });
    const { id, pubkey, created_at, kind, tags, content, sig } = event;
    const header = "Nostr " + btoa(JSON.stringify({ id, pubkey, created_at, kind, tags, content, sig }));
    const answer = await fetch("login", { method: "POST", headers: { Authorization: header, "Content-Type": "text/plain" }, body });
    if (answer.ok) {
      location.reload();
      return;
    }
    said.textContent = (await answer.text()).trim() || "it failed";
  } catch (error) {
    said.textContent = "It was not signed: " + (error.message || error);
  }
  button.removeAttribute("aria-disabled");
});
