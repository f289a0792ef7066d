// The fabric, in a report and in the playground: hosts below, switches above. Each half of a cable belongs to the port at its end, and has the
// colour of that port's queue or use at the moment of the slider.
"use strict";
const SVG = "http://www.w3.org/2000/svg";
const draw = (tag, attributes) => {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
};
const WIDE = 1000, TALL = 300;

class Fabric {
  constructor() {
    [this.svg, this.slider, this.says] = [$("fabric"), $("moment"), $("moment-says")];
    this.slider.addEventListener("input", () => { this.pause(); this.paint(); });
    $("play").addEventListener("click", () => (this.frame ? this.pause() : this.play()));
    for (const radio of document.querySelectorAll("[name=paint]")) radio.addEventListener("change", () => this.paint());
    const point = (event) => {
      const line = event.target.closest("[data-link]");
      if (line) this.choose(+line.dataset.link);
    };
    this.svg.addEventListener("pointerover", point);
    this.svg.addEventListener("click", point);
    // The playground has the first of these, for those without a pointer, and a report both.
    [this.which, this.watch] = [$("which"), $("watch")];
    if (this.which) this.which.addEventListener("change", () => this.choose(+this.which.value));
    if (this.watch) this.watch.addEventListener("change", () => this.follow(this.watched[+this.watch.value]));
  }

  /// Draws nodes and cables as a scenario has them, without a run.
  show(network) {
    this.pause();
    [this.network, this.motion, this.chosen, this.followed] = [network, null, null, null];
    this.svg.replaceChildren();
    $("fabric-note").textContent = network ? "" : "This fabric has too many cables to be drawn.";
    $("motion").hidden = true;
    $("port").textContent = "";
    if (!network) return;
    const tiers = [...new Set(network.nodes.map(([, tier]) => tier))].sort((a, b) => a - b);
    const rows = new Map(tiers.map((tier) => [tier, network.nodes.flatMap(([, of], i) => (of === tier ? [i] : []))]));
    const level = (tier) => tiers.length < 2 ? TALL / 2 : TALL - 16 - (TALL - 32) * tiers.indexOf(tier) / (tiers.length - 1);
    this.at = [];
    for (const [tier, row] of rows) row.forEach((node, i) => { this.at[node] = [(i + 0.5) * WIDE / row.length, level(tier)]; });
    // Switches stand over what they hold together, where that keeps their order.
    for (const [tier, row] of rows) {
      if (tier === tiers[0]) continue;
      const over = row.map((node) => this.mean(node, tiers[tiers.indexOf(tier) - 1]));
      const apart = over.every((x, i) => i === 0 || x - over[i - 1] > 12);
      if (apart) row.forEach((node, i) => { this.at[node][0] = over[i]; });
    }
    this.lines = new Map();
    network.cables.forEach(([a, b, rate], cable) => {
      const [p, q] = [this.at[a], this.at[b]];
      const level = p[1] === q[1], middle = [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2 - (level ? 20 : 0)];
      for (const [link, from, to, end] of [[2 * cable, a, b, p], [2 * cable + 1, b, a, q]]) {
        const line = draw("path", {class: "half", d: `M${end} L${middle}`, "data-link": link});
        line.append(draw("title", {}));
        line.firstChild.textContent = `${network.nodes[from][0]} → ${network.nodes[to][0]}, ${rate}`;
        this.lines.set(link, line);
        this.svg.append(line);
      }
    });
    network.nodes.forEach(([name, tier], i) => {
      const wide = tier === tiers[0] ? Math.min(14, WIDE / rows.get(tier).length * 0.7) : Math.min(34, WIDE / rows.get(tier).length * 0.7);
      const [x, y] = this.at[i];
      const node = draw("rect", {class: tier === tiers[0] ? "host" : "switch", x: x - wide / 2, y: y - 7, width: wide, height: 14, rx: 3});
      node.append(draw("title", {}));
      node.firstChild.textContent = name;
      this.svg.append(node);
    });
    this.svg.setAttribute("aria-label", `The fabric: ${network.nodes.length} nodes, ${network.cables.length} cables`);
  }

  mean(node, tier) {
    const below = this.network.cables.flatMap(([a, b]) => (a === node ? [b] : b === node ? [a] : []))
      .filter((other) => this.network.nodes[other][1] === tier).map((other) => this.at[other][0]);
    return below.length ? below.reduce((sum, x) => sum + x, 0) / below.length : this.at[node][0];
  }

