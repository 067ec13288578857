// The new-parcel form with less typing: known receivers, pasted addresses, places, sizes, errors on leaving a field, and
// prices that come by themselves. Every sentence is the server's. Without this file its button shows the prices.
"use strict";

// Prices that ran out are checked again, once and quietly, while somebody looks at them. Without this script
// a button checks them again.
const priceBoxes = new WeakMap(); // when each came onto the page

// Called when prices appear, and every second from then on.
function tickPrices() {
  for (const box of document.querySelectorAll("[data-left]")) {
    if (!priceBoxes.has(box)) priceBoxes.set(box, Date.now());
    const left = Number(box.dataset.left) - Math.floor((Date.now() - priceBoxes.get(box)) / 1000);
    if (left > 0 || document.hidden || "ended" in box.dataset) continue; // once it is looked at again
    box.dataset.ended = "";
    box.dispatchEvent(new CustomEvent("pricesended", { bubbles: true }));
    box.hidden = true; // its sentence is true no longer, unless newer prices have taken its place
  }
}

(() => {
  setInterval(tickPrices, 1000);
  document.addEventListener("visibilitychange", tickPrices);

  const quoted = document.getElementById("quoted");
  if (!quoted) return;
  tickPrices();
  const news = document.getElementById("prices-news");
  let isChecked = false;
  quoted.addEventListener("pricesended", async (event) => {
    try {
      if (isChecked) throw new Error("once is enough");
      isChecked = true;
      news.textContent = await checkAgain();
    } catch {
      event.target.hidden = true;
      quoted.querySelector("[data-old]").hidden = false;
      news.textContent = quoted.querySelector("[data-old]").textContent;
    }
  });

  // The page of the new prices takes this one's place; what was chosen, opened and focused stays so.
  async function checkAgain() {
    const form = quoted.querySelector("#freshness form");
    const reply = await fetch(form.action, { method: "POST", body: new FormData(form) });
    const fresh = new DOMParser().parseFromString(await reply.text(), "text/html").getElementById("quoted");
    if (!reply.ok || !fresh || !fresh.querySelector("[data-left]")) throw new Error("no prices");
    const before = pricesIn(quoted);
    const chosen = [...quoted.querySelectorAll("form:has([name=product])")].map(choiceIn);
    const focused = placeIn(quoted);
    quoted.replaceChildren(...fresh.childNodes);
    tickPrices();
    for (const [product, day] of chosen) choose(product, day);
    if (focused >= 0) quoted.querySelectorAll("a, button, input, summary")[focused]?.focus();
    window.history.replaceState(null, "", reply.url);
    return newsOf(before, pricesIn(quoted));
  }
  const choiceIn = (form) => [form.elements.product.value, form.querySelector("[name=pickup_date]:checked")?.value];
  const placeIn = (part) => [...part.querySelectorAll("a, button, input, summary")].indexOf(document.activeElement);

  function choose(product, day) {
    for (const form of quoted.querySelectorAll("form:has([name=product])")) {
      if (form.elements.product.value !== product || !day) continue;
      for (const radio of form.querySelectorAll("[name=pickup_date]")) radio.checked = radio.value === day;
    }
  }
})();

// The price of each service in a part of the page, by its code; and what became of them.
function pricesIn(part) {
  return Object.fromEntries([...part.querySelectorAll("[name=product]")].map((one) => [one.value, one.dataset.price]));
}
function newsOf(before, after) {
  const codes = Object.keys({ ...before, ...after });
  const isSame = codes.every((code) => before[code] === after[code]);
  return isSame ? "Prices checked again: no change." : "Prices checked again: some have changed. Look before you book.";
}

