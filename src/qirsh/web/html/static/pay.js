// The pay page without waiting for a click: the time that is left, what became of the payment elsewhere, and sharing.
// Everything works without it too.
"use strict";

{
  const MINUTE = 60;
  const slip = document.querySelector("[data-follow]");
  let isLeaving = false;
  // A form that was sent goes where it leads, whatever is heard meanwhile.
  addEventListener("beforeunload", () => (isLeaving = true));
  addEventListener("pageshow", (event) => event.persisted && location.reload());
  addEventListener("submit", (event) => event.submitter?.setAttribute("aria-busy", "true"));

  const two = (number) => String(number).padStart(2, "0");
  const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

  // The clock on this machine may be wrong, so only what has passed since is taken from it.
  function countDown(shown) {
    const end = performance.now() + Number(shown.dataset.left);
    const tick = () => {
      const left = Math.max(0, Math.floor((end - performance.now()) / 1000));
      const hours = Math.floor(left / MINUTE / 60);
      if (hours >= 24) return;
      shown.classList.add("num");
      shown.classList.toggle("soon", left < 2 * MINUTE);
      const minutes = Math.floor(left / MINUTE) % 60;
      shown.textContent = `${hours ? `${hours}:${two(minutes)}` : minutes}:${two(left % MINUTE)}`;
    };
    tick();
    setInterval(tick, 1000);
  }

  const seen = () =>
    new Promise((resolve) => {
      if (!document.hidden) resolve();
      else document.addEventListener("visibilitychange", resolve, { once: true });
    });

  async function follow() {
    const page = slip.dataset.follow;
    for (let failures = 0; !isLeaving; ) {
      await seen();
      try {
        const answer = await fetch(`${page}/state?version=1&wait=25`);
        if (!answer.ok) throw new Error(answer.status);
        failures = 0;
        const { status } = await answer.json();
        if (status === "pending" || isLeaving) continue;
        location.replace((status === "paid" && slip.dataset.back) || slip.dataset.after || page);
        return;
      } catch {
        failures += 1;
        await pause(Math.min(MINUTE, 2 ** failures));
      }
    }
  }

  for (const shown of document.querySelectorAll("[data-left]")) countDown(shown);
  if (slip) follow();
  // Long enough to read that it was paid; who comes back from the shop stays.
  const isBack = performance.getEntriesByType("navigation")[0]?.type === "back_forward";
  const onward = isBack ? null : document.querySelector("[data-onward]");
  if (onward) setTimeout(() => onward.click(), 4000);
  for (const link of navigator.share ? document.querySelectorAll("[data-share]") : []) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      navigator.share({ url: link.href }).catch(() => {});
    });
  }
}
