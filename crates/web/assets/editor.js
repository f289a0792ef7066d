// The scenario as text: names of keys and values where the cursor is, and marks at lines that are wrong.
"use strict";
class Editor {
  constructor(schema, changed) {
    [this.schema, this.area, this.list, this.changed] = [schema, $("toml"), $("words"), changed];
    this.words = [];
    this.area.addEventListener("input", () => { this.changed(); this.suggest(false); });
    this.area.addEventListener("blur", () => this.hide());
    this.area.addEventListener("scroll", () => { $("marks").style.transform = `translateY(${-this.area.scrollTop}px)`; this.hide(); });
    this.area.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("mousedown", (event) => {
      event.preventDefault();
      const row = event.target.closest("li");
      if (row) this.take([...this.list.children].indexOf(row));
    });
  }

  get text() { return this.area.value; }
  set text(text) { this.area.value = text; this.mark([]); this.hide(); }

  /// Marks lines, `[line, message]` each.
  mark(places) {
    $("marks").replaceChildren(...places.map(([line, message]) => {
      const mark = make("i", {title: message});
      mark.style.top = `calc(${line - 1} * var(--line) + 8px)`;
      return mark;
    }));
    this.area.setAttribute("aria-invalid", places.length > 0);
  }

  /// The table that the cursor is in, its kind, and what stands before the cursor in its line.
  place() {
    const before = this.text.slice(0, this.area.selectionStart);
    const line = before.slice(before.lastIndexOf("\n") + 1);
    let table = "", kind = null, here = false;
    for (const row of this.text.split("\n")) {
      const header = row.match(/^\s*\[\[?\s*([^\]]+?)\s*\]/);
      if (header) { if (here) break; [table, kind] = [header[1], null]; }
      const said = row.match(/^\s*kind\s*=\s*"([^"]*)"/);
      if (said) kind = said[1];
      // The text up to the cursor is walked first; then the kind may stand below it.
      this.walked = (this.walked || 0) + row.length + 1;
      if (!here && this.walked > before.length) here = true;
    }
    this.walked = 0;
    return {line, table, kind};
  }

  /// What the schema says of a table.
  table(name) {
    let at = this.schema;
    for (const part of name ? name.match(/"[^"]*"|[^.]+/g) : []) {
      at = at.properties && at.properties[part.trim().replace(/"/g, "")];
      if (!at) return null;
    }
    return at;
  }

  /// Words that fit here: `{show, put, says}`, and how many letters of them are written.
  fitting() {
    const {line, table, kind} = this.place();
    const header = line.match(/^\s*\[\[?\s*([\w.+"-]*)$/);
    if (header) {
      const names = [];
      for (const [name, of] of Object.entries(this.schema.properties)) {
        const types = [].concat(of.type);
        if (!types.includes("object")) continue;
        names.push({show: name, put: name + (types.includes("array") ? "]]" : "]"), says: of.description || ""});
        for (const [sub, below] of Object.entries(of.properties || {}))
          if (below.type === "object") names.push({show: `${name}.${/^[\w-]+$/.test(sub) ? sub : `"${sub}"`}`, put: `${name}.${/^[\w-]+$/.test(sub) ? sub : `"${sub}"`}]`, says: below.description || ""});
      }
      return [names.filter((w) => w.show.startsWith(header[1])), header[1].length];
    }
    const of = this.table(table);
    if (!of || line.includes("#")) return [[], 0];
    const value = line.match(/^\s*([\w."+-]+)\s*=\s*("?[^"]*)$/);
    if (value) {
      const field = of.properties[value[1]];
      const words = field ? Editor.values(field) : [];
      const found = words.filter((w) => w.show.startsWith(value[2]) && w.show !== value[2]);
      return [found, value[2].length];
    }
    const key = line.match(/^\s*([\w-]*)$/);
    if (!key) return [[], 0];
    const rule = (of.allOf || []).find((rule) => rule.if && rule.if.properties.kind.const === kind);
    const allowed = rule && rule.then.propertyNames.enum;
    const names = Object.entries(of.properties)
      .filter(([name, field]) => name.startsWith(key[1]) && field.type !== "object" && (!allowed || allowed.includes(name)))
      .map(([name, field]) => ({show: name, put: name + " = ", says: field.description || ""}));
    return [names, key[1].length];
  }

  /// The words that a field takes.
  static values(field) {
    const all = [field, ...(field.anyOf || []), ...(field.oneOf || [])];
    const words = [];
    for (const one of all) {
      for (const value of one.enum || []) words.push(JSON.stringify(value));
      for (const value of one.examples || []) words.push(JSON.stringify(value));
      if (one.type === "boolean") words.push("true", "false");
      if (one.default !== undefined && one.default !== null) words.push(JSON.stringify(one.default));
    }
    return [...new Set(words)].map((word) => ({show: word, put: word, says: ""}));
  }

  suggest(asked) {
    const [words, typed] = this.fitting();
    if (!words.length || (!asked && !typed)) return this.hide();
    [this.words, this.typed, this.chosen] = [words.slice(0, 60), typed, 0];
    this.list.replaceChildren(...this.words.map((word, i) => make("li", {id: `word${i}`, role: "option"},
      make("b", {textContent: word.show}), make("span", {textContent: word.says}))));
    const before = this.text.slice(0, this.area.selectionStart), row = before.split("\n").length;
    this.list.style.top = `calc(${row} * var(--line) + 10px - ${this.area.scrollTop}px)`;
    this.list.hidden = false;
    this.area.setAttribute("aria-expanded", "true");
    this.show();
  }

  show() {
    [...this.list.children].forEach((row, i) => row.setAttribute("aria-selected", i === this.chosen));
    this.area.setAttribute("aria-activedescendant", `word${this.chosen}`);
    const row = this.list.children[this.chosen];
    this.list.scrollTop = row.offsetTop - this.list.clientHeight / 2;
  }

  hide() {
    this.list.hidden = true;
    this.area.setAttribute("aria-expanded", "false");
    this.area.removeAttribute("aria-activedescendant");
  }

  take(which) {
    const word = this.words[which], at = this.area.selectionStart;
    this.area.setRangeText(word.put, at - this.typed, at, "end");
    this.hide();
    this.changed();
  }

  key(event) {
    if (event.key === " " && event.ctrlKey) { event.preventDefault(); return this.suggest(true); }
    if (this.list.hidden) return;
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (step) this.chosen = (this.chosen + step + this.words.length) % this.words.length;
    else if (event.key === "Enter" || event.key === "Tab") this.take(this.chosen);
    else if (event.key === "Escape") this.hide();
    else return;
    event.preventDefault();
    if (step) this.show();
  }
}
