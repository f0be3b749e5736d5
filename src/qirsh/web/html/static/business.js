// Of more places than fit, the one that is open is in sight.
"use strict";

{
  const place = document.querySelector(".of-shop [aria-current]");
  if (place) {
    const [own, all] = [place, place.parentElement].map((element) => element.getBoundingClientRect());
    const middle = (box) => [box.left + box.width / 2, box.top + box.height / 2];
    place.parentElement.scrollBy(middle(own)[0] - middle(all)[0], middle(own)[1] - middle(all)[1]);
  }
}
