/* Timeline (coverage over the steps, belief against evidence) and posterior bars, as SVG. */
"use strict";
(() => {
  const { svg, html } = window.MnistPro;
  const LEFT = 92, RIGHT = 14, ROW = 19;
  const GLYPHS = { ADOPT: "▲", REVISE: "◆", RETRACT: "▽", REINSTATE: "↺", SWAP: "⇄" };
  const PANEL_DASH = ["", "6 3", "2 3", "8 3 2 3"];
  const panelName = (i, n) => (n === 1 ? "digit" : n === 2 ? ["left", "right"][i] : `panel ${i + 1}`);

  function argmax(row) {
    if (!row) return null;
    const best = Math.max(...row);
    return row.filter((p) => p > best - 1e-6).length > 1 ? null : { digit: row.indexOf(best), p: best };
  }

  /* Neighbouring equal values as [value, first, last]. */
  function bands(values, key) {
    const found = [];
    values.forEach((value, at) => {
      const last = found[found.length - 1];
      if (last && key(last[0]) === key(value)) last[2] = at;
      else found.push([value, at, at]);
    });
    return found;
  }

  class Timeline {
    constructor(element, scene, onseek) {
      Object.assign(this, { element, scene, onseek, moments: scene.moments });
      this.tracks = scene.tracks || {};
      this.rows = this.scarfRows();
    }

    x(moment) { return LEFT + ((moment + 0.5) / this.span) * (this.width - LEFT - RIGHT); }

    resize(width, height) {
      const count = this.moments.length, budget = this.scene.t_max || 0;
      this.width = width; this.height = height;
      this.span = Math.max(count, budget <= 1.6 * count ? budget : 0, 1);
      const scarf = this.rows.length * ROW + 8, top = 18, bottom = height - scarf - 20;
      const picture = svg("svg", { width, height, role: "img", "aria-label": "Coverage, stated belief and evidence over the steps" });
      picture.append(hatch(), ...this.axes(top, bottom), ...this.curves(top, bottom), ...this.marks(top, bottom));
      this.rows.forEach((row, i) => picture.append(...this.scarf(row, bottom + 22 + i * ROW)));
      this.cursor = svg("line", { class: "mp-cursor", y1: top - 6, y2: height - 2 });
      picture.append(this.cursor);
      picture.addEventListener("pointerdown", (event) => this.drag(event, picture));
      this.element.replaceChildren(picture, this.legend());
      this.draw(this.at || 0);
    }

    draw(moment) {
      this.at = moment;
      const x = this.x(moment);
      this.cursor.setAttribute("x1", x); this.cursor.setAttribute("x2", x);
    }

    drag(event, picture) {
      const seek = (e) => {
        const share = (e.clientX - picture.getBoundingClientRect().left - LEFT) / (this.width - LEFT - RIGHT);
        this.onseek(Math.round(share * this.span - 0.5));
      };
      const stop = () => { window.removeEventListener("pointermove", seek); window.removeEventListener("pointerup", stop); };
      window.addEventListener("pointermove", seek); window.addEventListener("pointerup", stop);
      seek(event);
    }

    axes(top, bottom) {
      const parts = [];
      for (const share of [0, 0.5, 1]) {
        const y = bottom - share * (bottom - top);
        parts.push(svg("line", { class: "mp-grid-line", x1: LEFT, x2: this.width - RIGHT, y1: y, y2: y }));
        parts.push(svg("text", { class: "mp-axis", x: LEFT - 6, y: y + 4, "text-anchor": "end" }, `${share * 100} %`));
      }
      const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000].find((n) => this.span / n <= 16) || 5000;
      for (let m = 0; m < this.span; m += every)
        parts.push(svg("text", { class: "mp-axis", x: this.x(m), y: bottom + 14, "text-anchor": "middle" }, String(m)));
      parts.push(svg("text", { class: "mp-axis", x: 2, y: bottom + 14 }, "step"));
      parts.push(svg("text", { class: "mp-axis", x: 2, y: (top + bottom) / 2 - 4 }, "ink"), svg("text", { class: "mp-axis", x: 2, y: (top + bottom) / 2 + 10 }, "seen"));
      return parts;
    }

    line(values, top, bottom, attributes) {
      const points = [];
      values.forEach((v, m) => {
        if (v == null) return;
        const x = this.x(m).toFixed(1), y = (bottom - v * (bottom - top)).toFixed(1);
        if (points.length) points.push(`${x},${points[points.length - 1].split(",")[1]}`); // a step line: nothing lies between
        points.push(`${x},${y}`);
      });
      return svg("polyline", { ...attributes, fill: "none", points: points.join(" ") });
    }

    overMoments(values) { return this.moments.map(({ glimpse }) => (glimpse == null ? null : values[glimpse])); }

    curves(top, bottom) {
      const { coverage, panel_coverage: panels, greedy, sweep } = this.tracks, parts = [];
      if (!coverage) return [this.nothing(top, bottom)];
      const cut = (values) => values.slice(0, this.span);
      if (sweep) parts.push(this.line(cut(sweep), top, bottom, { class: "mp-ref", "stroke-dasharray": "2 4" }));
      if (greedy) parts.push(this.line(cut(greedy), top, bottom, { class: "mp-ref", "stroke-dasharray": "7 4" }));
      const n = panels && panels[0] ? panels[0].length : 0;
      for (let i = 0; n > 1 && i < n; i++)
        parts.push(this.line(this.overMoments(panels.map((p) => p && p[i])), top, bottom, { class: `mp-panel mp-panel-${i % 4}`, "stroke-dasharray": PANEL_DASH[i % 4] }));
      parts.push(this.line(this.overMoments(coverage), top, bottom, { class: "mp-total" }));
      return parts;
    }

    nothing(top, bottom) {
      const why = (this.tracks.notes || {}).coverage || "coverage is not known: the hidden canvas or the windows are missing";
      return svg("text", { class: "mp-axis", x: LEFT + 12, y: (top + bottom) / 2 }, why);
    }

    marks(top, bottom) {
      const { steps, t_max: budget, moments, stop_reason: stopped } = this.scene, parts = [];
      const mark = (m, text, name, anchor) => {
        const x = this.x(m);
        parts.push(svg("line", { class: name, x1: x, x2: x, y1: top - 4, y2: bottom }));
        parts.push(svg("text", { class: "mp-axis", x: anchor === "end" ? x - 4 : x + 4, y: top - 6, "text-anchor": anchor }, text));
      };
      const ends = moments.length - 1, answered = steps.length && steps[steps.length - 1].kind === "answer";
      mark(ends, answered ? "answer" : String(stopped).replaceAll("_", " "), "mp-commit", ends > this.span / 2 ? "end" : "start");
      if (budget && budget <= this.span && budget - 1 > ends + this.span * 0.12) mark(budget - 1, `budget ${budget}`, "mp-budget", "end");
      else if (budget && budget > this.span)
        parts.push(svg("text", { class: "mp-axis", x: LEFT + 4, y: top - 6 }, `budget ${budget} steps ▸`));
      return parts;
    }

    legend() {
      const { coverage, panel_coverage: panels, greedy, sweep } = this.tracks, n = panels && panels[0] ? panels[0].length : 0;
      const key = (name, text, dash) => html("span", {}, svgLine(name, dash), text);
      if (!coverage) return html("div", { class: "mp-legend" });
      const items = [key("mp-total", "all ink")];
      for (let i = 0; n > 1 && i < n; i++) items.push(key(`mp-panel mp-panel-${i % 4}`, panelName(i, n), PANEL_DASH[i % 4]));
      if (greedy) items.push(key("mp-ref", "greedy reference", "7 4"));
      if (sweep) items.push(key("mp-ref", "sweep", "2 4"));
      return html("div", { class: "mp-legend" }, ...items);
    }

    /* Rows of the scarf: for each panel what the evidence says, then what the agent said. */
    scarfRows() {
      const { posterior, beliefs } = this.tracks, n = this.scene.geometry ? this.scene.geometry.n_panels : 1, label = this.scene.label || "";
      const rows = [];
      for (let i = 0; i < n && n <= 4; i++) {
        const name = panelName(i, n), truth = label.length === n ? Number(label[i]) : null;
        if (posterior) rows.push({ name: `${name}: evidence`, truth, values: this.overMoments(posterior.map((q) => argmax(q && q[i]))), glyphs: [] });
        if (beliefs) rows.push({ name: `${name}: stated`, truth, ...this.stated(beliefs, name) });
      }
      return rows;
    }

    stated(beliefs, slot) {
      let held = null;
      const glyphs = [];
      const values = this.moments.map(({ step }, m) => {
        const said = step == null ? null : beliefs[step];
        const belief = said && said.slots[slot];
        if (!belief || !(belief.candidates.length || belief.excluded.length)) return held && { ...held, silent: true };
        const event = said.events && GLYPHS[said.events[slot]];
        if (event) glyphs.push([m, event, said.events[slot]]);
        held = belief.top == null ? null : { digit: belief.top, p: 1 };
        return held;
      });
      return { values, glyphs };
    }

    scarf(row, y) {
      const parts = [svg("text", { class: "mp-axis", x: 2, y: y + 12 }, row.name)];
      const half = (this.width - LEFT - RIGHT) / this.span / 2;
      parts.push(svg("line", { class: "mp-grid-line", x1: LEFT, x2: this.width - RIGHT, y1: y + 15, y2: y + 15 }));
      const shade = (v) => (v ? `${v.digit}|${Math.ceil(v.p * 5)}|${v.silent || ""}` : "");
      for (const [value, first, last] of bands(row.values, shade)) {
        if (!value) continue;
        const x = this.x(first) - half, width = this.x(last) + half - x;
        const right = row.truth == null ? "" : value.digit === row.truth ? " mp-right" : " mp-wrong";
        const opacity = value.silent ? 0.35 : 0.3 + 0.7 * Math.ceil(value.p * 5) / 5;
        parts.push(svg("rect", { class: `mp-band${right}`, x, y, width: Math.max(width, 1), height: ROW - 5, opacity }));
        if (right === " mp-wrong") parts.push(svg("rect", { x, y, width: Math.max(width, 1), height: ROW - 5, fill: "url(#mp-hatch)" }));
      }
      for (const [value, first, last] of bands(row.values, (v) => (v ? v.digit : "")))
        if (value && this.x(last) - this.x(first) + 2 * half >= 9)
          parts.push(svg("text", { class: "mp-band-text", x: (this.x(first) + this.x(last)) / 2, y: y + 11, "text-anchor": "middle" }, String(value.digit)));
      for (const [m, glyph, name] of row.glyphs)
        parts.push(svg("text", { class: "mp-glyph", x: this.x(m) - half + 1, y: y + 11 }, svg("title", {}, name.toLowerCase()), glyph));
      return parts;
    }
  }

  function svgLine(name, dash) {
    return svg("svg", { width: 22, height: 8, "aria-hidden": "true" }, svg("line", { class: name, x1: 1, x2: 21, y1: 4, y2: 4, "stroke-dasharray": dash || null }));
  }

  function hatch() {
    return svg("defs", {}, svg("pattern", { id: "mp-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      svg("line", { x1: 0, y1: 0, x2: 0, y2: 6, class: "mp-hatch" })));
  }

  /* Probability of each digit, by panel; the label is outlined, the stated belief carries a marker. */
  class Posterior {
    constructor(element, scene) {
      Object.assign(this, { element, scene, bars: [] });
      this.values = (scene.tracks || {}).posterior;
    }

    resize(width, height) {
      const n = this.scene.geometry ? this.scene.geometry.n_panels : 1;
      if (!this.values) {
        const why = ((this.scene.tracks || {}).notes || {}).posterior || "No posterior: it needs the hidden canvas and the windows.";
        this.element.replaceChildren(html("p", { class: "mp-empty" }, why));
        return;
      }
      const each = Math.max(78, Math.min(150, Math.floor(height / n)));
      const picture = svg("svg", { width, height: each * n, role: "img", "aria-label": "Posterior of the reference reader by digit" });
      this.bars = Array.from({ length: n }, (_, i) => this.panel(picture, i, n, width, each));
      this.element.replaceChildren(picture);
      if (this.at) this.draw(...this.at);
    }

    panel(picture, i, n, width, each) {
      const label = this.scene.label || "", truth = label.length === n ? Number(label[i]) : null, bottom = (i + 1) * each - 18, tall = each - 40;
      const wide = (width - 8) / 10;
      picture.append(svg("text", { class: "mp-axis", x: 2, y: i * each + 12 }, panelName(i, n)));
      const caption = svg("text", { class: "mp-axis", x: width - 4, y: i * each + 12, "text-anchor": "end" });
      picture.append(caption, svg("line", { class: "mp-grid-line", x1: 2, x2: width - 4, y1: bottom, y2: bottom }));
      const bars = Array.from({ length: 10 }, (_, d) => {
        const x = 4 + d * wide, bar = svg("rect", { class: `mp-bar${d === truth ? " mp-bar-label" : ""}`, x: x + 2, width: wide - 4, y: bottom, height: 0 });
        const digit = svg("text", { class: d === truth ? "mp-axis mp-strong" : "mp-axis", x: x + wide / 2, y: bottom + 13, "text-anchor": "middle" }, String(d));
        const said = svg("text", { class: "mp-said", x: x + wide / 2, y: i * each + 26, "text-anchor": "middle", visibility: "hidden" }, "▼");
        picture.append(bar, digit, said);
        return { bar, said };
      });
      return { bars, caption, bottom, tall };
    }

    draw(glimpse, stated) {
      this.at = [glimpse, stated];
      this.bars.forEach(({ bars, caption, bottom, tall }, i) => {
        const row = this.values[glimpse] && this.values[glimpse][i], best = argmax(row);
        caption.textContent = best ? `most likely ${best.digit} (${Math.round(100 * best.p)} %)` : "no ink seen yet";
        bars.forEach(({ bar, said }, d) => {
          const p = row ? row[d] : 0;
          bar.setAttribute("height", Math.max(p * tall, 0.5)); bar.setAttribute("y", bottom - Math.max(p * tall, 0.5));
          said.setAttribute("visibility", stated && stated[i] === d ? "visible" : "hidden");
        });
      });
    }
  }

  Object.assign(window.MnistPro, { Timeline, Posterior, panelName });
})();
