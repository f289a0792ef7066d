// The engine behind a promise: a worker made of a text in this page, so that no file and no server is asked.
"use strict";
const $ = (id) => document.getElementById(id);
const make = (tag, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
};

class Engine {
  constructor() {
    const coded = atob($("engine").textContent.trim());
    this.bytes = Uint8Array.from(coded, (c) => c.charCodeAt(0));
    this.url = URL.createObjectURL(new Blob([$("worker").textContent], {type: "text/javascript"}));
    this.next = 1;
    this.start();
  }

  start() {
    this.waiting = new Map();
    this.worker = new Worker(this.url);
    this.worker.onmessage = ({data}) => this.heard(data);
    this.worker.onerror = (event) => this.heard({ended: event.message});
    this.worker.postMessage({engine: this.bytes});
  }

  heard({id, answer, progress, ended}) {
    const asked = this.waiting.get(id);
    if (progress) { if (asked && asked.progress) asked.progress(progress); return; }
    if (ended !== undefined) { this.stop(`The engine stopped: ${ended}`); return; }
    if (!asked) return;
    this.waiting.delete(id);
    if (answer.error !== undefined) asked.fail(answer); else asked.done(answer);
  }

  /// The answer to a request; fails with `{error}`.
  ask(request, progress) {
    const id = this.next++;
    return new Promise((done, fail) => {
      this.waiting.set(id, {done, fail, progress});
      this.worker.postMessage({id, request});
    });
  }

  /// Ends whatever runs, and starts anew. What it was asked fails with this reason.
  stop(reason) {
    this.worker.terminate();
    const waiting = [...this.waiting.values()];
    this.start();
    for (const asked of waiting) asked.fail({error: reason, stopped: true});
  }
}