  /// Lets the drawing move as a run did; `messages` are listed at the ports of their hosts, `watched` can be followed.
  run(motion, messages = [], watched = []) {
    this.pause();
    [this.motion, this.messages, this.watched, this.followed] = [motion, messages, watched, null];
    $("motion").hidden = !motion || !this.network;
    if ($("motion").hidden) return;
    this.most = Math.max(0, ...Object.values(motion.ports).map(([queue]) => Math.max(...queue)));
    this.slider.max = motion.ends_ps.length - 1;
    // Where the fullest queue is, the story is.
    let [fullest, when, port] = [-1, 0, null];
    for (const [link, [queue]] of Object.entries(motion.ports)) queue.forEach((bytes, i) => {
      if (bytes > fullest) [fullest, when, port] = [bytes, i, +link];
    });
    this.slider.value = when;
    this.chosen = port;
    if (this.which) this.lists();
    this.paint();
  }

  /// Ports by their greatest queue, and messages whose packets are known.
  lists() {
    const most = ([queue]) => Math.max(...queue);
    const ports = Object.entries(this.motion.ports).map(([link, port]) => [+link, most(port)]);
    ports.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    this.which.replaceChildren(...ports.map(([link, queue]) => make("option", {value: link, textContent: `${this.name(link)}, up to ${bytes(queue)}`})));
    if (!this.watch) return;
    $("watch-label").hidden = !this.watched.length;
    this.watch.replaceChildren(make("option", {value: -1, textContent: "the whole run"}), ...this.watched.map((of, i) => make("option", {value: i, textContent: of.name})));
  }

