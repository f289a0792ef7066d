// The page: a scenario is a text or a name with settings on top, exactly as on the command line.
"use strict";
// Curves are told apart by eight colours in each of three kinds of line.
const COLOURS = 8, LOOKS = 3 * COLOURS, SHORT = 0.25;
const engine = new Engine(), fabric = new Fabric();
const state = {name: "incast", text: null, sets: new Map(), runs: [], checked: null, busy: false, held: null};
// A report that can be run again brings the run that it is of.
const given = JSON.parse($("given").textContent);
let about, editor;

const lines = (sets) => [...sets].map((pair) => pair.join("="));
const ownName = given && given.text !== null ? given.name : "scenario.toml";
const request = ({name, text, sets} = state) => ({name: text === null ? name : ownName, text, sets: lines(sets), files: given ? given.files : {}});
const asGiven = ({name, text, sets}) => given && name === given.name && text === given.text && lines(sets).join("\n") === given.sets.join("\n");
const reads = (texts) => new Map(texts.map((text) => [text.slice(0, text.indexOf("=")), text.slice(text.indexOf("=") + 1)]).filter(([key]) => key));
const says = (text) => { $("status").textContent = text; };
// What a link lacks stays in sight until another scenario is chosen.
const lacks = (text) => { $("lacks").hidden = !text; $("lacks").textContent = text; };
// All transports and what was run before them have room.
const runsMax = () => Math.max(LOOKS, about.transports.length + 1);
const looks = (one) => `k${one.colour % COLOURS} d${Math.floor(one.colour / COLOURS) % (LOOKS / COLOURS)}`;
const unused = (runs) => { let colour = 0; while (runs.some((one) => one.colour === colour)) colour++; return colour; };
const settings = (one) => [...one.sets].filter(([key]) => key !== "transport.kind").map((pair) => pair.join("="));
const called = (one) => one.text === null ? one.name : asGiven({...one, sets: reads(given ? given.sets : [])}) ? given.name : "your own";
// Runs of one traffic on one fabric differ in the transport alone.
const traffic = (one) => JSON.stringify([one.text === null ? one.name : one.text, settings(one).sort()]);
const isShown = ({name, text, sets}) => name === state.name && text === state.text && lines(sets).sort().join("\n") === lines(state.sets).sort().join("\n");
const set = (key, value) => { state.sets.delete(key); if (value !== null) state.sets.set(key, value); };

// --- What the sliders change -----------------------------------------------------------------------

const ladder = (units) => units.flatMap((unit) => [1, 2, 5, 10, 20, 50, 100, 200, 500].map((n) => `${n}${unit}`));
const SIZES = ladder(["KB", "MB"]), BUFFERS = [...ladder(["KB"]).slice(3), "1MB", "2MB", "5MB", "10MB", "20MB"];
const RATES = ["1Gbps", "10Gbps", "25Gbps", "40Gbps", "50Gbps", "100Gbps", "200Gbps", "400Gbps", "800Gbps"];
const COUNTS = [1, 2, 5].flatMap((n) => [10, 100, 1000, 10000].map((ten) => n * ten)).sort((a, b) => a - b);
const counting = (from, to) => Array.from({length: Math.max(1, to - from + 1)}, (_, i) => from + i);
const LOADS = counting(1, 19).map((n) => (n / 20).toFixed(2));
const worth = (text) => {
  const [, n, unit] = String(text).match(/^([\d._]+)\s*([A-Za-z]*)/) || [0, NaN, ""];
  return +String(n).replace(/_/g, "") * ({K: 1e3, M: 1e6, G: 1e9, T: 1e12}[unit[0]] || 1);
};
const sliders = (checked) => {
  const work = checked.resolved.workload, one = work.length === 1 ? work[0] : {};
  const {topology, switch: ports} = checked.resolved;
  return [
    ["senders", "workload.senders", one.senders, counting(1, one.kind === "incast" ? checked.hosts - 1 : 512)],
    ["size of a message", "workload.size", one.size, SIZES],
    ["load of the hosts' lines", "workload.load", one.load, LOADS],
    ["messages", "workload.messages", one.messages, COUNTS],
    ["rate of a host's line", "topology.host_rate", topology.host_rate, RATES],
    ["spines", "topology.spines", topology.spines, counting(1, 16)],
    ["buffer of a port", "switch.buffer", ports.buffer, BUFFERS],
  ].filter(([, , value]) => ["string", "number"].includes(typeof value) && Number.isFinite(worth(value)));
};