(() => {
  const form = document.getElementById("parcel-form");
  if (!form) return;
  const smart = document.getElementById("smart");
  const prices = document.getElementById("prices");
  const news = document.getElementById("prices-news");
  const contents = document.getElementById("contents");
  const goods = document.getElementById("goods");
  const field = (name) => form.elements[name];
  const make = (tag, values, ...inside) => {
    const made = Object.assign(document.createElement(tag), values);
    made.append(...inside);
    return made;
  };

  // All that changes while somebody types.
  const state = {
    typed: "", // the form as it was last asked about
    asked: 0, // only the answer to the newest question counts
    timer: 0,
    isStale: true, // there are no prices of the form as it stands
    isChecked: false, // these prices were checked again by themselves already
    isLoggedOut: false,
  };
  const atFirst = prices.innerHTML;

  countAddressLines(form);
  const openContents = () => { if (contents) contents.hidden = !(contents.open = field("receiver_country").value !== form.dataset.home); };
  field("receiver_country").addEventListener("change", openContents);
  openContents();

  function fill(values) {
    for (const [name, value] of Object.entries(values)) {
      const control = field(name);
      if (!control || value === null) continue;
      control.value = value; // a group of radios takes its value too
      if (control.dispatchEvent) control.dispatchEvent(new Event("change", { bubbles: true }));
    }
    for (const line of [field("receiver_line1"), field("receiver_line2")]) line.dispatchEvent(new Event("input"));
    form.dispatchEvent(new Event("input"));
  }

  // A place of the carrier's list chosen instead of what was typed, in the form or beside it.
  document.addEventListener("change", ({ target }) => {
    if (target.name !== "use_place" || !target.value) return;
    const [suburb, state_, postcode] = target.value.split("|");
    fill({ receiver_suburb: suburb, receiver_state: state_, receiver_postcode: postcode });
  });
  // An address line that ends like its place and is the street: the form remembers the line it was said of.
  document.addEventListener("change", ({ target }) => {
    if (target.name !== "is_street") return;
    const [name] = target.value.split("|", 1);
    fill({ [`${name}_is_street`]: target.checked ? target.value.slice(name.length + 1) : "" });
  });
  for (const name of ["receiver_suburb", "receiver_postcode"]) {
    field(name).addEventListener("input", () => {
      for (const radio of form.querySelectorAll("[name=use_place]")) radio.checked = !radio.value; // the hand decides
    });
  }

  // A list that follows what is typed (ARIA's list autocomplete): arrows, Enter, Tab and Escape; a click works too.
  function combobox(input, { find, choose, takesFirst }) {
    const list = make("ul", { id: `${input.id}-list`, role: "listbox", ariaLabel: "Suggestions", hidden: true });
    input.after(list);
    input.parentElement.classList.add("menu");
    for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-expanded", "false"],
      ["aria-controls", list.id], ["autocomplete", "off"]]) input.setAttribute(name, value);
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
      list.replaceChildren(...found.map((one, n) => {
        const option = make("li", { id: `${list.id}-${n}`, role: "option" }, make("b", {}, one.name ?? ""), make("span", {}, one.place));
        option.addEventListener("mousedown", (event) => { event.preventDefault(); take(n); });
        return option;
      }));
      list.hidden = !found.length;
      input.setAttribute("aria-expanded", String(found.length > 0));
      mark(found.length && takesFirst ? 0 : -1);
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
      if (mine === newest && document.activeElement === input) show(answer); // else a later answer is on its way
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

  const json = async (url, values) => {
    const reply = await fetch(`${url}?${new URLSearchParams(values)}`, { headers: { Accept: "application/json" } });
    return reply.ok && !reply.redirected ? reply.json() : [];
  };
  for (const name of ["receiver_suburb", "receiver_postcode"]) {
    combobox(field(name), {
      find: async (q) => (await json(form.dataset.suggest, { q, country: field("receiver_country").value }))
        .map((place) => ({ ...place, place: `${place.suburb} ${place.state} ${place.postcode}` })),
      choose: (place) => fill({ receiver_suburb: place.suburb, receiver_state: place.state, receiver_postcode: place.postcode }),
    });
  }
  combobox(smart, {
    takesFirst: true,
    find: (q) => json(smart.dataset.find, { q }),
    choose: (one) => { smart.value = ""; told(""); fill(one.values); },
  });

  const isAddress = (text) => /[\n,]|\d.*\s\S+\s/.test(text.trim()); // a name alone is looked up
  const take = (text) => {
    smart.value = "";
    unpaste(text).catch(() => { smart.value = text; });
  };
  smart.addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text/plain");
    if (!isAddress(text)) return;
    event.preventDefault();
    take(text);
  });
  // Typed to its end and entered, with nobody suggested.
  smart.addEventListener("keydown", ({ key }) => key === "Enter" && isAddress(smart.value) && take(smart.value));
  if (isAddress(smart.value) && !field("receiver_line1").value) take(smart.value); // pasted before this script was there
  if (window.location.hash === "#smart") smart.focus();

  async function unpaste(text) {
    const { values, left } = await post(smart.dataset.unpaste, new URLSearchParams({ text }));
    fill(values);
    told(left.length ? `We didn't use “${left.join("”, “")}”.` : "Filled in from what you pasted. Check it before you book.", left);
    form.dataset.isPasted = "";
    const missing = form.querySelector("input:invalid, select:invalid"); // where the typing goes on
    if (missing) missing.focus();
  }
  function told(text, left = []) {
    const note = document.getElementById("pasted");
    note.textContent = text;
    if (!left.length) return;
    const add = make("button", { type: "button", className: "btn", textContent: "Add to instructions" });
    add.addEventListener("click", () => {
      const place = field("delivery_place") || field("receiver_instructions");
      fill({ [place.name]: [place.value, ...left].filter(Boolean).join(", ") });
      place.closest("details").open = true;
      note.textContent = "Added to the delivery instructions.";
    });
    note.append(" ", add);
  }

  for (const size of form.querySelectorAll("[name=size][data-values]")) {
    size.addEventListener("change", () => size.checked && fill(JSON.parse(size.dataset.values)));
  }

  // A word that may mean dangerous goods raises its question at once; the prices repeat it and nothing is stopped.
  const questions = JSON.parse(goods.dataset.questions)
    .map(([question, words]) => [question, new RegExp(`\\b(?:${[...words].sort((a, b) => b.length - a.length).join("|")})\\b`, "i")]);
  const askAboutGoods = () => goods.replaceChildren(...questions.flatMap(([question, words]) => {
    const found = words.exec(field("description").value);
    const help = make("a", { href: goods.dataset.help, textContent: "What counts as dangerous" });
    return found ? [make("p", { className: "note warn" }, make("span", {}, `You wrote “${found[0]}”. ${question} `, help))] : [];
  }));
  field("description").addEventListener("change", askAboutGoods);
  askAboutGoods();

  if (!("ask" in prices.dataset)) return;
  form.addEventListener("input", ({ target }) => target !== smart && soon(300, "typing"));
  form.addEventListener("change", ({ target }) => target !== smart && soon(50, "left"));
  form.addEventListener("submit", (event) => {
    if (event.submitter?.hasAttribute("formaction")) return; // saves the draft
    event.preventDefault();
    if (event.submitter?.name === "clear_company") fill({ receiver_company: "" });
    else soon(0, "asked for");
  });
  soon(300, "typing");

  function asTyped() {
    const values = new FormData(form);
    for (const name of ["draft", "csrfmiddlewaretoken"]) values.delete(name);
    return new URLSearchParams(values).toString();
  }
  function soon(wait, why) {
    const now = asTyped();
    const isSame = now === state.typed;
    if (isSame && (why === "typing" || !state.isStale)) return; // what is left unchanged keeps its prices and its choice
    if (!isSame) Object.assign(state, { typed: now, isStale: true, isChecked: false });
    if (why === "left") state.isLeft = true;
    prices.toggleAttribute("data-stale", true); // their details are of what was typed before
    news.textContent = "";
    clearTimeout(state.timer);
    state.asked += 1;
    state.timer = setTimeout(() => ask(why).catch(() => show(atFirst)), wait);
  }

  // Posts a form; an answer that is none (logged out, busy) is thrown after it was told.
  async function post(url, body) {
    const csrf = field("csrfmiddlewaretoken").value;
    const reply = await fetch(url, { method: "POST", headers: { Accept: "application/json", "X-CSRFToken": csrf }, body });
    if (reply.ok && !reply.redirected) return reply.json();
    if (reply.redirected || (await fetch(window.location.pathname)).redirected) loggedOut();
    throw Object.assign(new Error(String(reply.status)), { wait: Number(reply.headers.get("Retry-After")) });
  }
  async function ask(why) {
    const mine = state.asked;
    const typing = why === "typing" ? document.activeElement : null;
    if (typing && state.isLeft) why = "left"; // typed on before the field that was left had its answer
    if (why === "typing" && !form.checkValidity()) return show(atFirst);
    const answer = await post(prices.dataset.ask, new FormData(form)).catch(({ wait }) => {
      if (wait) state.timer = setTimeout(() => ask(why), wait * 1000);
      return { errors: {}, html: atFirst };
    });
    if (mine !== state.asked || state.isLoggedOut) return; // the form has changed since
    state.isLeft = false;
    tell(answer.errors, why, typing);
    const isWrong = Object.keys(answer.errors).some((name) => name !== "__all__");
    show(isWrong && why === "typing" ? atFirst : answer.html);
    if (isWrong && why === "asked for") form.querySelector("[aria-invalid=true]")?.focus();
  }
  function show(html) {
    prices.innerHTML = html;
    bind();
  }

  // The reason at each control that was left, as the server's own page has it; one that is mended goes at once.
  function tell(errors, why, typing) {
    for (const name of new Set([...form.elements].map((control) => control.name).filter(Boolean))) {
      const control = form.querySelector(`[name=${name}]`);
      const before = control.closest(".field")?.querySelector(":scope > .err");
      const isNew = why === "asked for" || (why === "left" && control !== typing && control.value && control.type !== "radio");
      if (before && (why !== "typing" || !errors[name])) before.remove();
      if (before || isNew) control.toggleAttribute("aria-invalid", false);
      if (!errors[name] || !(before || isNew)) continue;
      if (!control.closest(".field")?.querySelector(":scope > .err")) control.closest(".field")?.insertAdjacentHTML("beforeend", errors[name]);
      control.setAttribute("aria-invalid", "true");
      control.setAttribute("aria-describedby", `id_${name}_error`);
      const fold = control.closest("details");
      if (fold) fold.open = true;
    }
  }

  // The form stays as it is while its owner logs in on another page; back here it goes on with the new session.
  function loggedOut() {
    if (state.isLoggedOut) return;
    state.isLoggedOut = true;
    prices.replaceChildren(document.getElementById("logged-out").content.cloneNode(true));
  }
  document.addEventListener("visibilitychange", async () => {
    if (document.hidden || !state.isLoggedOut) return;
    const reply = await fetch(window.location.pathname);
    if (reply.redirected || !reply.ok) return;
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    field("csrfmiddlewaretoken").value = page.querySelector("#parcel-form [name=csrfmiddlewaretoken]").value;
    state.isLoggedOut = false;
    form.dispatchEvent(new Event("input")); // the draft is kept again
    soon(0, "left");
  });

  // The size guard: the weight that was measured goes into the form, or the declared one is kept without asking again.
  prices.addEventListener("click", ({ target }) => {
    const { useWeight, keep } = target.dataset;
    if (useWeight) {
      const weight = form.querySelector("[name^=weight_]");
      fill({ [weight.name]: useWeight });
      weight.focus();
    } else if (keep) {
      form.elements.kept.value = keep;
      state.typed = asTyped();
      document.getElementById("size-guard").remove();
      prices.querySelector(".book button").focus();
    }
  });

  // Prices that ran out while somebody looks at them are checked again once, with what was chosen; only news are told.
  prices.addEventListener("pricesended", () => state.isStale || checkAgain().catch(() => {
    news.textContent = "These prices are a few minutes old. Book checks them first; nothing dearer is booked without your yes.";
  }));
  async function checkAgain() {
    if (state.isChecked) throw new Error("once is enough");
    state.isChecked = true;
    const mine = state.asked;
    const { html, errors } = await post(prices.dataset.ask, new FormData(form));
    if (mine !== state.asked) return;
    if (Object.keys(errors).length) throw new Error("no prices");
    const before = pricesIn(prices);
    const chosen = new FormData(prices.querySelector("form"));
    const controls = () => [...prices.querySelectorAll("a, button, input")];
    const at = controls().indexOf(document.activeElement);
    prices.setAttribute("aria-live", "off");
    prices.innerHTML = html;
    for (const name of ["product", "pickup_date"]) {
      for (const radio of prices.querySelectorAll(`[name=${name}]`)) radio.checked = radio.value === chosen.get(name) || radio.checked;
    }
    bind();
    if (at >= 0) controls()[at]?.focus();
    news.textContent = newsOf(before, pricesIn(prices));
    setTimeout(() => prices.setAttribute("aria-live", "polite"));
  }

  // The bar says what the chosen service costs; a pickup has its day.
  function bind() {
    const book = prices.querySelector("form");
    state.isStale = !book;
    prices.toggleAttribute("data-stale", false);
    tickPrices();
    if (!book) return;
    const button = book.querySelector(".book button");
    const name = () => {
      const { price, taxes, mile } = book.querySelector("[name=product]:checked").dataset;
      book.querySelector(".sum b").textContent = price;
      book.querySelector(".sum small").textContent = taxes;
      const days = book.querySelector("[data-days]");
      if (days) days.disabled = days.hidden = mile === "drop-off";
    };
    book.addEventListener("change", name);
    name();
    book.addEventListener("submit", (event) => {
      const another = book.elements.another; // there is one like it already: one more press says it is meant
      const isQuestion = another && another.disabled;
      if (!state.isStale && !isQuestion) return;
      event.preventDefault();
      event.stopPropagation();
      if (!isQuestion) return;
      another.disabled = false;
      button.textContent = button.dataset.another;
      document.getElementById("duplicate").scrollIntoView({ block: "nearest" });
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (!state.isStale) prices.querySelector(".book button").click();
  });
})();

// The half-typed parcel keeps itself on leaving a field, and two seconds after the last change. Without this file its
// button does the same.

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
