// A password can be looked at before it is sent.
"use strict";

for (const field of document.querySelectorAll("input[type=password]")) {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "btn bare" });
  button.setAttribute("aria-controls", field.id);
  const show = (shown) => {
    field.type = shown ? "text" : "password";
    button.textContent = shown ? "Hide password" : "Show password";
  };
  button.addEventListener("click", () => show(field.type === "password"));
  field.form.addEventListener("submit", () => show(false)); // else browsers keep it among the words typed before
  field.after(button);
  show(false);
}