const nearest = (values, value) => {
  const far = (one) => Math.abs(Math.log(worth(one) / worth(value)));
  return values.reduce((best, one, i) => (far(one) < far(values[best]) ? i : best), 0);
};

const showSliders = (checked) => {
  const wanted = sliders(checked), held = document.activeElement && document.activeElement.dataset.key;
  const names = wanted.map(([, key, , values]) => key + values.length).join();
  if ($("sliders").dataset.names !== names) {
    $("sliders").dataset.names = names;
    $("sliders").replaceChildren(...wanted.map(([name, key, , values]) => {
      const slider = make("input", {type: "range", min: 0, max: values.length - 1});
      const output = make("span", {className: "value"});
      slider.dataset.key = key;
      slider.addEventListener("input", () => {
        const value = values[slider.value];
        output.textContent = value;
        set(key, String(value));
        changed();
      });
      return make("label", {}, make("span", {}, name, output), slider);
    }));
    const one = checked.resolved.workload.length === 1 ? checked.resolved.workload[0] : {};
    if (about.sizes.includes(one.sizes)) {
      const pick = make("select", {}, ...about.sizes.map((name) => make("option", {value: name, textContent: name})));
      pick.dataset.key = "workload.sizes";
      pick.addEventListener("change", () => { set("workload.sizes", pick.value); changed(); });
      $("sliders").prepend(make("label", {}, "sizes of messages", pick));
    }
    const seed = make("input", {type: "number", min: 0, step: 1});
    seed.dataset.key = "run.seed";
    seed.addEventListener("input", () => { if (seed.value !== "") { set("run.seed", seed.value); changed(); } });
    $("sliders").append(make("label", {}, "seed of all chance", seed));
  }
  for (const [, key, value, values] of wanted) {
    const slider = document.querySelector(`[data-key="${key}"]`);
    if (key !== held) slider.value = nearest(values, value);
    slider.parentNode.querySelector(".value").textContent = value;
    slider.setAttribute("aria-valuetext", value);
  }
  const seed = document.querySelector('[data-key="run.seed"]'), sizes = document.querySelector('[data-key="workload.sizes"]');
  if (held !== "run.seed") seed.value = checked.resolved.run.seed;
  if (sizes) sizes.value = checked.resolved.workload[0].sizes;
};

// What was found stays in sight after a change, and says what it is of.
const showStale = () => {
  const one = state.runs.find(({result}) => result === state.last), old = one && !isShown(one);
  state.old = old ? `${called(one)} under ${one.result.transport}, before the change` : null;
  $("results").classList.toggle("stale", Boolean(old));
  $("stale").hidden = !old;
  if (old) $("stale").textContent = `These results are of ${state.old}. Run makes those of what is set now.`;
  $("messages-of").textContent = old ? `of ${state.old}` : "";
};

const showSets = () => {
  $("sets").replaceChildren(...[...state.sets].map(([key, value]) => {
    const gone = make("button", {type: "button", textContent: "×", ariaLabel: `Without ${key}=${value}`});
    gone.addEventListener("click", () => { set(key, null); changed(); });
    return make("li", {}, `${key}=${value}`, gone);
  }));
};

// --- Before a run ----------------------------------------------------------------------------------

let timer = 0, asked = 0;
// A result that is asked for again: it is shown over the fabric that it ran on.
let back = null;
const changed = () => {
  showSets();
  showStale();
  clearTimeout(timer);
  timer = setTimeout(check, 150);
};

