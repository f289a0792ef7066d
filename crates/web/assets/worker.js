// The engine's own thread. It gets the engine's bytes once, then one request at a time.
"use strict";
let exports = null, asked = null, started = null;

const text = (at, length) => new TextDecoder().decode(new Uint8Array(exports.memory.buffer, at, length));

const answer = (request) => {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const room = exports.tidegate_room(bytes.length);
  new Uint8Array(exports.memory.buffer, room, bytes.length).set(bytes);
  const length = exports.tidegate_answer();
  return text(exports.tidegate_text(), length);
};

const start = async (packed) => {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const bytes = await new Response(stream).arrayBuffer();
  let told = 0;
  const progress = (now, until, hops, done, total) => {
    const at = performance.now();
    if (at - told < 60) return;
    told = at;
    postMessage({id: asked, progress: {now, until, hops, done, total}});
  };
  const {instance} = await WebAssembly.instantiate(bytes, {tidegate: {progress}});
  exports = instance.exports;
};

onmessage = async ({data}) => {
  try {
    if (data.engine) started = start(data.engine);
    await started;
    if (data.engine) return;
    asked = data.id;
    postMessage({id: data.id, answer: JSON.parse(answer(data.request))});
  } catch (error) {
    // A panic leaves its words behind; the instance is of no use after it.
    let why = String(error);
    if (exports && exports.tidegate_panic()) why = text(exports.tidegate_panic_text(), exports.tidegate_panic());
    postMessage({id: data.id, ended: why});
  }
};
