// Reads values off a plot, by pointer and by keys, in a report and in the playground.
"use strict";
// The ends of an axis, its scale and its unit.
const axisOf = (text) => {
  const [min, max, scale, unit] = text.split(",");
  return {min: +min, max: +max, log: scale === "log", unit};
};
const valueOn = (axis, share) => axis.log
  ? axis.min * Math.pow(axis.max / axis.min, share)
  : axis.min + share * (axis.max - axis.min);
const shownOn = (axis, n) => {
  const digits = (n) => n >= 99.95 ? n.toFixed(0) : n >= 9.995 ? n.toFixed(1) : n.toFixed(2);
  const scaled = (units) => {
    if (n === 0) return "0 " + (units.includes("s") ? "s" : units[0]);
    let i = 0;
    while (n >= 999.5 && i < units.length - 1) { n /= 1000; i++; }
    // The smallest unit has no parts.
    return (i ? digits(n) : n.toFixed(0)) + " " + units[i];
  };
  return {
    time: () => scaled(["ps", "ns", "us", "ms", "s"]),
    size: () => scaled(["B", "KB", "MB", "GB", "TB"]),
    rate: () => scaled(["b/s", "Kb/s", "Mb/s", "Gb/s", "Tb/s"]),
    share: () => n === 0 ? "0%" : digits(n * 100) + "%",
    ratio: () => digits(n),
    number: () => String(+n.toPrecision(3)),
    count: () => n < 10 ? digits(n) : n.toFixed(0),
  }[axis.unit]();
};
// A line across an area at a share of its width, and a card beside it: a title, and rows of a colour and a text.
const hintIn = (area) => {
  const cross = Object.assign(document.createElement("div"), {className: "cross"}), tip = Object.assign(document.createElement("div"), {className: "tip"});
  return {
    show: (at, title, rows) => {
      cross.style.left = at * 100 + "%";
      tip.replaceChildren(Object.assign(document.createElement("b"), {textContent: title}), ...rows.map(([colour, text]) => {
        const row = document.createElement("div");
        if (colour) row.append(Object.assign(document.createElement("i"), {className: colour}));
        row.append(text);
        return row;
      }));
      area.append(cross, tip);
      // Beside the line, on the side with room; over it where neither has.
      const width = area.clientWidth, place = at * width, own = tip.offsetWidth;
      const side = place + 8 + own <= width ? place + 8 : place - 8 - own;
      tip.style.left = Math.max(0, Math.min(side, width - own)) + "px";
    },
    hide: () => { cross.remove(); tip.remove(); },
  };
};
// What keys do in a plot, below it for as long as it has them.
let helps = 0;
const helped = (plot, text) => {
  const help = Object.assign(document.createElement("p"), {className: "keys", id: `keys-${helps += 1}`, textContent: text});
  plot.append(help);
  plot.setAttribute("aria-describedby", help.id);
};
// Curves: their values at one place, and a part of them.
const readable = (plot) => {
  const x = axisOf(plot.dataset.x), y = axisOf(plot.dataset.y);
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
  const hint = hintIn(area);
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
  // A queue on the floor of a logarithmic axis may be any less.
  const told = (at) => (y.log && y.unit === "size" && at >= 1000 ? "at most " : "") + shownOn(y, valueOn(y, 1 - at / 1000));
  const draw = () => hint.show(place(), shownOn(x, valueOn(x, where / 1000)), lines.flatMap((line) => {
    const at = line.path.classList.contains("away") ? null : read(line);
    return at === null ? [] : [[line.colour, (lines.length > 1 ? line.name + "  " : "") + told(at)]];
  }));
  const move = (event) => {
    const box = area.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    where = Math.round(seen[0] + share * (seen[1] - seen[0]));
    draw();
  };
  // A part of the axis, by pulling over it or by + and -; twice a click, or Escape, shows all again.
  const svg = area.querySelector("svg"), labels = plot.querySelector(".xs"), all = [...labels.childNodes];
  const back = Object.assign(document.createElement("button"), {type: "button", textContent: "show all", onclick: () => see(0, 1000)});
  const see = (from, to) => {
    if (to - from < 10) return;
    seen = [Math.max(0, from), Math.min(1000, to)];
    const part = seen[0] > 0 || seen[1] < 1000;
    svg.setAttribute("viewBox", `${seen[0]} 0 ${seen[1] - seen[0]} 1000`);
    plot.classList.toggle("zoomed", part);
    labels.replaceChildren(...(!part ? all : [0, 0.33, 0.67, 1].map((share) => {
      const label = Object.assign(document.createElement("span"), {textContent: shownOn(x, valueOn(x, (seen[0] + share * (seen[1] - seen[0])) / 1000))});
      label.style.left = share * 100 + "%";
      return label;
    })));
    if (part) plot.querySelector(".ytitle").append(back); else back.remove();
    where = Math.min(seen[1], Math.max(seen[0], where));
  };
  let held = null;
  const brush = Object.assign(document.createElement("div"), {className: "brush"});
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
  area.addEventListener("pointerleave", hint.hide);
  plot.addEventListener("blur", hint.hide);
  plot.addEventListener("keydown", (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key], near = {"+": 0.25, "=": 0.25, "-": 1, "_": 1}[event.key];
    const wide = seen[1] - seen[0], end = {Home: seen[0], End: seen[1]}[event.key];
    // Nobody means the chart who goes back in the history or changes the size of the page.
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (step && event.shiftKey) {
      const by = Math.min(1000 - seen[1], Math.max(-seen[0], step * wide / 4));
      see(seen[0] + by, seen[1] + by);
    } else if (step) where = Math.min(seen[1], Math.max(seen[0], where + step * Math.max(1, wide / 100)));
    else if (end !== undefined) where = end;
    else if (near) see(where - wide * near, where + wide * near);
    else if (event.key === "Escape" || event.key === "0") see(0, 1000);
    else return;
    event.preventDefault();
    draw();
  });
  helped(plot, "← → read a value, Home and End the ends; + and − show a part and more, Shift with ← → moves it, 0 shows all. With a pointer: pull over a part.");
};
// Bars: one after the other.
const stepped = (plot) => {
  const area = plot.querySelector(".area"), hint = hintIn(area);
  const bars = [...area.querySelectorAll("path.box")].map((path) => {
    const [, left, right] = path.getAttribute("d").match(/^M(\d+) 1000V\d+H(\d+)/).map(Number);
    return {path, text: path.querySelector("title").textContent, middle: (left + right) / 2000};
  }).sort((a, b) => a.middle - b.middle);
  const names = [...plot.querySelectorAll(".xs span")];
  let chosen = -1;
  const show = (next) => {
    const {path, text, middle} = bars[chosen = next];
    hint.show(middle, names[Math.min(names.length - 1, Math.floor(middle * names.length))].textContent, [[path.classList[1], text]]);
  };
  area.addEventListener("pointermove", ({target}) => {
    const own = bars.findIndex(({path}) => path === target);
    if (own < 0) hint.hide(); else show(own);
  });
  area.addEventListener("pointerleave", hint.hide);
  plot.addEventListener("blur", hint.hide);
  plot.addEventListener("keydown", (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!step || !bars.length) return;
    event.preventDefault();
    show(Math.min(bars.length - 1, Math.max(0, chosen + step)));
  });
  helped(plot, "← → read one bar after the other.");
};
// A map of rows over time: one cell of it.
const mapped = (map) => {
  const area = map.querySelector(".area"), hint = hintIn(area), x = axisOf(map.dataset.x);
  const names = [...map.querySelectorAll(".names span")].map((name) => name.textContent);
  const rows = map.dataset.cells.split(";").map((row) => row.split(",").flatMap((run) => {
    const [value, times = 1] = run.split("x");
    return Array(+times).fill(+value);
  }));
  const columns = rows[0].length, chosen = document.createElement("i");
  chosen.className = "chosen";
  let at = [0, -1];
  const show = (row, column) => {
    at = [Math.min(rows.length - 1, Math.max(0, row)), Math.min(columns - 1, Math.max(0, column))];
    const [from, to] = [at[1], at[1] + 1].map((edge) => shownOn(x, valueOn(x, edge / columns)));
    Object.assign(chosen.style, {top: `${100 * at[0] / rows.length}%`, height: `${100 / rows.length}%`, left: `${100 * at[1] / columns}%`, width: `${100 / columns}%`});
    area.append(chosen);
    hint.show((at[1] + 0.5) / columns, names[at[0]], [[null, `${from} to ${to}`], [null, rows[at[0]][at[1]] ? `at most ${shownOn({unit: "size"}, rows[at[0]][at[1]])}` : "empty"]]);
  };
  const hide = () => { chosen.remove(); hint.hide(); };
  area.addEventListener("pointermove", (event) => {
    const box = area.getBoundingClientRect();
    show(Math.floor((event.clientY - box.top) / box.height * rows.length), Math.floor((event.clientX - box.left) / box.width * columns));
  });
  area.addEventListener("pointerleave", hide);
  map.addEventListener("blur", hide);
  map.addEventListener("keydown", (event) => {
    const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
    if (!step) return;
    event.preventDefault();
    show(at[0] + step[0], at[1] + step[1]);
  });
  helped(map, "← → ↑ ↓ read one cell after the other.");
};
