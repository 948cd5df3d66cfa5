/* The player: one episode, everything synced to one moment. A moment is a step with the evidence behind it. */
"use strict";
(() => {
  const { Ground, PathView, MaskedView, Timeline, Posterior, panelName, html } = window.MnistPro;
  const ARROWS = { up: "↑", down: "↓", left: "←", right: "→" };
  const SPEEDS = [1, 2, 5, 10, 20], ROW = 26, AHEAD = 12;

  function action(step, scene) {
    if (step.kind === "move") return `${ARROWS[step.direction] || ""} ${step.direction || step.raw}`;
    if (step.kind === "answer") return `■ answer ${scene.answer ?? scene.answer_raw ?? ""}`;
    if (step.kind === "look") return "◎ look again";
    return `? ${step.raw || step.kind}`;
  }

  function remark(step) {
    if (step.kind === "unknown") return "unknown action";
    if (step.kind === "invalid" || !step.valid) return "rejected";
    if (step.blocked) return "⊘ blocked";
    if (step.kind === "move" && !step.shown) return "not shown";
    return step.clipped ? "clipped" : "";
  }

  class Player {
    /* options: moment or glimpse to begin with, onmove(moment, glimpse), fullText(step) -> promise, extra: elements for the bar */
    constructor(root, scene, options = {}) {
      Object.assign(this, { root, scene, options, moment: 0, timer: null, speed: 2, truth: false });
      this.last = scene.moments.length - 1;
      this.build();
      this.ground = new Ground(scene);
      this.ground.ready.catch(() => null).then(() => this.begin());
    }

    begin() {
      if (this.dead) return;
      const { scene, ground } = this;
      this.path = new PathView(this.parts.path, scene, ground, { onpick: (glimpse) => this.seek(this.momentOf(glimpse)) });
      this.masked = new MaskedView(this.parts.view, scene, ground);
      this.masked.preload();
      this.timeline = new Timeline(this.parts.time, scene, (moment) => this.seek(moment));
      this.posterior = new Posterior(this.parts.post, scene);
      this.observer = new ResizeObserver(() => this.resize());
      this.observer.observe(this.root);
      this.resize();
      const { glimpse, moment } = this.options;
      this.seek(glimpse != null ? this.momentOf(glimpse) : moment != null ? moment : this.last);
      this.root.dataset.ready = "true";
    }

    /* Stop everything; the player is not used again. */
    destroy() {
      this.dead = true;
      this.pause();
      if (this.observer) this.observer.disconnect();
      document.removeEventListener("keydown", this.onkey);
    }

    restyle() { if (this.path) { this.path.restyle(); this.resize(); } }

    momentOf(glimpse) {
      const found = this.scene.moments.findIndex((moment) => moment.glimpse >= glimpse);
      return found < 0 ? this.last : found;
    }

    get glimpse() { return this.scene.moments[this.moment].glimpse; }
    get step() { const at = this.scene.moments[this.moment].step; return at == null ? null : this.scene.steps[at]; }

    build() {
      const parts = (this.parts = {});
      const pane = (name, title, ...children) =>
        html("section", { class: `mp-pane mp-pane-${name}`, "aria-label": title }, html("h3", {}, title, (parts[`${name}Note`] = html("span", { class: "mp-note" }))), ...children);
      const box = (name, tag = "div") => (parts[name] = html(tag, { class: `mp-${name}` }));
      this.root.classList.add("mp-player");
      this.root.replaceChildren(
        this.bar(), this.transport(),
        html("div", { class: "mp-grid" },
          html("div", { class: "mp-column" }, pane("path", "Path over the canvas", (parts.pathBox = html("div", { class: "mp-fit" }, box("path", "canvas"))), this.pathLegend()),
            pane("time", "Coverage, belief and evidence", box("time"))),
          html("div", { class: "mp-column" }, pane("view", "What the agent saw", (parts.viewBox = html("div", { class: "mp-fit" }, box("view", "canvas")))),
            pane("post", "Evidence", box("post"))),
          html("div", { class: "mp-column" }, pane("thought", "Thought", box("thought")), pane("steps", "Steps", this.stepHead(), box("steps")))));
      parts.thought.tabIndex = 0;
      this.buildSteps();
      this.onkey = (event) => this.key(event);
      document.addEventListener("keydown", this.onkey);
    }

    bar() {
      const { scene } = this, judged = { true: ["✓ right", "right"], false: ["✗ wrong", "wrong"] }[scene.correct] || ["not judged", "none"];
      const chip = (name, text, tone) => html("span", { class: `mp-chip${tone ? ` mp-chip-${tone}` : ""}` }, html("small", {}, name), text);
      const answer = scene.answer ?? (scene.answer_status === "missing" ? "none" : scene.answer_status.replaceAll("_", " "));
      return html("div", { class: "mp-chips" },
        chip("label", scene.label ?? "unknown"), chip("answer", answer), chip("", judged[0], judged[1]),
        chip("ended", scene.error ? "error" : scene.stop_reason.replaceAll("_", " ")),
        chip("steps", `${scene.steps.length}${scene.t_max ? ` of ${scene.t_max}` : ""}`), chip("glimpses", String(scene.glimpses.length)),
        scene.error ? html("span", { class: "mp-error", title: scene.error }, scene.error.slice(0, 160)) : null,
        html("span", { class: "mp-space" }), ...(this.options.extra || []));
    }

    transport() {
      const button = (text, name, act, key) => html("button", { type: "button", class: "mp-button", "aria-label": name, title: key ? `${name} (${key})` : name, onclick: act }, text);
      const { parts } = this;
      parts.range = html("input", { type: "range", min: 0, max: this.last, value: 0, class: "mp-range", "aria-label": "Moment of the episode", oninput: () => this.seek(Number(parts.range.value)) });
      parts.play = button("▶ Play", "Play", () => this.toggle(), "space");
      parts.play.classList.add("mp-play");
      parts.speed = html("select", { class: "mp-select", "aria-label": "Speed", onchange: () => this.setSpeed(Number(parts.speed.value)) }, ...SPEEDS.map((n) => html("option", { value: n, selected: n === this.speed }, `${n}/s`)));
      parts.jump = html("input", { type: "number", min: 0, max: Math.max(this.scene.glimpses.length - 1, 0), class: "mp-jump", "aria-label": "Go to glimpse", title: "Go to glimpse (G)", onchange: () => this.seek(this.momentOf(Number(parts.jump.value))) });
      parts.where = html("span", { class: "mp-where", "aria-live": "polite" });
      parts.truth = html("input", { type: "checkbox", class: "mp-check", onchange: () => this.setTruth(parts.truth.checked) });
      return html("div", { class: "mp-transport" },
        parts.play, parts.speed, button("|‹", "First", () => this.seek(0), "Home"), button("‹", "Back", () => this.seek(this.moment - 1), "←"),
        button("›", "Forward", () => this.seek(this.moment + 1), "→"), button("›|", "Last", () => this.seek(this.last), "End"),
        parts.range, parts.where, html("label", { class: "mp-label" }, "go to", parts.jump),
        html("label", { class: "mp-label", title: "Show the ink that was never shown (T)" }, parts.truth, "show hidden ink"),
        button("PNG", "Save the path as PNG", () => this.savePng()));
    }

    pathLegend() {
      const ramp = html("i", { class: "mp-ramp" });
      return html("div", { class: "mp-legend" }, html("span", {}, "first", ramp, "last"), html("span", {}, html("b", { class: "mp-start" }, "○"), " start"),
        html("span", {}, html("b", { class: "mp-end" }, "□"), " now"), html("span", {}, html("b", { class: "mp-wrong-text" }, "⊘n"), " blocked n times"), html("span", {}, "grey: not seen so far"));
    }

    stepHead() {
      return html("div", { class: "mp-row mp-row-head" }, ...["#", "action", "", "window", "ink +", "tokens", "s"].map((text) => html("span", {}, text)));
    }

    buildSteps() {
      const { steps } = this.parts;
      this.list = html("div", { class: "mp-list", role: "listbox", "aria-label": "Steps", tabindex: 0, style: `height:${this.scene.moments.length * ROW}px` });
      steps.append(this.list);
      steps.addEventListener("scroll", () => { this.listTop = steps.scrollTop; this.drawSteps(); });
      this.listTop = 0;
      this.list.addEventListener("click", (event) => { const row = event.target.closest("[data-moment]"); if (row) this.seek(Number(row.dataset.moment)); });
    }

    resize() {
      const size = (element) => [element.clientWidth, element.clientHeight];
      const { parts } = this;
      this.path.resize(...size(parts.pathBox)); this.masked.resize(...size(parts.viewBox));
      this.timeline.resize(parts.time.clientWidth, Math.max(150, parts.time.parentElement.clientHeight - 58));
      this.posterior.resize(...size(parts.post));
      this.listHeight = parts.steps.clientHeight;
      this.draw();
    }

    seek(moment) {
      this.moment = Math.min(Math.max(Math.round(moment) || 0, 0), this.last);
      this.draw();
      if (this.options.onmove) this.options.onmove(this.moment, this.glimpse);
    }

    draw() {
      const { parts, scene, glimpse, step } = this;
      const seen = glimpse ?? -1, end = step == null ? scene.steps[scene.steps.length - 1] : null;
      const ahead = end && end.kind === "move" && end.valid && !end.shown ? end.after : null;
      this.path.draw({ glimpse: seen, truth: this.truth, ahead });
      parts.viewNote.textContent = { recorded: "recorded picture", rendered: "rendered again", nothing: "no picture" }[this.masked.draw(glimpse)];
      this.timeline.draw(this.moment);
      this.posterior.draw(seen, this.stated());
      parts.range.value = this.moment;
      parts.range.setAttribute("aria-valuetext", `moment ${this.moment} of ${this.last}`);
      parts.jump.value = glimpse ?? "";
      parts.where.textContent = step ? `step ${step.step} of ${scene.steps.length - 1} · glimpse ${glimpse ?? "–"}` : `end · glimpse ${glimpse ?? "–"}`;
      this.notes();
      this.drawThought(step);
      this.drawSteps(true);
    }

    notes() {
      const { scene, parts } = this, { tracks = {} } = scene;
      const seen = tracks.coverage && this.glimpse != null ? tracks.coverage[this.glimpse] : null;
      parts.pathNote.textContent = !scene.geometry ? "window and canvas size are not known" : !scene.canvas ? "the hidden canvas is not known" : !scene.path ? "the windows are not known" : seen == null ? "" : `${Math.round(100 * seen)} % of the ink seen`;
      parts.postNote.textContent = tracks.posterior ? "reference reader" : "";
    }

    /* Digit stated last in each panel, up to this moment. */
    stated() {
      const { beliefs } = this.scene.tracks || {}, n = this.scene.geometry ? this.scene.geometry.n_panels : 1;
      if (!beliefs) return null;
      const upTo = this.scene.moments[this.moment].step ?? this.scene.steps.length - 1;
      return Array.from({ length: n }, (_, i) => {
        for (let s = upTo; s >= 0; s--) {
          const slot = beliefs[s] && beliefs[s].slots[panelName(i, n)];
          if (slot && (slot.candidates.length || slot.excluded.length)) return slot.top;
        }
        return null;
      });
    }

    drawThought(step) {
      const { thought, thoughtNote } = this.parts;
      thoughtNote.textContent = step ? `before: ${action(step, this.scene)}` : "";
      if (!step) { thought.replaceChildren(html("p", { class: "mp-empty" }, `The episode ended here: ${this.scene.stop_reason.replaceAll("_", " ")}.`)); return; }
      if (!step.thought) { thought.replaceChildren(html("p", { class: "mp-empty" }, "The agent wrote nothing beside this action.")); return; }
      const body = html("p", { class: "mp-words" }, ...this.marked(step));
      thought.replaceChildren(body);
      if (step.thought_chars > step.thought.length) thought.append(this.more(step, body));
      if (Array.isArray(step.map) && step.map.length) thought.append(this.mapEntries(step.map));
      thought.scrollTop = 0;
    }

    /* The thought as text nodes, digits that state a belief marked. */
    marked(step) {
      const beliefs = (this.scene.tracks || {}).beliefs, found = beliefs && beliefs[step.step];
      if (!found) return [step.thought];
      const spans = Object.entries(found.slots).flatMap(([slot, { candidates }]) => candidates.map((c) => ({ ...c, slot })));
      const parts = [];
      let at = 0;
      for (const { span: [from, to], kind, slot, strength } of spans.sort((a, b) => a.span[0] - b.span[0])) {
        if (from < at || to > step.thought.length) continue;
        const tone = kind === "asserted" ? "certain" : kind === "hedged" ? "hedged" : "aside";
        parts.push(step.thought.slice(at, from), html("mark", { class: `mp-mark-${tone}`, title: `${slot}: ${kind.replaceAll("_", " ")}, ${strength}` }, step.thought.slice(from, to)));
        at = to;
      }
      return [...parts, step.thought.slice(at)];
    }

    more(step, body) {
      const note = html("p", { class: "mp-empty" }, `First ${step.thought.length.toLocaleString("en")} of ${step.thought_chars.toLocaleString("en")} characters. `);
      if (this.options.fullText)
        note.append(html("button", { type: "button", class: "mp-button", onclick: () => this.options.fullText(step.step).then((text) => { body.textContent = text; note.remove(); }, () => { note.textContent = "The full text could not be loaded; is the dashboard still running?"; }) }, "Show all"));
      return note;
    }

    mapEntries(entries) {
      const rows = entries.slice(0, 200).map((e) => html("li", {}, `(${[].concat(e && e.coords).join(", ")}) ${(e && e.features) || ""}`));
      return html("details", {}, html("summary", {}, `map: ${entries.length} entries`), html("ul", {}, ...rows));
    }

    /* Only the rows in sight exist: an episode may have thousands of steps. */
    drawSteps(follow) {
      const { steps } = this.parts, at = this.moment * ROW, tall = this.listHeight || 0;
      if (follow && (at < this.listTop || at + ROW > this.listTop + tall)) steps.scrollTop = this.listTop = Math.max(0, at - tall / 2);
      const first = Math.max(0, Math.floor(this.listTop / ROW) - AHEAD), end = Math.min(this.last + 1, Math.ceil((this.listTop + tall) / ROW) + AHEAD);
      if (!this.rows || !this.rows.has(first) || !this.rows.has(end - 1) || this.rows.size !== end - first) {
        this.rows = new Map(Array.from({ length: end - first }, (_, i) => [first + i, this.row(first + i)]));
        this.list.replaceChildren(...this.rows.values());
      }
      for (const [moment, row] of this.rows) {
        row.classList.toggle("mp-row-here", moment === this.moment);
        row.setAttribute("aria-selected", moment === this.moment);
      }
    }

    row(moment) {
      const at = this.scene.moments[moment].step, step = at == null ? null : this.scene.steps[at];
      const cells = step ? this.cells(step) : ["", `■ ${this.scene.stop_reason.replaceAll("_", " ")}`, "", "", "", "", ""];
      return html("div", { class: "mp-row", role: "option", "data-moment": moment, style: `top:${moment * ROW}px` },
        ...cells.map((text) => html("span", { title: text.length > 12 ? text : null }, text)));
    }

    cells(step) {
      const ink = this.newInk(step.step), tokens = step.tokens_out ?? step.tokens_in;
      const where = step.after || step.before;
      return [String(step.step), action(step, this.scene), remark(step) || (step.retries ? `${step.retries} retries` : ""), where ? where.join(", ") : "–",
        ink == null ? "–" : String(ink), tokens == null ? "–" : tokens.toLocaleString("en"), step.latency == null ? "–" : step.latency.toFixed(1)];
    }

    newInk(step) {
      const { new_ink: ink } = this.scene.tracks || {};
      if (!ink) return null;
      if (!this.inkOf) this.inkOf = new Map(this.scene.glimpses.map((g, i) => [g.step, ink[i]]));
      const found = this.inkOf.get(step);
      return found ? found.reduce((a, b) => a + b, 0) : null;
    }

    setTruth(on) { this.truth = on; this.parts.truth.checked = on; this.draw(); }
    setSpeed(n) { this.speed = n; if (this.timer) { this.pause(); this.play(); } }
    toggle() { if (this.timer) this.pause(); else this.play(); }

    play() {
      if (this.moment >= this.last) this.seek(0);
      this.parts.play.textContent = "❚❚ Pause";
      this.parts.play.setAttribute("aria-label", "Pause");
      this.timer = setInterval(() => { if (this.moment >= this.last) this.pause(); else this.seek(this.moment + 1); }, 1000 / this.speed);
    }

    pause() {
      clearInterval(this.timer); this.timer = null;
      this.parts.play.textContent = "▶ Play";
      this.parts.play.setAttribute("aria-label", "Play");
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || !this.path) return;
      const tag = event.target.tagName, typing = tag === "TEXTAREA" || tag === "SELECT" || (tag === "INPUT" && !["range", "checkbox"].includes(event.target.type));
      if (typing) return;
      const acts = { ArrowLeft: () => this.seek(this.moment - 1), ArrowRight: () => this.seek(this.moment + 1), Home: () => this.seek(0), End: () => this.seek(this.last),
        t: () => this.setTruth(!this.truth), g: () => this.parts.jump.focus(), " ": () => this.toggle() };
      if (event.key === " " && tag === "BUTTON") return;
      if (acts[event.key]) { event.preventDefault(); acts[event.key](); }
    }

    savePng() {
      const link = html("a", { download: `${this.scene.run}-${this.scene.episode}-glimpse-${this.glimpse}.png`.replace(/[^\w.-]/g, "_") });
      this.parts.path.toBlob((blob) => { link.href = URL.createObjectURL(blob); link.click(); setTimeout(() => URL.revokeObjectURL(link.href), 1000); });
    }
  }

  window.MnistPro.Player = Player;
})();
