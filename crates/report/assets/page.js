// Reads values off the curves under the pointer or by the arrow keys. The page is complete without it.
"use strict";
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
    return {name: path.dataset.name, colour: path.classList[1], step: "step" in path.dataset, points};
  });
  const area = plot.querySelector(".area");
  const cross = document.createElement("div"), tip = document.createElement("div");
  cross.className = "cross";
  tip.className = "tip";
  let where = 500;
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
  const draw = () => {
    cross.style.left = where / 10 + "%";
    tip.replaceChildren(Object.assign(document.createElement("b"), {textContent: show(x, value(x, where / 1000))}));
    for (const line of lines) {
      const at = read(line);
      if (at === null) continue;
      const row = document.createElement("div"), key = document.createElement("i");
      key.className = line.colour;
      row.append(key, (lines.length > 1 ? line.name + "  " : "") + show(y, value(y, 1 - at / 1000)));
      tip.append(row);
    }
    area.append(cross, tip);
    // Beside the line, on the side with room; over it where neither has.
    const width = area.clientWidth, at = where / 1000 * width, own = tip.offsetWidth;
    const side = at + 8 + own <= width ? at + 8 : at - 8 - own;
    tip.style.left = Math.max(0, Math.min(side, width - own)) + "px";
  };
  const hide = () => { cross.remove(); tip.remove(); };
  const move = (event) => {
    const box = area.getBoundingClientRect();
    where = Math.round(Math.min(1000, Math.max(0, (event.clientX - box.left) / box.width * 1000)));
    draw();
  };
  area.addEventListener("pointermove", move);
  area.addEventListener("pointerdown", move);
  area.addEventListener("pointerleave", hide);
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", (event) => {
    const step = {ArrowLeft: -10, ArrowRight: 10}[event.key];
    if (!step) return;
    event.preventDefault();
    where = Math.min(1000, Math.max(0, where + step));
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
