// The API reference without this is whole; with it one can search and copy, the language of the samples is remembered,
// and a phone's table of contents starts closed.
"use strict";

const form = document.querySelector(".docs-search");
const input = document.querySelector("#search");
const status = document.querySelector("#found");
const menu = document.querySelector(".docs-menu");
const calls = [...document.querySelectorAll(".docs-call")].map((element) => ({
  element,
  text: element.dataset.find.toLowerCase(),
  entry: document.querySelector(`[data-call="${element.id}"]`),
  faults: element.querySelector(".docs-faults"),
  fields: [...element.querySelectorAll(".field")].map((field) => ({
    element: field,
    text: field.dataset.find.toLowerCase(),
    isFault: field.closest(".docs-faults") !== null,
  })),
}));

// A call whose own name matches is shown whole; otherwise only its fields that match.
function filter() {
  const wanted = input.value.trim().toLowerCase();
  let count = 0;
  for (const call of calls) {
    const isNamed = call.text.includes(wanted);
    const matching = call.fields.filter((field) => field.text.includes(wanted));
    const isShown = isNamed || matching.length > 0;
    call.element.hidden = !isShown;
    if (call.entry) call.entry.hidden = !isShown;
    for (const field of call.fields) field.element.hidden = !isNamed && !field.text.includes(wanted);
    for (const title of call.element.querySelectorAll(".docs-text h4")) {
      const fields = title.nextElementSibling;
      title.hidden = fields.hidden = fields.querySelector(".field:not([hidden])") === null;
    }
    if (call.faults) {
      call.faults.hidden = call.faults.querySelector(".field:not([hidden])") === null;
      call.faults.open = wanted !== "" && !isNamed && matching.some((field) => field.isFault);
    }
    count += isShown ? 1 : 0;
  }
  for (const chapter of document.querySelectorAll(".docs-chapter")) {
    chapter.hidden = chapter.querySelector(".docs-call:not([hidden])") === null;
    document.querySelector(`.docs-menu [href="#${chapter.id}"]`).parentElement.hidden = chapter.hidden;
  }
  document.querySelector("#start").hidden = wanted !== "";
  status.textContent = wanted === "" ? "" : `${count} of ${calls.length} found`;
}

function unfold(isPhone) {
  menu.open = !isPhone;
}

// Browsers may forbid storage, and give the clipboard to safe addresses only.
function remembered(language) {
  try {
    if (language) localStorage.setItem("docs-language", language);
    return localStorage.getItem("docs-language");
  } catch {
    return null;
  }
}

function addCopyButton(sample) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(`${sample.querySelector("code").textContent.trimEnd()}\n`);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  sample.prepend(button);
}

for (const choice of document.querySelectorAll(".docs-languages input")) {
  if (choice.value === remembered()) choice.checked = true;
  choice.addEventListener("change", () => remembered(choice.value));
}
if (navigator.clipboard) document.querySelectorAll(".sample").forEach(addCopyButton);

form.hidden = false;
form.addEventListener("submit", (event) => event.preventDefault());
input.addEventListener("input", filter);
document.addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    input.focus();
  }
});
menu.addEventListener("click", (event) => {
  if (event.target.closest("a") && phone.matches) unfold(true);
});

const phone = window.matchMedia("(max-width: 52rem)");
phone.addEventListener("change", () => unfold(phone.matches));
unfold(phone.matches);