const check = async () => {
  const mine = ++asked;
  writeHash();
  if (state.busy) return; // it is looked at when the run is over
  try {
    const checked = await engine.ask({ask: "check", ...request()});
    if (mine !== asked) return;
    state.checked = checked;
    $("wrong").hidden = true;
    editor.mark([]);
    $("transport").value = checked.transport;
    $("of-transport").textContent = (about.transports.find(([name]) => name === checked.transport) || [])[1] || "";
    $("figures").replaceChildren(...checked.figures.flatMap(([name, value]) => [make("dt", {textContent: name}), make("dd", {textContent: value})]));
    $("command").textContent = checked.command;
    showSliders(checked);
    const shape = JSON.stringify(checked.network);
    const first = state.shape === undefined;
    if (shape !== state.shape) { state.shape = shape; fabric.show(checked.network); }
    if (first && given) fabric.run(given.told.motion);
    if (back && state.runs.some(({result}) => result === back)) showRun(back);
    back = null;
    const seconds = checked.seconds * 3;
    says(seconds < 1 ? "Ready." : `Ready. It may take ${seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} minutes`} here.`);
    if (document.body.dataset.state === "starting") document.body.dataset.state = "ready";
    if ($("live").checked && checked.seconds < SHORT && !(first && asGiven(state))) await run(true);
    else if (!state.last && !given) $("title").textContent = "Nothing has run yet: what takes long waits for the button.";
  } catch (wrong) {
    if (mine === asked) showWrong(wrong);
  }
};

const showWrong = (wrong) => {
  if (!wrong.error) throw wrong;
  $("wrong").hidden = false;
  $("wrong").textContent = wrong.error;
  says(wrong.stopped ? wrong.error : "There is something to mend first.");
  const own = state.text === null ? `built-in ${state.name}` : ownName;
  editor.mark((wrong.places || []).filter(({at}) => at && at[2] === own).map(({at, message}) => [at[0], message]));
};

// --- A run -----------------------------------------------------------------------------------------

const busy = (is) => {
  state.busy = is;
  document.body.dataset.state = is ? "running" : "idle";
  $("cancel").disabled = !is;
  $("run").disabled = $("all").disabled = is;
  if (!is) $("progress").value = 0;
};

const run = async (draft = false, sets = state.sets) => {
  busy(true);
  const began = performance.now(), mine = asked, {name, text} = state, one = {name, text, sets: new Map(sets), draft};
  says("Running …");
  const progress = ({now, until, hops, done, total}) => {
    $("progress").value = Math.max(total ? done / total : 0, Math.min(1, now / until));
    const rate = hops / (performance.now() - began) / 1e3;
    says(`${time(now * 1e6)} simulated, ${done} of ${total} messages, ${rate.toFixed(1)} million packet-hops per second`);
  };
  try {
    const result = await engine.ask({ask: "run", ...request(one)}, progress);
    const seconds = (performance.now() - began) / 1e3;
    // What came of moving a slider gives way to the next of its kind, and stays once something is run by hand.
    if (!draft) for (const one of state.runs) one.draft = false;
    const kept = state.runs.filter((one) => !one.recorded && !one.draft && (one.text !== text || one.result.command !== result.command));
    const recorded = state.runs.filter((one) => one.recorded);
    const others = [...recorded, ...kept.slice(-runsMax() + 1 + recorded.length)];
    state.runs = [...others, Object.assign(one, {result, colour: unused(others)})];
    state.held = result;
    says(`Ran in ${seconds.toFixed(2)} s.`);
    $("wrong").hidden = true;
    showRun(result);
    if (asGiven(one)) showSame(result);
    return true;
  } catch (wrong) {
    state.held = null;
    showWrong(wrong);
    return false;
  } finally {
    busy(false);
    // What changed meanwhile is looked at now.
    if (mine !== asked) changed();
  }
};

const every = async () => {
  const sets = new Map(state.sets);
  for (const [name] of about.transports) {
    sets.set("transport.kind", name);
    // A transport may refuse a scenario; the others still run. A cancel ends all.
    if (!await run(false, sets) && $("status").textContent === "Cancelled.") return;
  }
};

// What was recorded must come out again, or the page says that it did not.
const showSame = ({fingerprint}) => {
  const {told, sources, version} = given, same = fingerprint === told.fingerprint;
  $("same").hidden = false;
  $("same").className = same ? "good" : "bad";
  $("same").textContent = same
    ? "Run again in this page: the same sixteen digits as recorded."
    : `Run again in this page, it has the fingerprint ${fingerprint}, and ${told.fingerprint} is on record: the engine in this page is of other sources (${about.sources}) than tidegate ${version}, which recorded it (${sources}).`;
};

const showRun = (result) => {
  state.last = result;
  document.body.dataset.fingerprint = result.fingerprint;
  $("title").textContent = `${result.transport}: ${result.title}`;
  const digits = make("code", {textContent: result.fingerprint});
  const whose = given && result === given.told ? `, as recorded by tidegate ${given.version}` : `, as ${about.version} of the command prints it`;
  // A run may come to the end that its scenario sets before its messages do.
  const status = result.status === "complete" && result.unfinished ? `${result.unfinished} messages did not finish` : `Status: ${result.status}`;
  $("found").replaceChildren("Fingerprint ", digits, `${whose}. ${status}.`);
  $("same").hidden = true;
  $("warnings").replaceChildren(...result.warnings.map((text) => make("li", {textContent: text})));
  if (state.shape && !fabric.network) fabric.show(state.checked.network);
  fabric.run(result.motion);
  showRuns();
  showCurves();
  showSlowest();
  showStale();
  $("why").hidden = true;
  if ($("whole").open) $("report").srcdoc = result.report;
};

const COLUMNS = ["p50", "p99", "max", "slowdown p99", "max queue", "drops", "goodput", "unfinished"];
const showRuns = () => {
  const used = COLUMNS.filter((column) => state.runs.some(({result}) => result.cells[column]));
  const head = make("tr", {}, make("th", {textContent: "run", scope: "col"}), ...used.map((c) => make("th", {textContent: c, scope: "col"})), make("th", {textContent: "fingerprint", scope: "col"}));
  $("runs").tHead.replaceChildren(head);
  const bests = new Map();
  for (const one of state.runs) {
    if (bests.has(traffic(one))) continue;
    const rivals = state.runs.filter((other) => traffic(other) === traffic(one));
    bests.set(traffic(one), Object.fromEntries(used.map((column) => {
      const cells = rivals.map(({result}) => result.cells[column] || []).filter(([, n]) => typeof n === "number");
      const numbers = cells.map(([, n]) => n), least = Math.min(...numbers);
      // A lower bound is no best, and who may be any higher does not beat one either.
      const bound = cells.some(([text, n]) => text.startsWith("≥") && n <= least);
      return [column, numbers.length > 1 && Math.max(...numbers) > least && !bound ? least : null];
    })));
  }
  $("runs").tBodies[0].replaceChildren(...[...state.runs].reverse().map((one) => {
    const {result} = one, best = bests.get(traffic(one));
    const name = make("button", {type: "button", className: "link", textContent: result.transport});
    const sets = settings(one).join(" ");
    const row = make("tr", {className: `${looks(one)}${result === state.last ? " now" : ""}`}, make("td", {}, make("i", {className: "swatch"}), name, make("small", {textContent: `${one.recorded ? "recorded: " : ""}${called(one)} ${sets}`})));
    for (const column of used) {
      const [text, number] = result.cells[column] || ["–", null];
      row.append(make("td", {textContent: text, className: number !== null && number === best[column] ? "best" : ""}));
    }
    row.append(make("td", {}, make("code", {textContent: result.fingerprint})));
    name.addEventListener("click", () => {
      Object.assign(state, {name: one.name, text: one.text, sets: new Map(one.sets)});
      back = result;
      showScenario();
      changed();
    });
    return row;
  }));
};

const showCurves = () => {
  const all = state.runs.filter(({result}) => result.fct.length), shown = all.filter((one) => !one.away);
  $("curves").hidden = !all.length;
  if (!all.length) return;
  const times = (shown.length ? shown : all).flatMap(({result}) => result.fct), low = Math.max(1, times.reduce((a, b) => Math.min(a, b))), high = Math.max(low * 1.01, times.reduce((a, b) => Math.max(a, b)));
  const x = (ps) => Math.round(1000 * Math.log(Math.max(ps, low) / low) / Math.log(high / low));
  const svg = draw("svg", {viewBox: "0 0 1000 1000", preserveAspectRatio: "none", role: "img", "aria-label": "Share of messages that ended within a time, for each run"});
  svg.append(draw("path", {class: "grid", d: "M0 0 H1000 M0 500 H1000 M0 1000 H1000"}));
  // A curve ends where messages did not finish.
  for (const one of shown) {
    const {fct, ended = 1} = one.result, last = Math.max(1, fct.length - 1);
    const points = fct.map((ps, i) => `${x(ps)} ${Math.round(1000 - (fct.length < 2 ? 1 : i / last) * ended * 1000)}`);
    svg.append(draw("path", {class: `line ${looks(one)}`, "data-name": [one.result.transport, ...settings(one)].join(" "), d: `M${x(fct[0])} 1000L${points.join("L")}`}));
  }
  const ticks = innerWidth < 600 ? 2 : 4, label = (side, share, textContent) => {
    const span = make("span", {textContent});
    span.style[side] = `${100 * share}%`;
    return span;
  };
  const ys = make("div", {className: "ys"}, ...[1, 0.5, 0].map((share) => label("bottom", share, `${100 * share} %`)));
  const xs = make("div", {className: "xs"}, ...counting(0, ticks).map((i) => label("left", i / ticks, time(low * Math.pow(high / low, i / ticks)))));
  const plot = make("div", {className: "plot", tabIndex: 0, ariaLabel: "Completion times; arrow keys read them, plus and minus show a part"}, make("div", {className: "ytitle", textContent: "share of messages"}), ys, make("div", {className: "area"}, svg), xs);
  [plot.dataset.x, plot.dataset.y] = [`${low},${high},log,time`, "0,1,lin,share"];
  $("cdf").replaceChildren(plot);
  readable(plot);
  $("legend").replaceChildren(...all.map((one, i) => {
    const name = make("button", {type: "button", title: "Show or hide", ariaPressed: String(!one.away)}, make("i", {className: "swatch"}), [one.result.transport, ...settings(one)].join(" "));
    name.addEventListener("click", () => {
      one.away = !one.away;
      showCurves();
      $("legend").children[i].firstChild.focus();
    });
    return make("li", {className: `${looks(one)}${one.away ? " away" : ""}`}, name);
  }));
};

// --- Messages --------------------------------------------------------------------------------------

const showSlowest = () => {
  if (!state.last) return;
  const wanted = $("filter").value.trim().toLowerCase();
  const rows = state.last.slowest.filter((row) => !wanted || row.slice(1).join(" ").toLowerCase().includes(wanted));
  const head = ["message", "from", "to", "size", "started", "took", "slowdown", "tag"];
  const tagged = state.last.slowest.some((row) => row[7]);
  const cut = tagged ? 8 : 7;
  $("slowest").tHead.replaceChildren(make("tr", {}, ...head.slice(0, cut).map((name) => make("th", {textContent: name, scope: "col"})), make("th", {textContent: "why", scope: "col"})));
  $("slowest").tBodies[0].replaceChildren(...rows.map((row) => {
    const ask = make("button", {type: "button", className: "link", textContent: "why?", ariaLabel: `Why did message ${row[0]} take so long?`});
    ask.addEventListener("click", () => why(row[0]));
    return make("tr", {}, ...row.slice(0, cut).map((text) => make("td", {textContent: text})), make("td", {}, ask));
  }));
  $("message").max = state.last.messages - 1;
};

const why = async (message) => {
  if (state.busy) return;
  const mine = asked;
  busy(true);
  says("Running again with an eye on this message …");
  try {
    const one = state.runs.find(({result}) => result === state.last);
    if (state.held !== state.last && one) {
      // The engine has not run what is shown: it was recorded, or another run ended the engine.
      const again = await engine.ask({ask: "run", ...request(one)});
      state.held = state.last;
      if (asGiven(one)) showSame(again);
    }
    const found = await engine.ask({ask: "why", message});
    $("why").hidden = false;
    $("why-title").textContent = `Why did message ${message}${state.old ? ` of ${state.old},` : ""} take so long?`;
    $("why-says").textContent = found.sentence;
    $("why-text").textContent = found.text;
    $("why-page").srcdoc = found.report;
    $("why").scrollIntoView({behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth"});
    says("Ready.");
  } catch (wrong) {
    state.held = null;
    showWrong(wrong);
  } finally {
    busy(false);
    // What changed meanwhile is looked at now.
    if (mine !== asked) changed();
  }
};

// --- Links that carry a scenario -------------------------------------------------------------------

const through = async (stream, bytes) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
const pack = async (text) => {
  const packed = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text));
  return btoa(String.fromCharCode(...packed)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
};
const unpack = async (coded) => {
  const packed = Uint8Array.from(atob(coded.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
  return new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), packed));
};

const hash = async () => {
  const parts = new URLSearchParams();
  if (state.text === null) parts.append("from", state.name); else parts.append("toml", await pack(state.text));
  for (const [key, value] of state.sets) parts.append("set", `${key}=${value}`);
  return "#" + parts;
};
const writeHash = async () => {
  const text = await hash();
  if (text === location.hash) return;
  state.written = text;
  history.replaceState(null, "", text);
};
const readHash = async () => {
  const parts = new URLSearchParams(location.hash.slice(1));
  const name = parts.get("from"), toml = parts.get("toml");
  if (given && name === null && toml === null) return Object.assign(state, {name: given.name, text: given.text, sets: reads(given.sets)});
  state.sets = reads(parts.getAll("set"));
  const known = about.scenarios.some(([known]) => known === name);
  state.name = known ? name : "incast";
  state.text = null;
  lacks(name !== null && !known ? `This link names the scenario "${name.slice(0, 40)}", which is not there. This is incast instead.` : "");
  if (toml !== null) try { state.text = await unpack(toml); } catch { lacks("This link is cut short or damaged: its scenario cannot be read. This is incast instead."); }
  if (given && state.text !== null) state.name = given.name;
};

// --- The page --------------------------------------------------------------------------------------

const showScenario = () => {
  const [, summary, text] = state.text === null ? about.scenarios.find(([name]) => name === state.name) : [];
  $("scenario").value = state.text === null ? state.name : "";
  $("summary").textContent = state.text === null ? summary : state.text === (given || {}).text ? `The text of ${given.name}, as recorded.` : "Your own text, below.";
  editor.text = state.text === null ? text : state.text;
  if (state.text !== null) $("edit").open = true;
};

// A report within this page: as high as what it holds where it is the page's main thing, and its links lead within it.
const framed = (frame, whole) => frame.addEventListener("load", () => {
  const inside = frame.contentDocument;
  if (!inside || !inside.body) return;
  if (whole) {
    const fit = () => { frame.style.height = `${Math.ceil(inside.body.getBoundingClientRect().height) + 4}px`; };
    // Its own observer, and a moment later: a height set while sizes are told is one more size to tell.
    new frame.contentWindow.ResizeObserver(() => setTimeout(fit)).observe(inside.body);
    fit();
  }
  inside.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]'), to = link && inside.getElementById(link.getAttribute("href").slice(1));
    if (!link) return;
    event.preventDefault();
    if (to && "open" in to) to.open = true;
    if (to) to.scrollIntoView();
  });
});

// What was recorded is there at once, before the engine is.
const showGiven = () => {
  document.body.classList.add("live");
  Object.assign(state, {name: given.name, text: given.text, sets: reads(given.sets)});
  state.runs = [{...state, result: given.told, draft: false, recorded: true, colour: 0}];
  $("whole").open = true;
  document.querySelector("header a").addEventListener("click", (event) => {
    event.preventDefault();
    $("controls").scrollIntoView();
    $("transport").focus({preventScroll: true});
  });
  showRun(given.told);
};

const begin = async () => {
  framed($("report"), given);
  framed($("why-page"), false);
  if (given) showGiven();
  about = await engine.ask({ask: "about"});
  editor = new Editor(about.schema, () => {
    state.text = editor.text;
    if (given) state.name = given.name;
    $("scenario").value = "";
    $("summary").textContent = "Your own text, below.";
    lacks("");
    changed();
  });
  $("scenario").replaceChildren(make("option", {value: "", textContent: given && given.text !== null ? given.name : "your own", disabled: !given || given.text === null}), ...about.scenarios.map(([name]) => make("option", {value: name, textContent: name})));
  $("transport").replaceChildren(...about.transports.map(([name]) => make("option", {value: name, textContent: name})));
  $("keys").replaceChildren(...about.keys.filter((key) => key.includes(".")).map((key) => make("option", {value: key + "="})));
  $("about").textContent = `tidegate ${about.version}, engine of sources ${about.sources}. This page asks no server for anything.`;
  $("scenario").addEventListener("change", () => {
    const kind = state.sets.get("transport.kind"), name = $("scenario").value;
    if (name === "") Object.assign(state, {name: given.name, text: given.text, sets: reads(given.sets)});
    else Object.assign(state, {name, text: null, sets: new Map(kind ? [["transport.kind", kind]] : [])});
    lacks("");
    showScenario();
    changed();
  });
  $("transport").addEventListener("change", () => { set("transport.kind", $("transport").value); changed(); });
  $("controls").addEventListener("submit", (event) => { event.preventDefault(); if (!state.busy) run(); });
  document.addEventListener("keydown", (event) => { if (event.key === "Enter" && event.ctrlKey && !state.busy) run(); });
  $("all").addEventListener("click", every);
  $("cancel").addEventListener("click", () => engine.stop("Cancelled."));
  const add = () => {
    const [, key, value] = $("setting").value.match(/^\s*([^=\s]+)\s*=\s*(.+?)\s*$/) || [];
    if (!key) return says("A setting is written like workload.size=20KB.");
    set(key, value);
    $("setting").value = "";
    changed();
  };
  $("add").addEventListener("click", add);
  $("setting").addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.ctrlKey) { event.preventDefault(); add(); } });
  $("filter").addEventListener("input", showSlowest);
  $("ask").addEventListener("click", () => why(+$("message").value));
  $("whole").addEventListener("toggle", () => { if ($("whole").open && state.last) $("report").srcdoc = state.last.report; });
  $("copy").addEventListener("click", async () => {
    const link = location.href.split("#")[0] + await hash();
    try { await navigator.clipboard.writeText(link); says("Copied."); } catch { says(`Copy it from the address line: it carries the scenario.`); }
  });
  addEventListener("hashchange", async () => { if (location.hash !== state.written && /^#(from|toml)=/.test(location.hash)) { await readHash(); showScenario(); changed(); } });
  await readHash();
  showScenario();
  showSets();
  await check();
};
begin().catch((wrong) => { says(wrong.error || String(wrong)); document.body.dataset.state = "broken"; });
