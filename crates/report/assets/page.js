// Reads values off the curves, shows a part of them, puts names away and rows in order. The page is complete without it.
"use strict";
const element = (tag, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
};
// Of several panes one is seen.
for (const tabs of document.querySelectorAll(".tabs")) {
  const panes = [...tabs.querySelectorAll(".pane")];
  if (panes.length < 2) continue;
  const list = element("div", {className: "tablist"});
  list.setAttribute("role", "tablist");
  const choose = (chosen) => panes.forEach((pane, i) => {
    pane.hidden = pane.style.display = i === chosen ? "" : "none";
    list.children[i].setAttribute("aria-selected", i === chosen);
    list.children[i].tabIndex = i === chosen ? 0 : -1;
  });
  panes.forEach((pane, i) => {
    const tab = element("button", {type: "button", textContent: pane.dataset.tab, onclick: () => choose(i)});
    tab.setAttribute("role", "tab");
    pane.setAttribute("role", "tabpanel");
    pane.setAttribute("aria-label", pane.dataset.tab);
    list.append(tab);
  });
  list.addEventListener("keydown", (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!step) return;
    const next = ([...list.children].indexOf(document.activeElement) + step + panes.length) % panes.length;
    choose(next);
    list.children[next].focus();
  });
  tabs.classList.add("live");
  tabs.prepend(list);
  choose(0);
}
// A name of a legend puts away what has its colour.
for (const legend of document.querySelectorAll(".legend")) {
  const chart = legend.nextElementSibling;
  if (!chart || legend.children.length < 2 || !chart.matches(".plot, .ranges")) continue;
  for (const name of legend.children) {
    const colour = name.classList[0];
    if (!/^c\d/.test(colour)) continue;
    const button = element("button", {type: "button", textContent: name.textContent, title: "Show or hide"});
    button.setAttribute("aria-pressed", true);
    button.addEventListener("click", () => {
      const away = name.classList.toggle("away");
      button.setAttribute("aria-pressed", !away);
      for (const drawn of chart.querySelectorAll("." + colour)) if (!drawn.closest(".tip")) drawn.classList.toggle("away", away);
    });
    name.replaceChildren(button);
  }
}
// A click on a title puts the rows in its order; long tables can be searched.
const sizes = {ps: 1, ns: 1e3, us: 1e6, ms: 1e9, s: 1e12, B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, "b/s": 1, "Kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9, "Tb/s": 1e12};
const measure = (cell) => {
  const text = (cell.querySelector("b") || cell.firstChild || cell).textContent.trim();
  const found = /^(?:≥|>=|at least)?\s*([\d,]*\.?\d+)\s*([A-Za-z/]+|%)?/.exec(text.replaceAll("\u00a0", " "));
  return found ? [+found[1].replaceAll(",", "") * (sizes[found[2]] || 1), text] : [text === "-" || !text ? -Infinity : null, text];
};
// Of many rows the first are seen, in whatever order, until somebody looks for some or asks for all.
const FEW = 12;
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0], rows = [...body.rows];
  if (rows.length < 3) continue;
  const input = element("input", {type: "search", placeholder: "find in this table"}), says = element("output");
  const folds = rows.length > 2 * FEW && !table.closest("details");
  let all = !folds;
  const look = () => {
    const wanted = input.value.toLowerCase().split(/\s+/).filter((word) => word);
    let found = 0;
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase(), fits = wanted.every((word) => text.includes(word));
      found += fits;
      row.classList.toggle("folded", !fits || (!all && !wanted.length && found > FEW));
    }
    says.textContent = wanted.length ? `${found} of ${rows.length} rows` : all ? "" : `the first ${FEW} of ${rows.length} rows`;
  };
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    // A column of bars repeats the one beside it.
    if (!head.textContent.trim()) return;
    const button = element("button", {type: "button", title: "Sort by this"}, ...head.childNodes);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "descending" : "ascending");
      const keyed = rows.map((row) => [row, ...measure(row.cells[column])]);
      const numbers = keyed.every(([, number]) => number !== null);
      const order = numbers ? (a, b) => a[1] - b[1] : (a, b) => a[2].localeCompare(b[2], "en", {numeric: true});
      keyed.sort((a, b) => up ? order(b, a) : order(a, b));
      body.append(...keyed.map(([row]) => row));
      look();
    });
    head.replaceChildren(button);
  });
  if (rows.length < 10) continue;
  input.setAttribute("aria-label", "Find in this table");
  input.addEventListener("input", look);
  table.parentElement.before(element("div", {className: "find"}, input, says));
  if (!folds) continue;
  const more = element("button", {type: "button", className: "more"});
  const fold = (to) => {
    all = to;
    more.textContent = all ? `show the first ${FEW} rows` : `show all ${rows.length} rows`;
    more.setAttribute("aria-expanded", all);
    look();
  };
  more.addEventListener("click", () => fold(!all));
  table.parentElement.after(more);
  fold(false);
}
for (const plot of document.querySelectorAll(".plot:not(.cats)")) readable(plot);
for (const plot of document.querySelectorAll(".plot.cats")) stepped(plot);
for (const map of document.querySelectorAll(".heat")) mapped(map);
// Packets of a message: time runs while a button is pressed, or stands where a slider is.
for (const flight of document.querySelectorAll(".flight")) {
  const took = +flight.dataset.took, svg = flight.querySelector("svg"), area = flight.querySelector(".area");
  const steps = [...flight.querySelectorAll(".track i")];
  const row = document.createElement("div"), cross = document.createElement("div");
  row.className = "play";
  cross.className = "cross";
  const button = Object.assign(document.createElement("button"), {type: "button", textContent: "Play"});
  const slider = Object.assign(document.createElement("input"), {type: "range", min: 0, max: 1000, value: 1000});
  slider.setAttribute("aria-label", "Time since the message began");
  const says = document.createElement("output");
  row.append(button, slider, says);
  flight.append(row);
  const scale = took >= 1e9 ? [1e9, "ms"] : took >= 1e6 ? [1e6, "us"] : [1e3, "ns"];
  const show = (share) => {
    const at = share * took, step = steps.find((step) => at <= +step.dataset.until) || steps[steps.length - 1];
    svg.style.setProperty("--at", share * 100 + "%");
    svg.classList.add("shown");
    cross.style.left = share * 100 + "%";
    area.append(cross);
    says.textContent = `${(at / scale[0]).toFixed(2)} ${scale[1]}: ${step ? step.title : ""}`;
  };
  let frame = 0, since = 0;
  const stop = () => { cancelAnimationFrame(frame); frame = 0; button.textContent = "Play"; };
  const tick = (now) => {
    const share = Math.min(1, (now - since) / 8000);
    slider.value = share * 1000;
    show(share);
    if (share < 1) frame = requestAnimationFrame(tick); else stop();
  };
  button.addEventListener("click", () => {
    if (frame) return stop();
    since = performance.now() - (slider.value < 1000 ? slider.value * 8 : 0);
    button.textContent = "Pause";
    frame = requestAnimationFrame(tick);
  });
  slider.addEventListener("input", () => { stop(); show(slider.value / 1000); });
}
// A link to something folded away unfolds it.
const unfold = () => {
  const at = location.hash && document.getElementById(location.hash.slice(1));
  if (at && at.tagName === "DETAILS") { at.open = true; at.scrollIntoView(); }
};
addEventListener("hashchange", unfold);
unfold();
