// What is wider than its place fades where more of it is hidden, and takes the keys that scroll it. The page is complete without it.
"use strict";
for (const box of document.querySelectorAll(".scroll, pre[tabindex]")) {
  const FADE = 48;
  const look = () => {
    const right = box.scrollWidth - box.clientWidth, below = box.scrollHeight - box.clientHeight;
    const hidden = {left: right > 1 ? box.scrollLeft : 0, right: right - box.scrollLeft, below: below - box.scrollTop};
    for (const [side, pixels] of Object.entries(hidden)) box.style.setProperty("--" + side, pixels > 1 ? `${Math.min(FADE, pixels)}px` : "0px");
    box.classList.toggle("edges", Math.max(...Object.values(hidden)) > 1);
    // Nobody has to stop at what is seen whole.
    box.tabIndex = right > 1 || below > 1 ? 0 : -1;
  };
  box.addEventListener("scroll", look, {passive: true});
  const sizes = new ResizeObserver(look);
  sizes.observe(box);
  if (box.firstElementChild) sizes.observe(box.firstElementChild);
  look();
}
