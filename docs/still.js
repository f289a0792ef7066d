// A picture that moves has a button that lets it stand. Who wants no motion has none, and needs no button.
"use strict";
addEventListener("DOMContentLoaded", () => {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  for (const picture of document.querySelectorAll('img[src*="pictures/motion/"]')) {
    const moving = picture.src, button = Object.assign(document.createElement("button"), {type: "button", className: "md-button still"});
    const let_it = (stand) => {
      picture.src = moving + (stand ? "#still" : "");
      button.textContent = stand ? "Let it move" : "Let it stand";
      button.setAttribute("aria-pressed", stand);
    };
    button.addEventListener("click", () => let_it(!picture.src.endsWith("#still")));
    let_it(false);
    picture.closest("p").after(button);
  }
});
