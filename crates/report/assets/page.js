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
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0], rows = [...body.rows];
  if (rows.length < 3) continue;
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
    });
    head.replaceChildren(button);
  });
  if (rows.length < 10) continue;
  const input = element("input", {type: "search", placeholder: "find in this table"}), says = element("output");
  input.setAttribute("aria-label", "Find in this table");
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase(), fits = wanted.every((word) => text.includes(word));
      row.style.display = fits ? "" : "none";
      shown += fits;
    }
    says.textContent = input.value ? `${shown} of ${rows.length} rows` : "";
  });
  table.parentElement.before(element("div", {className: "find"}, input, says));
}
for (const plot of document.querySelectorAll(".plot:not(.cats)")) {
  const axis = (text) => {
    const [min, max, scale, unit] = text.split(",");
    return {min: +min, max: +max, log: scale === "log", unit};
  };
  const x = axis(plot.dataset.x), y = axis(plot.dataset.y);
  const value = (axis, share) => axis.log
    ? axis.min * Math.pow(axis.max / axis.min, share)
    : axis.min + share * (axis.max - axis.min);
  const digits = (n) => n >= 99.95 ? n.toFixed(0) : n >= 9.995 ? n.toFixed(1) : n.toFixed(2);
  const scaled = (n, step, units) => {
    if (n === 0) return "0 " + (units.includes("s") ? "s" : units[0]);
    let i = 0;
    while (n >= step * 0.9995 && i < units.length - 1) { n /= step; i++; }
    // The smallest unit has no parts.
    return (i ? digits(n) : n.toFixed(0)) + " " + units[i];
  };
  const show = (axis, n) => ({
    time: () => scaled(n, 1000, ["ps", "ns", "us", "ms", "s"]),
    size: () => scaled(n, 1000, ["B", "KB", "MB", "GB", "TB"]),
    rate: () => scaled(n, 1000, ["b/s", "Kb/s", "Mb/s", "Gb/s", "Tb/s"]),
    share: () => n === 0 ? "0%" : digits(n * 100) + "%",
    ratio: () => digits(n),
    number: () => String(+n.toPrecision(3)),
    count: () => n < 10 ? digits(n) : n.toFixed(0),
  })[axis.unit]();
  // Every path is M x y, then L x y, or H x V y for steps, in a box of 1000 by 1000.
  const lines = [...plot.querySelectorAll("path.line")].reverse().map((path) => {
    const points = [];
    let at = [0, 0];
    for (const [, verb, a, b] of path.getAttribute("d").matchAll(/([MLHV])(\d+)(?: (\d+))?/g)) {
      at = verb === "H" ? [+a, at[1]] : verb === "V" ? [at[0], +a] : [+a, +b];
      if (verb !== "H") points.push(at);
    }
    return {path, name: path.dataset.name, colour: path.classList[1], step: "step" in path.dataset, points};
  });
  const area = plot.querySelector(".area");
  const cross = document.createElement("div"), tip = document.createElement("div");
  cross.className = "cross";
  tip.className = "tip";
  // What is seen of the axis, and where it is read: in parts of its 1000.
  let seen = [0, 1000], where = 500;
  const read = (line) => {
    const {points} = line;
    if (where < points[0][0] - 2) return line.step ? 1000 : null;
    let i = 0;
    while (i + 1 < points.length && points[i + 1][0] <= where) i++;
    const a = points[i], b = points[i + 1];
    if (line.step) return a[1];
    if (!b) return where > a[0] + 2 ? null : a[1];
    return a[1] + (b[1] - a[1]) * (where - a[0]) / (b[0] - a[0]);
  };
  const place = () => (where - seen[0]) / (seen[1] - seen[0]);
  const draw = () => {
    cross.style.left = place() * 100 + "%";
    tip.replaceChildren(Object.assign(document.createElement("b"), {textContent: show(x, value(x, where / 1000))}));
    for (const line of lines) {
      if (line.path.classList.contains("away")) continue;
      const at = read(line);
      if (at === null) continue;
      const row = document.createElement("div"), key = document.createElement("i");
      key.className = line.colour;
      row.append(key, (lines.length > 1 ? line.name + "  " : "") + show(y, value(y, 1 - at / 1000)));
      tip.append(row);
    }
    area.append(cross, tip);
    // Beside the line, on the side with room; over it where neither has.
    const width = area.clientWidth, at = place() * width, own = tip.offsetWidth;
    const side = at + 8 + own <= width ? at + 8 : at - 8 - own;
    tip.style.left = Math.max(0, Math.min(side, width - own)) + "px";
  };
  const hide = () => { cross.remove(); tip.remove(); };
  const move = (event) => {
    const box = area.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    where = Math.round(seen[0] + share * (seen[1] - seen[0]));
    draw();
  };
  // A part of the axis, by pulling over it or by + and -; twice a click, or Escape, shows all again.
  const svg = area.querySelector("svg"), labels = plot.querySelector(".xs"), all = [...labels.childNodes];
  const back = element("button", {type: "button", textContent: "show all", onclick: () => see(0, 1000)});
  const see = (from, to) => {
    if (to - from < 10) return;
    seen = [Math.max(0, from), Math.min(1000, to)];
    const part = seen[0] > 0 || seen[1] < 1000;
    svg.setAttribute("viewBox", `${seen[0]} 0 ${seen[1] - seen[0]} 1000`);
    plot.classList.toggle("zoomed", part);
    labels.replaceChildren(...(!part ? all : [0, 0.33, 0.67, 1].map((share) => {
      const label = element("span", {textContent: show(x, value(x, (seen[0] + share * (seen[1] - seen[0])) / 1000))});
      label.style.left = share * 100 + "%";
      return label;
    })));
    if (part) plot.querySelector(".ytitle").append(back); else back.remove();
    where = Math.min(seen[1], Math.max(seen[0], where));
  };
  let held = null;
  const brush = element("div", {className: "brush"});
  area.addEventListener("pointermove", (event) => {
    move(event);
    if (held === null) return;
    const ends = [held, where].sort((a, b) => a - b), wide = seen[1] - seen[0];
    brush.style.left = (ends[0] - seen[0]) / wide * 100 + "%";
    brush.style.width = (ends[1] - ends[0]) / wide * 100 + "%";
    area.append(brush);
  });
  area.addEventListener("pointerdown", (event) => {
    move(event);
    if (event.pointerType === "mouse") held = where;
  });
  addEventListener("pointerup", () => {
    if (held === null) return;
    const from = Math.min(held, where), to = Math.max(held, where);
    held = null;
    brush.remove();
    if ((to - from) / (seen[1] - seen[0]) > 0.03) see(from, to);
  });
  area.addEventListener("dblclick", () => see(0, 1000));
  area.addEventListener("pointerleave", hide);
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key], near = {"+": 0.25, "=": 0.25, "-": 1}[event.key];
    const wide = seen[1] - seen[0];
    if (step) where = Math.min(seen[1], Math.max(seen[0], where + step * Math.max(1, wide / 100)));
    else if (near) see(where - wide * near, where + wide * near);
    else if (event.key === "Escape") see(0, 1000);
    else return;
    event.preventDefault();
    draw();
  });
}
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
