// What the fields of the new-parcel form do while somebody types: suggestions, questions, errors.
"use strict";

function makeElement(tag, values, ...inside) {
  const made = Object.assign(document.createElement(tag), values);
  made.append(...inside);
  return made;
}

// A list that follows what is typed (ARIA's list autocomplete): arrows, Enter, Tab and Escape; a
// click works too. `find` returns what to list for a text, `choose` is given the one that is taken.
function combobox(input, { find, choose, takesFirst }) {
  const list = makeElement("ul", {
    id: `${input.id}-list`, role: "listbox", ariaLabel: "Suggestions", hidden: true,
  });
  input.after(list);
  input.parentElement.classList.add("menu");
  const attributes = {
    role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false",
    "aria-controls": list.id, autocomplete: "off",
  };
  for (const [name, value] of Object.entries(attributes)) input.setAttribute(name, value);
  let found = [];
  let at = -1;
  let newest = 0;
  let waiting;

  function mark(place) {
    at = place;
    [...list.children].forEach((option, n) => option.setAttribute("aria-selected", String(n === at)));
    if (at < 0) input.removeAttribute("aria-activedescendant");
    else {
      input.setAttribute("aria-activedescendant", list.children[at].id);
      list.children[at].scrollIntoView({ block: "nearest" });
    }
  }
  function show(answer) {
    newest += 1;
    clearTimeout(waiting);
    found = answer;
    list.replaceChildren(...found.map(optionOf));
    list.hidden = !found.length;
    input.setAttribute("aria-expanded", String(found.length > 0));
    mark(found.length && takesFirst ? 0 : -1);
  }
  function optionOf(one, n) {
    const words = [makeElement("b", {}, one.name ?? ""), makeElement("span", {}, one.place)];
    const option = makeElement("li", { id: `${list.id}-${n}`, role: "option" }, ...words);
    option.addEventListener("mousedown", (event) => {
      event.preventDefault();
      take(n);
    });
    return option;
  }
  const close = () => show([]);
  function take(place) {
    const chosen = found[place];
    close();
    choose(chosen);
  }
  async function ask() {
    const mine = ++newest;
    const answer = await find(input.value.trim());
    if (mine === newest && document.activeElement === input) show(answer); // else a later one comes
  }
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    if (input.value.trim().length < 2) close();
    else waiting = setTimeout(() => ask().catch(close), 120);
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.ctrlKey || event.metaKey) return;
    if (step && found.length) {
      event.preventDefault();
      mark((at + step + found.length + (at < 0 && step < 0 ? 1 : 0)) % found.length);
    } else if (event.key === "Escape" && found.length) {
      event.preventDefault();
      close();
    } else if ((event.key === "Enter" || event.key === "Tab") && at >= 0) {
      if (event.key === "Enter") event.preventDefault();
      take(at);
    } else if (event.key === "Enter" && takesFirst) event.preventDefault();
  });
}

// A word that may mean dangerous goods raises its question at once; the prices repeat it.
function askAboutGoods(place, input) {
  const questions = JSON.parse(place.dataset.questions).map(([question, words]) => {
    const longestFirst = [...words].sort((a, b) => b.length - a.length);
    return [question, new RegExp(`\\b(?:${longestFirst.join("|")})\\b`, "i")];
  });
  function ask() {
    place.replaceChildren(...questions.flatMap(([question, words]) => {
      const found = words.exec(input.value);
      if (!found) return [];
      const help = makeElement("a", { href: place.dataset.help, textContent: "What counts as dangerous" });
      const asked = makeElement("span", {}, `You wrote “${found[0]}”. ${question} `, help);
      return [makeElement("p", { className: "note warn" }, asked)];
    }));
  }
  input.addEventListener("change", ask);
  ask();
}

const placeValues = ({ suburb, state: region, postcode }) =>
  ({ receiver_suburb: suburb, receiver_state: region, receiver_postcode: postcode });

// What is chosen beside the fields goes into them, by `fill`: a place, a street's line, a saved size.
function fillFromChoices(form, fill) {
  document.addEventListener("change", ({ target }) => {
    // A place of the carrier's list chosen instead of what was typed, in the form or beside it.
    if (target.name === "use_place" && target.value) {
      const [suburb, region, postcode] = target.value.split("|");
      fill(placeValues({ suburb, state: region, postcode }));
    }
    // An address line that ends like its place and is the street: the form remembers which line.
    if (target.name === "is_street") {
      const [name] = target.value.split("|", 1);
      fill({ [`${name}_is_street`]: target.checked ? target.value.slice(name.length + 1) : "" });
    }
  });
  for (const size of form.querySelectorAll("[name=size][data-values]")) {
    size.addEventListener("change", () => size.checked && fill(JSON.parse(size.dataset.values)));
  }
  // Measures that differ from the saved size's are no saved size: typed, or taken from the size guard.
  for (const kind of ["input", "change"]) form.addEventListener(kind, ({ target }) => {
    const size = form.querySelector("[name=size]:checked");
    const own = size?.value && JSON.parse(size.dataset.values)[target.name];
    if (own && target.closest(".unit") && Number(target.value) !== Number(own)) {
      form.querySelector("[name=size][value='']").checked = true;
    }
  });
}

async function suggest(url, values) {
  const headers = { Accept: "application/json" };
  const reply = await fetch(`${url}?${new URLSearchParams(values)}`, { headers });
  return reply.ok && !reply.redirected ? reply.json() : [];
}

function clearError(control) {
  control.closest(".field")?.querySelector(":scope > .err")?.remove();
  control.toggleAttribute("aria-invalid", false);
}

// The reason at each control that was left, as the server's own page has it; one that is
// corrected goes at once.
function showErrors(form, errors, why, typing) {
  for (const name of new Set([...form.elements].map((control) => control.name).filter(Boolean))) {
    const control = form.querySelector(`[name=${name}]`);
    if (!control) continue; // a button of the form that is beside it
    const place = control.closest(".field");
    const before = place?.querySelector(":scope > .err");
    const isLeft = why === "left" && control !== typing && control.value && control.type !== "radio";
    const isNew = why === "asked for" || isLeft;
    if (before && (why !== "typing" || !errors[name])) before.remove();
    if (before || isNew) control.toggleAttribute("aria-invalid", false);
    if (!errors[name] || !(before || isNew)) continue;
    if (!place?.querySelector(":scope > .err")) place?.insertAdjacentHTML("beforeend", errors[name]);
    control.setAttribute("aria-invalid", "true");
    control.setAttribute("aria-describedby", `id_${name}_error`);
    const details = control.closest("details");
    if (details) details.open = true;
  }
}
