// The half-typed parcel keeps itself on leaving a field, and two seconds after the last change. Without this file its
// button does the same.
"use strict";

(() => {
  const form = document.getElementById("parcel-form");
  const saved = document.getElementById("saved");
  const place = form && form.elements.draft;
  if (!place || !saved) return;
  let waiting;
  let saving = null; // the save under way
  let isDirty = false;
  let isUnsaved = false; // the last save kept nothing

  form.addEventListener("input", (event) => event.target.id !== "smart" && soon(2000));
  form.addEventListener("change", (event) => event.target.id !== "smart" && soon(100)); // a field was left

  function soon(wait) {
    isDirty = true;
    clearTimeout(waiting);
    waiting = setTimeout(save, wait);
  }
  async function save() {
    clearTimeout(waiting);
    if (saving || !isDirty) return;
    isDirty = false;
    saving = send().catch(() => say("Not saved: the portal didn't answer. The form stays as it is."));
    isUnsaved = !(await saving);
    saving = null;
    if (isDirty) soon(2000);
  }
  async function send() {
    const typed = new FormData(form);
    const headers = { Accept: "application/json" };
    const reply = await fetch(form.dataset.drafts, { method: "POST", headers, body: typed, keepalive: true });
    const answer = await reply.json();
    say(answer.said);
    if (answer.draft && place.value !== answer.draft) {
      place.value = answer.draft;
      window.history.replaceState(null, "", `?draft=${answer.draft}`); // a reload opens what was typed
    }
    return Boolean(answer.draft);
  }
  function say(text) {
    saved.textContent = text;
  }

  document.addEventListener("visibilitychange", () => document.hidden && save());

  // Leaving saves by itself. Only a paste that could not be saved is worth a question of the browser's.
  window.addEventListener("beforeunload", (event) => isUnsaved && "isPasted" in form.dataset && event.preventDefault());

  // A save under way is waited for: one that arrived after the booking would leave a draft behind.
  document.addEventListener("submit", async (event) => {
    if (!saving) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    await saving;
    event.target.requestSubmit(event.submitter);
  }, true);

  // The form itself keeps what it posts. Book is told the draft, so that the booking deletes it.
  document.addEventListener("submit", (event) => {
    const isBooking = event.target.closest("#prices");
    if (event.defaultPrevented || (!isBooking && event.target !== form)) return;
    clearTimeout(waiting);
    isDirty = isUnsaved = false;
    if (!isBooking || !place.value) return;
    event.target.append(Object.assign(document.createElement("input"), { type: "hidden", name: "draft", value: place.value }));
    window.history.replaceState(null, "", window.location.pathname); // the draft's address ends with it
  });
})();
