// Small comforts; every page works without them.
"use strict";

// A second press of a button that moves money is only noise: the server knows the form's token anyway.
document.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (!button || !button.dataset.busy || event.defaultPrevented) return;
  if (button.getAttribute("aria-disabled") === "true") { event.preventDefault(); return; }
  button.setAttribute("aria-disabled", "true");
  button.textContent = button.dataset.busy;
});

// Coming back with the browser's own button shows the page as it was left: the button works again.
window.addEventListener("pageshow", (event) => {
  if (event.persisted) window.location.reload();
});

const summary = document.querySelector(".summary");
if (summary) summary.focus();
