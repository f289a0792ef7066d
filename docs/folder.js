// A browser gives no worker to a page that was opened from a folder. The script of the search runs in a frame then.
"use strict";
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      const tell = (target, data) => setTimeout(() => target.dispatchEvent(new MessageEvent("message", {data})));
      // A worker gets a copy of what was sent, and so does the page: a later change on one side is not seen on the other.
      inside.postMessage = (data) => tell(this, structuredClone(data));
      this.addEventListener("message", (event) => this.onmessage?.(event));
      const script = inside.document.createElement("script");
      const ready = new Promise((resolve, reject) => Object.assign(script, {src: new URL(url, location), onload: resolve, onerror: reject}));
      ready.catch((event) => this.onerror?.(event));
      this.postMessage = (data) => {
        const copy = inside.structuredClone(data);
        ready.then(() => tell(inside, copy), () => {});
      };
      inside.document.body.append(script);
    }
    terminate() { this.frame.remove(); }
  };
