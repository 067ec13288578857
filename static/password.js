// A password can be looked at before it is sent.
"use strict";

for (const field of document.querySelectorAll("input[type=password]")) {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "btn bare", textContent: "Show password" });
  button.setAttribute("aria-controls", field.id);
  button.addEventListener("click", () => {
    const hidden = field.type === "password";
    field.type = hidden ? "text" : "password";
    button.textContent = hidden ? "Hide password" : "Show password";
  });
  field.after(button);
  field.form.addEventListener("submit", () => (field.type = "password")); // else the browser keeps it as a text typed before
}
