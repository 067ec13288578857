// The new-parcel form with less typing: known receivers, pasted addresses, places, sizes, errors on
// leaving a field, and prices that come by themselves. Each question for prices saves the draft.
// Every sentence is the server's. Without this file the form's buttons do the same.
"use strict";

(() => {
  const form = document.getElementById("parcel-form");
  if (!form) return;
  const smart = document.getElementById("smart");
  const prices = document.getElementById("prices");
  const news = document.getElementById("prices-news");
  const contents = document.getElementById("contents");
  const field = (name) => form.elements[name];

  // All that changes while somebody types.
  const state = {
    typed: "", // the form as it was last asked about
    asked: 0, // only the answer to the newest question counts
    page: Math.random(), // unlike any other page of this draft
    posts: 0, // how many this page has sent: the draft keeps the newest, whichever arrives last
    timer: 0,
    isTouched: false, // an untouched copy is not saved among the drafts
    isDirty: false, // something was typed since the last question
    isUnsaved: false, // the last answer said that the draft is not among those saved
    isLeft: false, // a field was left since the last answer
    isStale: true, // there are no prices for the form as it is now
    isChecked: false, // these prices were checked again by themselves already
    isLoggedOut: false,
  };

  countAddressLines(form);
  function askForAbroad() {
    const isAbroad = field("receiver_country").value !== form.dataset.home;
    const optional = field("receiver_phone").labels[0].querySelector(".opt");
    if (optional) optional.hidden = isAbroad && "phoneAbroad" in form.dataset;
    if (!contents) return;
    // Customs ask about some states at home, too. Other spellings of these are the server's to read.
    const states = contents.dataset.states;
    const isAsked = isAbroad || states.split("|").includes(field("receiver_state").value.trim().toLowerCase() || "-");
    Object.assign(contents, { open: isAsked, hidden: !isAsked && !states });
    const oneAtATime = document.getElementById("one-at-a-time");
    if (!oneAtATime) return;
    oneAtATime.hidden = !isAsked;
    oneAtATime.nextElementSibling.hidden = isAsked; // the button for another parcel
  }
  for (const name of ["receiver_country", "receiver_state"]) field(name).addEventListener("change", askForAbroad);
  askForAbroad();

  function fill(values) {
    for (const [name, value] of Object.entries(values)) {
      const control = field(name);
      if (!control || value === null) continue;
      control.value = value; // a group of radios takes its value too
      if (control.dispatchEvent) control.dispatchEvent(new Event("change", { bubbles: true }));
    }
    for (const line of ["receiver_line1", "receiver_line2"]) field(line).dispatchEvent(new Event("input"));
    form.dispatchEvent(new Event("input"));
  }
  fillFromChoices(form, fill);
  async function findPlaces(q) {
    const found = await suggest(form.dataset.suggest, { q, country: field("receiver_country").value });
    return found.map((one) => ({ ...one, place: `${one.suburb} ${one.state} ${one.postcode}` }));
  }
  for (const name of ["receiver_suburb", "receiver_postcode"]) {
    field(name).addEventListener("input", () => {
      // What is typed by hand counts, not a place chosen before.
      for (const radio of form.querySelectorAll("[name=use_place]")) radio.checked = !radio.value;
    });
    combobox(field(name), { find: findPlaces, choose: (place) => fill(placeValues(place)) });
  }
  combobox(smart, {
    takesFirst: true,
    find: (q) => suggest(smart.dataset.find, { q }),
    choose: (one) => {
      smart.value = "";
      tellOfPaste("");
      fill(one.values);
    },
  });

  // Without a match it is somebody new, whose name the form takes as it is left.
  smart.addEventListener("blur", () => {
    const typed = smart.value.trim();
    if (!typed || isAddress(typed) || field("receiver_name").value) return;
    smart.value = "";
    fill({ receiver_name: typed });
  });

  const isAddress = (text) => /[\n,]|\d.*\s\S+\s/.test(text.trim()); // a name alone is looked up
  function takePaste(text) {
    smart.value = "";
    readPaste(text).catch(() => { smart.value = text; });
  }
  smart.addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text/plain");
    if (!isAddress(text)) return;
    event.preventDefault();
    takePaste(text);
  });
  // Typed to its end and entered, with nobody suggested.
  smart.addEventListener("keydown", ({ key }) => {
    if (key === "Enter" && isAddress(smart.value)) takePaste(smart.value);
  });
  // Pasted before this script was there.
  if (isAddress(smart.value) && !field("receiver_line1").value) takePaste(smart.value);
  if (window.location.hash === "#smart") smart.focus();

  async function readPaste(text) {
    state.isTouched = true;
    const { values, left } = await post({ pasted: text, unpaste: "1" });
    fill(values);
    const unused = `We didn't use “${left.join("”, “")}”.`;
    tellOfPaste(left.length ? unused : "Filled in from what you pasted. Check it before you book.", left);
    form.dataset.isPasted = "";
    const next = form.querySelector("input:invalid, select:invalid"); // where the typing goes on
    const size = next?.closest(".unit") && form.querySelector("[name=size]:checked");
    (size || next)?.focus();
  }
  function tellOfPaste(text, left = []) {
    const note = document.getElementById("pasted");
    note.textContent = text;
    if (!left.length) return;
    const add = makeElement("button", { type: "button", className: "btn", textContent: "Add to instructions" });
    add.addEventListener("click", () => {
      const place = field("delivery_place") || field("receiver_instructions");
      fill({ [place.name]: [place.value, ...left].filter(Boolean).join(", ") });
      place.closest("details").open = true;
      note.textContent = "Added to the delivery instructions.";
    });
    note.append(" ", add);
  }

  askAboutGoods(document.getElementById("goods"), field("description"));

  function countPost() {
    state.posts += 1;
    field("edit").value = `${state.page} ${state.posts}`;
  }
  // Posts the form with these values to its draft. No answer (logged out, busy) is an error.
  async function post(more = {}, keepalive = false) {
    countPost();
    const body = new FormData(form);
    if (!state.isTouched) body.set("untouched", "1");
    for (const [name, value] of Object.entries(more)) body.set(name, value);
    const headers = { Accept: "application/json", "X-CSRFToken": field("csrfmiddlewaretoken").value };
    state.isDirty = false;
    const reply = await fetch(form.action, { method: "POST", headers, body, keepalive });
    if (reply.ok && !reply.redirected) {
      const answer = await reply.json();
      takeAddress(answer);
      return answer;
    }
    if (reply.redirected || (await fetch(window.location.pathname)).redirected) loggedOut();
    // The role was taken, the draft is gone or booking is off: the answer's first paragraph says so.
    const refused = [403, 404].includes(reply.status) && (await parse(reply)).querySelector("main p")?.textContent;
    throw Object.assign(new Error(String(reply.status)), { wait: Number(reply.headers.get("Retry-After")), refused });
  }
  const parse = async (reply) => new DOMParser().parseFromString(await reply.text(), "text/html");
  // The draft has an address of its own: a reload opens what was typed.
  function takeAddress({ draft, address, is_saved: isSaved, said }) {
    field("draft").value = draft;
    form.action = address;
    window.history.replaceState(null, "", address);
    state.isUnsaved = !isSaved;
    say(said);
  }
  function say(text) {
    const saved = document.getElementById("saved");
    if (saved) saved.textContent = text;
  }

  if (!("live" in prices.dataset)) return;
  form.addEventListener("input", ({ target }) => target !== smart && touch(300, "typing"));
  form.addEventListener("input", ({ target }) => state.isLoggedOut && clearError(target)); // nobody checks it now
  form.addEventListener("change", ({ target }) => target !== smart && touch(50, "left"));
  form.addEventListener("submit", (event) => {
    state.isUnsaved = false;
    if (["save_draft", "add_parcel", "remove_parcel"].includes(event.submitter?.name)) {
      // The button posts all of the form. A post of the script's after it would undo it.
      countPost();
      clearTimeout(state.timer);
      state.isDirty = false;
      return;
    }
    event.preventDefault();
    if (event.submitter?.name === "clear_company") fill({ receiver_company: "" });
    else touch(0, "asked for");
  });
  // Leaving saves by itself. Only a paste that could not be saved is worth a question.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && state.isDirty) post({}, true).catch(() => {});
  });
  window.addEventListener("beforeunload", (event) => {
    if (state.isUnsaved && "isPasted" in form.dataset) event.preventDefault();
  });
  soon(300, "typing");

  function touch(wait, why) {
    state.isTouched = true;
    soon(wait, why);
  }
  function asTyped() {
    const values = new FormData(form);
    for (const name of ["draft", "csrfmiddlewaretoken", "edit"]) values.delete(name);
    return new URLSearchParams(values).toString();
  }
  function soon(wait, why) {
    const now = asTyped();
    const isSame = now === state.typed;
    if (isSame && (why === "typing" || !state.isStale)) return; // unchanged: its prices still hold
    if (!isSame) Object.assign(state, { typed: now, isStale: true, isChecked: false, isDirty: state.isTouched });
    if (why === "left") state.isLeft = true;
    prices.toggleAttribute("data-stale", true); // their details are of what was typed before
    news.textContent = "";
    clearTimeout(state.timer);
    state.asked += 1;
    state.timer = setTimeout(() => ask(why), wait);
  }
  const isFilledIn = () => [...form.elements].every((one) => one.name === "description" || one.checkValidity());
  async function ask(why) {
    const isHalfTyped = why === "typing" && !state.isLeft && !isFilledIn();
    if (!isHalfTyped) return send(why);
    if (state.isTouched) state.timer = setTimeout(() => send(why), 700);
    else prices.toggleAttribute("data-stale", false); // the page says what is missing
  }
  async function send(why) {
    if (state.isLoggedOut) return resume();
    const mine = state.asked;
    const typing = why === "typing" ? document.activeElement : null;
    if (typing && state.isLeft) why = "left"; // typed on before the field that was left had its answer
    const answer = await post(typing?.name ? { typing: typing.name } : {}).catch(({ wait, refused }) => {
      if (wait) state.timer = setTimeout(() => ask(why), wait * 1000);
      const reason = refused || "The portal didn't answer. The form stays as it is.";
      if (state.isTouched && !state.isLoggedOut) say(`Not saved. ${reason}`);
      const refusal = makeElement("p", { className: "card", textContent: refused });
      return { errors: {}, html: refused ? refusal.outerHTML : document.getElementById("no-answer").innerHTML };
    });
    if (mine !== state.asked || state.isLoggedOut) return; // the form has changed since
    state.isLeft = false;
    showErrors(form, answer.errors, why, typing);
    show(answer.html);
    if (why === "asked for") form.querySelector("[aria-invalid=true]")?.focus();
  }
  function show(html) {
    prices.innerHTML = html;
    bindPrices();
  }
  function bindPrices() {
    const book = prices.querySelector("form");
    state.isStale = !book;
    prices.toggleAttribute("data-stale", false);
    tickPrices();
    if (book) bindBook(book, () => state.isStale);
    book?.addEventListener("submit", () => { state.isUnsaved = false; });
  }

  // The form stays as it is while its owner logs in on another page; back here it goes on.
  function loggedOut() {
    if (state.isLoggedOut) return;
    state.isLoggedOut = true;
    say("Not saved: log in first.");
    prices.replaceChildren(document.getElementById("logged-out").content.cloneNode(true));
  }
  async function resume() {
    if (document.hidden || !state.isLoggedOut) return;
    const reply = await fetch(window.location.pathname).catch(() => null);
    if (!reply?.ok || reply.redirected) return;
    const token = (await parse(reply)).querySelector("#parcel-form [name=csrfmiddlewaretoken]");
    field("csrfmiddlewaretoken").value = token.value;
    state.isLoggedOut = false;
    soon(0, "left"); // which saves the draft, too
  }
  document.addEventListener("visibilitychange", resume);
  window.addEventListener("focus", resume); // from a window beside this one

  // The size guard: the measured weight goes into the form, or the declared one is kept.
  prices.addEventListener("click", ({ target }) => {
    const { useWeight, keep } = target.dataset;
    if (useWeight) {
      const weight = form.querySelector("[name^=weight_]");
      fill({ [weight.name]: useWeight });
      weight.focus();
    } else if (keep) {
      field("kept").value = keep;
      state.typed = asTyped();
      document.getElementById("size-guard").remove();
      prices.querySelector(".book .go").focus();
    }
  });

  // Prices that ran out are checked again once; a screen reader hears only the outcome.
  prices.addEventListener("pricesended", () => state.isStale || checkAgain().catch(() => {
    news.textContent = "These prices are a few minutes old. "
      + "Book checks them first; nothing dearer is booked without your yes.";
  }));
  async function checkAgain() {
    if (state.isChecked) throw new Error("once is enough");
    state.isChecked = true;
    const mine = state.asked;
    const { html, errors } = await post();
    if (mine !== state.asked) return;
    if (Object.keys(errors).length) throw new Error("no prices");
    prices.setAttribute("aria-live", "off");
    news.textContent = renewPrices(prices, () => show(html));
    setTimeout(() => prices.setAttribute("aria-live", "polite"));
  }

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (!state.isStale) prices.querySelector(".book .go").click();
  });
})();
