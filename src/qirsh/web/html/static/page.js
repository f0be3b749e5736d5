// Small comforts of all pages. Everything works without them too.
"use strict";

{
  // Times that only their reader needs: by the clock of this device, where that is another than the service's.
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const places = { en: "en-GB", ar: "ar-SY", tr: "tr-TR" };
  const clock = new Intl.DateTimeFormat(`${places[document.documentElement.lang]}-u-nu-latn`, {
    ...{ day: "numeric", month: "long", year: "numeric" },
    ...{ hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZoneName: "short" },
  });
  for (const time of document.querySelectorAll("time[data-zone]")) {
    if (time.dataset.zone === here) continue;
    time.textContent = clock.format(new Date(time.dateTime));
    time.title = time.dataset.title;
  }

  const offer = (selector, act) => {
    for (const button of document.querySelectorAll(selector)) {
      button.hidden = false;
      if (button.parentElement.localName === "li") button.parentElement.hidden = false;
      button.addEventListener("click", () => act(button));
    }
  };

  // A menu that is wider than a phone begins at the place where one is.
  for (const here of document.querySelectorAll(".places.of-shop [aria-current]")) {
    const [menu, place] = [here.parentElement, here.getBoundingClientRect()];
    const seen = menu.getBoundingClientRect();
    menu.scrollLeft += place.left + place.width / 2 - seen.left - seen.width / 2;
  }

  offer("[data-print]", () => print());

  // Passwords that can be seen while they are typed, and never when they are sent.
  const reveal = (button, isShown) => {
    const words = [button.textContent, button.dataset.hide];
    if ((button.getAttribute("aria-pressed") === "true") === isShown) return;
    document.getElementById(button.dataset.reveal).type = isShown ? "text" : "password";
    button.setAttribute("aria-pressed", String(isShown));
    [button.dataset.hide, button.textContent] = words;
  };
  offer("[data-reveal]", (button) => reveal(button, button.getAttribute("aria-pressed") !== "true"));
  addEventListener("submit", (event) => {
    for (const button of event.target.querySelectorAll("[data-reveal]")) reveal(button, false);
  });

  // A form that is on its way is not sent again by a double click: the second answer would take the place of the first,
  // and with it a key that is shown once. Who changes a field, or has waited for long, may send it.
  const sent = new Map();
  addEventListener("pageshow", () => sent.clear());
  addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented) return;
    const fields = String(new URLSearchParams(new FormData(form, event.submitter)));
    if (sent.get(form) === fields) {
      event.preventDefault();
      return;
    }
    sent.set(form, fields);
    setTimeout(() => sent.get(form) === fields && sent.delete(form), 10000);
  });

  // What is shown once: into the clipboard, or into a file.
  const textOf = (id) => document.getElementById(id).innerText.trim();
  offer("[data-copy]", async (button) => {
    try {
      await navigator.clipboard.writeText(textOf(button.dataset.copy));
    } catch {
      // No clipboard on this address: it is selected, to be copied by hand.
      getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
      return;
    }
    button.dataset.label ??= button.textContent;
    button.textContent = button.dataset.done;
    setTimeout(() => (button.textContent = button.dataset.label), 3000);
  });
  offer("[data-download]", (button) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([`${textOf(button.dataset.download)}\n`], { type: "text/plain" }));
    link.download = button.dataset.file;
    link.click();
    URL.revokeObjectURL(link.href);
  });
}
