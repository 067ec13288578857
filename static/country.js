// The parts of a receiver's address are called what the chosen country calls them, as the server does on each answer.
"use strict";

for (const form of document.querySelectorAll("form[data-words]")) {
  const { receiver_country: country, receiver_line1: line1 } = form.elements;
  const words = JSON.parse(form.dataset.words);
  const speak = () => {
    const { hint, ...labels } = words[country.value] ?? words[""];
    for (const [name, word] of Object.entries(labels)) form.elements[name].labels[0].firstChild.data = `${word} `;
    const shown = document.getElementById(`${line1.id}_helptext`);
    if (shown) shown.textContent = hint;
  };
  country.addEventListener("change", speak);
  speak(); // the browser may have filled the form in again
}
