// What is wider than its page scrolls in a box of its own, which keys reach, too.
"use strict";
addEventListener("DOMContentLoaded", () => {
  const kinds = {"Wide table": ".md-typeset__scrollwrap", "Wide picture": ".md-typeset p:has(> img:only-child)", "Wide code": ".md-typeset pre > code"};
  const every = Object.values(kinds).join();
  const name = (box) => Object.keys(kinds).find((name) => box.matches(kinds[name]));
  const tend = (box) => {
    for (const [key, value] of Object.entries({tabindex: "0", role: "group", "aria-label": name(box)}))
      if (box.scrollWidth <= box.clientWidth) box.removeAttribute(key);
      else if (box.getAttribute(key) !== value) box.setAttribute(key, value);
  };
  const sizes = new ResizeObserver((changes) => changes.forEach(({target}) => tend(target.closest(every))));
  // The theme takes keys away from code where no pointer hovers.
  const taken = new MutationObserver((changes) => changes.forEach(({target}) => tend(target)));
  for (const box of document.querySelectorAll(every)) {
    tend(box);
    taken.observe(box, {attributeFilter: ["tabindex"]});
    // A picture has no width before it is loaded.
    [box, ...box.querySelectorAll("img, table")].forEach((part) => sizes.observe(part));
  }
});