  /// Follows the packets of one message, or shows the whole run again.
  follow(of) {
    this.pause();
    this.followed = of || null;
    this.stretches = of ? this.stretched(of) : [];
    this.slider.max = of ? 1000 : this.motion.ends_ps.length - 1;
    this.slider.value = of ? 0 : this.moment(this.before || 0);
    this.paint();
    if (of && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.play();
  }

  /// The time of the slider, and the moment in which a time lies.
  now() {
    const at = +this.slider.value;
    if (!this.followed) return this.motion.ends_ps[at];
    const last = this.stretches[this.stretches.length - 1], shown = last.shown * at / 1000;
    const after = this.stretches.findIndex((stop) => stop.shown >= shown);
    if (after < 1) return this.stretches[0].ps;
    const [a, b] = [this.stretches[after - 1], this.stretches[after]];
    return a.ps + (b.ps - a.ps) * (shown - a.shown) / Math.max(1, b.shown - a.shown);
  }

  /// Time as it is shown: a stretch in which no packet is on its way is cut to a twentieth of those in which one is.
  stretched(of) {
    const ways = of.packets.flatMap(([, , hops]) => hops.length ? [[hops[0][2], hops[hops.length - 1][3]]] : []).sort((a, b) => a[0] - b[0]);
    const busy = [];
    for (const [out, end] of ways) {
      const last = busy[busy.length - 1];
      if (last && out <= last[1]) last[1] = Math.max(last[1], end); else busy.push([out, end]);
    }
    const most = busy.reduce((sum, [out, end]) => sum + end - out, 1) / 20, stops = [{ps: of.start_ps, shown: 0}];
    const go = (ps, cut) => {
      const last = stops[stops.length - 1];
      if (ps > last.ps) stops.push({ps, shown: last.shown + (cut ? Math.min(most, ps - last.ps) : ps - last.ps)});
    };
    for (const [out, end] of busy) { go(out, true); go(end, false); }
    go(of.end_ps, true);
    return stops;
  }

  moment(ps) {
    const found = this.motion.ends_ps.findIndex((end) => end >= ps);
    return found < 0 ? this.motion.ends_ps.length - 1 : found;
  }

  name(link) {
    const [a, b] = this.network.cables[link >> 1], ends = link % 2 ? [b, a] : [a, b];
    return ends.map((node) => this.network.nodes[node][0]).join(" → ");
  }

  /// Dots where packets are: on a line between its ends, or at the node where they wait.
  packets(ps) {
    for (const dot of this.svg.querySelectorAll("circle")) dot.remove();
    if (!this.followed) return 0;
    let flying = 0;
    for (const [kind, on, hops] of this.followed.packets) {
      const hop = hops.findLast(([, , out]) => out <= ps);
      if (!hop || (hop === hops[hops.length - 1] && ps > hop[3])) continue;
      const [from, to] = [this.at[hop[0]], this.at[hop[1]]], share = Math.min(1, (ps - hop[2]) / Math.max(1, hop[3] - hop[2]));
      const names = {credit: "credit", control: "control", link: "control"};
      this.svg.append(draw("circle", {class: names[kind] || "data", r: on ? 6 : 4, cx: from[0] + (to[0] - from[0]) * share, cy: from[1] + (to[1] - from[1]) * share}));
      flying++;
    }
    return flying;
  }

  paint() {
    if (!this.motion) return;
    const now = this.now(), moment = this.moment(now), queues = $("paint-queue").checked;
    if (!this.followed) this.before = now;
    for (const [link, line] of this.lines) {
      const port = this.motion.ports[link];
      const share = !port ? 0 : queues ? Math.sqrt(port[0][moment] / Math.max(1, this.most)) : port[1][moment] / 100;
      line.style.setProperty("--share", share.toFixed(3));
      line.classList.toggle("warm", share > 0);
      line.classList.toggle("unseen", !port);
      line.classList.toggle("chosen", link === this.chosen);
    }
    $("key-most").textContent = queues ? bytes(this.most) : "100 %";
    const flying = this.packets(now), packets = flying === 1 ? "1 packet" : `${flying} packets`;
    this.says.textContent = this.followed ? `${time(now)}, ${packets} under way` : time(now);
    this.says.title = this.followed ? "Waits without any packet under way are shortened" : "";
    this.slider.setAttribute("aria-valuetext", this.says.textContent);
    this.port(moment);
  }

  choose(link) {
    if (!this.motion || !this.motion.ports[link]) return;
    this.chosen = link;
    if (this.which) this.which.value = link;
    this.paint();
  }

  /// Whose data is on its way through a port at a moment, the largest first.
  there(moment) {
    if (!this.watch) return [];
    const [a, b] = this.network.cables[this.chosen >> 1], [from, to] = this.chosen % 2 ? [b, a] : [a, b];
    const ends = this.motion.ends_ps, begin = moment ? ends[moment - 1] : 0, lowest = Math.min(...this.network.nodes.map(([, tier]) => tier));
    const host = (node) => this.network.nodes[node][1] === lowest, between = !host(from) && !host(to), ways = this.network.ways;
    if (between && !ways.known) return [make("p", {textContent: "Which messages cross a link between switches is not known where cables break: tidegate trace writes every packet."})];
    const crosses = ([, src, dst, , , , links]) => host(from) ? src === from : host(to) ? dst === to : links && links.includes(this.chosen);
    const own = this.messages.filter((of) => crosses(of) && of[4] <= ends[moment] && of[5] >= begin);
    own.sort((x, y) => y[3] - x[3]);
    const some = own.slice(0, 8).map(([message, src, dst, size]) => `${message} (${this.network.nodes[src][0]} → ${this.network.nodes[dst][0]}, ${bytes(size)})`);
    const more = own.length > 8 ? `, and ${own.length - 8} more` : "";
    const known = between ? ways.known : this.messages.length, of = known < this.network.messages ? ` of the ${known} that took longest` : "";
    const says = !between ? "On their way there" : ways.spread ? "Some of their packets may cross here" : "Their data crosses here";
    return [make("p", {textContent: own.length ? `${says}${of && ","}${of}: message ${some.join(", ")}${more}.` : `No message${of} is on its way there.`})];
  }

  /// The chosen port: what it holds now, and its queue over time.
  port(moment) {
    const card = $("port");
    const [queue, used] = this.motion.ports[this.chosen] || [];
    if (!queue) return card.replaceChildren();
    const name = this.name(this.chosen), most = Math.max(...queue), last = Math.max(1, queue.length - 1);
    const svg = draw("svg", {viewBox: "0 0 1000 100", preserveAspectRatio: "none", "aria-hidden": "true"});
    const points = queue.map((bytes, i) => `${(i / last * 1000).toFixed(1)} ${(98 - bytes / Math.max(1, most) * 94).toFixed(1)}`);
    svg.append(draw("path", {class: "band", d: `M0 98 L${points.join(" L")} L1000 98 Z`}), draw("path", {class: "line", d: `M${points.join(" L")}`}),
      draw("path", {class: "now", d: `M${moment / last * 1000} 0 V100`}));
    card.replaceChildren(make("p", {}, make("b", {textContent: name}), ` holds ${bytes(queue[moment])} of data, ${used[moment]} % used; at most ${bytes(most)} when it was sampled`), svg, ...this.there(moment));
  }

  play() {
    if (+this.slider.value >= +this.slider.max) this.slider.value = 0;
    const from = +this.slider.value, began = performance.now(), all = +this.slider.max;
    $("play").textContent = "Pause";
    const tick = (now) => {
      const moment = from + Math.floor((now - began) / 8000 * (all + 1));
      this.slider.value = Math.min(all, moment);
      this.paint();
      if (moment < all) this.frame = requestAnimationFrame(tick); else this.pause();
    };
    this.frame = requestAnimationFrame(tick);
  }

  pause() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    $("play").textContent = "Play";
  }
}

const digits = (n) => n >= 99.95 ? n.toFixed(0) : n >= 9.995 ? n.toFixed(1) : n.toFixed(2);
const scaled = (n, units) => {
  if (n === 0) return "0 " + units[0];
  let i = 0;
  while (n >= 999.5 && i < units.length - 1) { n /= 1000; i++; }
  return (i ? digits(n) : n.toFixed(0)) + " " + units[i];
};
const time = (ps) => scaled(ps, ["ps", "ns", "us", "ms", "s"]);
const bytes = (n) => scaled(n, ["B", "KB", "MB", "GB"]);
