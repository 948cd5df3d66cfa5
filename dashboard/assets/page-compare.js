/* Compare: the same canvas under several runs, or two paths over one canvas. */
"use strict";
(() => {
  const { Ground, PathView, html, fit } = window.MnistPro;
  const COLORS = ["#0072b2", "#c2460a", "#007a5a", "#a3457b"], NAMES = ["A", "B", "C", "D"];

  /* Two paths over one canvas: the common beginning grey, then what only one, only the other and both have seen. */
  class Overlay {
    constructor(element, scenes, ground, divergence) {
      Object.assign(this, { element, scenes, ground, divergence });
      this.views = scenes.map((scene, i) => new PathView(element, scene, ground, { color: COLORS[i], compact: true }));
    }

    resize(width, height) {
      const { width: w, height: h } = this.scenes[0].geometry;
      this.scale = Math.min(width / w, height / h);
      this.pen = fit(this.element, w * this.scale, h * this.scale);
      this.views.forEach((view) => { view.scale = this.scale; view.pen = this.pen; });
    }

    restyle() { this.views.forEach((view) => view.restyle()); }

    mask(view, glimpse) {
      const size = this.scenes[0].geometry.window, made = document.createElement("canvas");
      made.width = this.scenes[0].geometry.width; made.height = this.scenes[0].geometry.height;
      const pen = made.getContext("2d");
      for (let g = 0; g <= glimpse; g++) { const at = view.windows[g]; if (at) pen.fillRect(at[0], at[1], size, size); }
      return made;
    }

    /* Seen by the first and not by the second, striped. */
    only(first, second, color, slope) {
      const made = document.createElement("canvas"), pen = made.getContext("2d");
      made.width = first.width; made.height = first.height;
      pen.drawImage(first, 0, 0);
      pen.globalCompositeOperation = "destination-out"; pen.drawImage(second, 0, 0);
      pen.globalCompositeOperation = "source-in";
      pen.drawImage(this.stripes(made.width, made.height, color, slope), 0, 0);
      return made;
    }

    stripes(width, height, color, slope) {
      const made = document.createElement("canvas"), pen = made.getContext("2d");
      made.width = width; made.height = height;
      pen.fillStyle = pen.strokeStyle = color;
      pen.globalAlpha = 0.22; pen.fillRect(0, 0, width, height);
      pen.globalAlpha = 0.6; pen.lineWidth = 1;
      for (let x = -height; x < width + height; x += 8) { pen.beginPath(); pen.moveTo(x, 0); pen.lineTo(x + slope * height, height); pen.stroke(); }
      return made;
    }

    draw(glimpses, truth) {
      const [a, b] = this.views, { pen, scale: k } = this, { width, height } = this.scenes[0].geometry;
      const paint = (picture) => pen.drawImage(picture, 0, 0, width * k, height * k);
      pen.imageSmoothingEnabled = false;
      paint(truth ? a.truth : a.dim);
      this.views.forEach((view, i) => { view.reveal(glimpses[i]); paint(view.seen); });
      const seen = this.views.map((view, i) => this.mask(view, glimpses[i]));
      paint(this.only(seen[0], seen[1], COLORS[0], 1)); paint(this.only(seen[1], seen[0], COLORS[1], -1));
      a.drawSeams(pen, k);
      this.views.forEach((view, i) => {
        view.tint = (g) => (g <= (this.divergence ?? Infinity) ? "#7d8694" : COLORS[i]);
        view.drawPath(pen, k, glimpses[i]);
      });
    }
  }

  class Compare {
    constructor(root, { scenes, comparisons }, view) {
      Object.assign(this, { root, scenes, comparisons, moment: 0, truth: false, over: view === "over" });
      this.last = Math.max(...scenes.map((scene) => scene.moments.length)) - 1;
      this.moment = this.last;
      this.ground = new Ground(scenes[0]);
      this.ground.ready.catch(() => null).then(() => this.begin());
    }

    begin() {
      this.range = html("input", { type: "range", class: "mp-range", min: 0, max: this.last, value: this.moment, "aria-label": "Moment of all episodes", oninput: () => this.seek(Number(this.range.value)) });
      this.where = html("span", { class: "mp-where" });
      const button = (text, name, act) => html("button", { type: "button", class: "mp-button", "aria-label": name, title: name, onclick: act }, text);
      const check = html("input", { type: "checkbox", class: "mp-check", onchange: () => { this.truth = check.checked; this.draw(); } });
      const bar = html("div", { class: "mp-transport" }, button("|‹", "First", () => this.seek(0)), button("‹", "Back", () => this.seek(this.moment - 1)), button("›", "Forward", () => this.seek(this.moment + 1)), button("›|", "Last", () => this.seek(this.last)), this.range, this.where, html("label", { class: "mp-label" }, check, "show hidden ink"));
      this.cells = this.over ? [this.overlayCell()] : this.scenes.map((scene, i) => this.cell(scene, i));
      const columns = this.over ? 1 : this.scenes.length === 4 ? 2 : this.scenes.length;
      this.grid = html("div", { class: "compare-grid", style: `grid-template-columns: repeat(${columns}, minmax(0, 1fr))` }, ...this.cells.map((cell) => cell.element));
      this.root.replaceChildren(html("div", { class: "compare-bar" }, bar), this.grid, this.figures());
      this.onkey = (event) => this.key(event);
      document.addEventListener("keydown", this.onkey);
      this.onscheme = () => { this.cells.forEach((cell) => cell.view.restyle()); this.draw(); };
      document.addEventListener("mnistpro-scheme", this.onscheme);
      this.observer = new ResizeObserver(() => this.resize());
      this.observer.observe(this.root);
      this.resize();
      this.root.dataset.ready = "true";
    }

    destroy() {
      document.removeEventListener("keydown", this.onkey); document.removeEventListener("mnistpro-scheme", this.onscheme);
      if (this.observer) this.observer.disconnect();
    }

    title(scene, i) {
      const judged = { true: "✓ right", false: "✗ wrong" }[scene.correct] || "not judged";
      const open = html("a", { class: "mp-button", href: `/episode?${new URLSearchParams({ run: scene.run, episode: scene.episode })}` }, "open");
      return html("div", { class: "compare-title" }, html("b", { class: "compare-letter", style: this.over ? `background:${COLORS[i]}` : null }, NAMES[i]), html("span", { class: "name", title: scene.run }, scene.run), html("span", {}, `answered ${scene.answer ?? "nothing"}, ${judged}`), open);
    }

    cell(scene, i) {
      const canvas = html("canvas", {}), note = html("div", { class: "mp-note" }), box = html("div", { class: "mp-fit" }, canvas);
      const tone = { true: " compare-right", false: " compare-wrong" }[scene.correct] || "";
      const element = html("section", { class: `compare-cell${tone}`, "aria-label": `Run ${NAMES[i]}` }, this.title(scene, i), box, note);
      return { element, box, note, scene, view: new PathView(canvas, scene, this.ground, {}) };
    }

    overlayCell() {
      const canvas = html("canvas", {}), box = html("div", { class: "mp-fit" }, canvas), note = html("div", { class: "mp-note" });
      const key = html("div", { class: "mp-legend" }, html("span", {}, "grey line: the same moves"), html("span", {}, html("i", { class: "swatch swatch-a" }), "only A saw"), html("span", {}, html("i", { class: "swatch swatch-b" }), "only B saw"), html("span", {}, html("i", { class: "swatch" }), "both saw"));
      const element = html("section", { class: "compare-cell", "aria-label": "Two paths over one canvas" }, ...this.scenes.slice(0, 2).map((scene, i) => this.title(scene, i)), box, key, note);
      return { element, box, note, view: new Overlay(canvas, this.scenes.slice(0, 2), this.ground, this.comparisons[0] && this.comparisons[0].divergence_step) };
    }

    resize() {
      const tall = this.over ? Math.max(300, window.innerHeight - 460) : Math.max(220, Math.min(420, (window.innerHeight - 440) / (this.scenes.length === 4 ? 1.4 : 1)));
      for (const cell of this.cells) { cell.box.style.height = `${tall}px`; cell.view.resize(cell.box.clientWidth, tall); }
      this.draw();
    }

    glimpse(scene) { return scene.moments[Math.min(this.moment, scene.moments.length - 1)].glimpse ?? -1; }

    seek(moment) { this.moment = Math.min(Math.max(moment, 0), this.last); this.draw(); }

    draw() {
      this.range.value = this.moment;
      this.where.textContent = `moment ${this.moment} of ${this.last}`;
      if (this.over) { this.cells[0].view.draw(this.scenes.slice(0, 2).map((scene) => this.glimpse(scene)), this.truth); return; }
      for (const { view, scene, note } of this.cells) {
        const glimpse = this.glimpse(scene), seen = scene.tracks.coverage && scene.tracks.coverage[glimpse];
        view.draw({ glimpse, truth: this.truth });
        note.textContent = `glimpse ${glimpse} of ${scene.glimpses.length - 1}${seen == null ? "" : ` · ${Math.round(100 * seen)} % of the ink seen`}${this.moment >= scene.moments.length - 1 ? " · ended" : ""}`;
      }
    }

    key(event) {
      if (["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName) && event.target.type !== "range") return;
      const acts = { ArrowLeft: -1, ArrowRight: 1 };
      if (event.key in acts) { event.preventDefault(); this.seek(this.moment + acts[event.key]); }
      else if (event.key === "Home") this.seek(0);
      else if (event.key === "End") this.seek(this.last);
    }

    figures() {
      const names = { divergence_step: ["same moves at first", (v) => String(v)], seen_iou: ["area in common", share], ink_iou: ["ink in common", share], lev_actions: ["likeness of moves", share], lev_cells: ["likeness of places", share], dtw_px_mean: ["mean distance", (v) => `${v.toFixed(1)} px`], shape: ["shape", share], direction: ["direction", share], position: ["position", share] };
      const cell = (tag, text, title) => html(tag, { title }, text), columns = Object.entries(names);
      const hints = { seen_iou: "pixels seen by both over pixels seen by either", ink_iou: "stroke pixels seen by both over those seen by either", dtw_px_mean: "of windows aligned by dynamic time warping", shape: "MultiMatch", direction: "MultiMatch", position: "MultiMatch" };
      const head = html("tr", {}, cell("th", "paths"), ...columns.map(([key, [name]]) => cell("th", name, hints[key])));
      const value = (row, key, show) => (row[key] != null ? show(row[key]) : key === "divergence_step" && row.reasons.divergence_step === "never_reached" ? "all" : "–");
      const rows = this.comparisons.map((row) => html("tr", {}, cell("td", `${NAMES[row.a]} and ${NAMES[row.b]}`), ...columns.map(([key, [, show]]) => cell("td", value(row, key, show)))));
      return html("section", { class: "card compare-figures", "aria-label": "Similarity of the paths" }, html("table", {}, html("thead", {}, head), html("tbody", {}, ...rows)));
    }
  }

  function share(value) { return `${Math.round(100 * value)} %`; }

  let shown = null;

  async function mount(pick, view) {
    const root = document.getElementById("compare");
    if (!root) return;
    if (shown) shown.destroy();
    delete root.dataset.ready;
    root.replaceChildren(html("p", { class: "wait" }, "Loading the episodes…"));
    const query = new URLSearchParams();
    pick.forEach(([run, id]) => { query.append("run", run); query.append("episode", id); });
    try {
      const answer = await fetch(`/compare.json?${query}`), content = await answer.json();
      if (!answer.ok) throw new Error(content.error);
      shown = new Compare(root, content, view);
    } catch (error) {
      root.replaceChildren(html("p", { class: "wait", role: "alert" }, `These episodes cannot be compared: ${error.message}.`));
    }
  }

  window.dash_clientside.mnistpro.mountCompare = (pick, view) => {
    if (pick) setTimeout(() => mount(pick, view), 0);
    else if (document.getElementById("compare")) document.getElementById("compare").replaceChildren(html("p", { class: "wait" }, "Choose two to four runs that share a canvas: the same episodes under another model, memory or policy."));
    return window.dash_clientside.no_update;
  };
})();
