// Small comforts of a business's pages. Everything works without them too.
"use strict";

{
  // Of more places than fit, the one that is open is in sight.
  const place = document.querySelector(".of-shop [aria-current]");
  if (place) {
    const [own, all] = [place, place.parentElement].map((element) => element.getBoundingClientRect());
    const middle = (box) => [box.left + box.width / 2, box.top + box.height / 2];
    place.parentElement.scrollBy(middle(own)[0] - middle(all)[0], middle(own)[1] - middle(all)[1]);
  }
}

{
  // How many payments came since the list was made. Nothing moves: the link has its place from the beginning.
  const EVERY_S = 10;
  const LONGEST_S = 300;
  const news = document.querySelector("[data-newer]");
  const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const seen = () =>
    new Promise((resolve) => {
      if (!document.hidden) resolve();
      else document.addEventListener("visibilitychange", resolve, { once: true });
    });

  async function follow(link) {
    for (let wait = EVERY_S; ; ) {
      await pause(wait);
      await seen();
      const answer = await fetch(news.dataset.newer, { redirect: "manual" }).catch(() => null);
      if (answer?.ok) {
        wait = EVERY_S;
        const words = (await answer.text().catch(() => "")).trim();
        if (words && words !== link.textContent) link.textContent = words;
        link.hidden = !link.textContent;
      } else if (answer && answer.status < 500) {
        return; // Signed out, or no longer on the staff: asking again does not help.
      } else {
        wait = Math.min(LONGEST_S, 2 * wait);
      }
    }
  }

  if (news) {
    news.classList.add("held");
    follow(news.firstElementChild);
  }
}
