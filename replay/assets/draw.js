/* Drawing of an episode: path over the canvas, what the agent saw, timeline, posterior. No dependency.
   The dashboard and the single-file player share this file. User text only ever becomes a text node. */
"use strict";
window.MnistPro = (() => {
  // Cividis: ordered for colour-blind eyes and in grey print.
  const RAMP = [[0, 34, 78], [53, 69, 109], [102, 105, 112], [148, 142, 119], [200, 183, 103], [254, 232, 56]];
  const GREY = "#808080", OUTLINE = "#00e5ff";
  const LONG = 150; // glimpses from which only the last stretch of a path keeps arrows and halos

  function ramp(share) {
    const at = Math.min(Math.max(share, 0), 1) * (RAMP.length - 1), low = Math.min(Math.floor(at), RAMP.length - 2);
    return `rgb(${RAMP[low].map((a, i) => Math.round(a + (RAMP[low + 1][i] - a) * (at - low))).join(",")})`;
  }

  /* A colour of the theme. */
  function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

  function load(url) {
    return new Promise((done, fail) => {
      const image = new Image();
      image.onload = () => done(image);
      image.onerror = () => fail(new Error("picture could not be loaded"));
      image.src = url;
    });
  }

  function sheet(width, height) {
    const made = document.createElement("canvas");
    made.width = width; made.height = height;
    return made;
  }

  /* Fit a canvas element to a box in CSS pixels, sharp on dense screens; its context, scaled to CSS pixels. */
  function fit(element, width, height) {
    const dense = window.devicePixelRatio || 1;
    element.width = Math.max(1, Math.round(width * dense));
    element.height = Math.max(1, Math.round(height * dense));
    element.style.width = `${width}px`; element.style.height = `${height}px`;
    const pen = element.getContext("2d");
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    return pen;
  }

  function svg(tag, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes || {})) if (value != null) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  function html(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value === true) made.setAttribute(name, "");
      else if (value != null && value !== false) made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child != null));
    return made;
  }

  /* The hidden canvas of an episode, and the strokes of it as a mask to colour. */
  class Ground {
    constructor(scene) { this.geometry = scene.geometry; this.image = null; this.ready = this.open(scene.canvas); }

    async open(url) {
      if (!url || !this.geometry) return this;
      const image = await load(url), { width, height } = this.geometry;
      const mask = sheet(width, height), pen = mask.getContext("2d", { willReadFrequently: true });
      pen.drawImage(image, 0, 0);
      const pixels = pen.getImageData(0, 0, width, height);
      for (let i = 0; i < pixels.data.length; i += 4) {
        pixels.data[i + 3] = pixels.data[i] < 128 ? 255 : 0;
        pixels.data[i] = pixels.data[i + 1] = pixels.data[i + 2] = 0;
      }
      pen.putImageData(pixels, 0, 0);
      this.image = image; this.mask = mask;
      return this;
    }

    /* The whole canvas in two colours; without `ink` only the ground. */
    colored(paper, ink) {
      const { width, height } = this.geometry, made = sheet(width, height), pen = made.getContext("2d");
      if (ink && this.mask) {
        pen.drawImage(this.mask, 0, 0);
        pen.globalCompositeOperation = "source-in";
        pen.fillStyle = ink; pen.fillRect(0, 0, width, height);
        pen.globalCompositeOperation = "destination-over";
      }
      pen.fillStyle = paper; pen.fillRect(0, 0, width, height);
      return made;
    }
  }

  /* Canvas with the path over it: what was seen up to a glimpse is clear, the rest dimmed. */
  class PathView {
    constructor(element, scene, ground, options = {}) {
      Object.assign(this, { element, scene, ground, color: options.color || null, onpick: options.onpick || null });
      this.windows = scene.glimpses.map((glimpse) => glimpse.window);
      this.compact = options.compact || false;
      this.state = { glimpse: 0, truth: false };
      this.tip = html("div", { class: "mp-tip", hidden: true });
      if (element.parentElement) element.parentElement.append(this.tip);
      element.addEventListener("mousemove", (event) => this.hover(event));
      element.addEventListener("mouseleave", () => { this.tip.hidden = true; });
      element.addEventListener("click", (event) => {
        const near = this.nearest(event);
        if (near.length && this.onpick) this.onpick(near.find((g) => g > this.state.glimpse) ?? near[0]);
      });
      this.restyle();
    }

    restyle() {
      const [paper, ink, unseen, hidden] = ["--mp-paper", "--mp-ink", "--mp-unseen", "--mp-unseen-ink"].map(css);
      this.paper = paper; this.ink = ink;
      if (!this.scene.geometry) return;
      this.clear = this.ground.colored(paper, ink);
      this.dim = this.ground.colored(unseen, null);
      this.truth = this.ground.colored(unseen, hidden);
      this.seen = sheet(this.scene.geometry.width, this.scene.geometry.height);
      this.seenTo = -1;
    }

    resize(width, height) {
      const { width: w, height: h } = this.scene.geometry || { width: 2, height: 1 };
      this.scale = Math.max(0.1, Math.min(width / w, height / h));
      this.pen = fit(this.element, w * this.scale, h * this.scale);
    }

    reveal(glimpse) {
      const pen = this.seen.getContext("2d"), size = this.scene.geometry.window;
      if (glimpse < this.seenTo) { pen.clearRect(0, 0, this.seen.width, this.seen.height); this.seenTo = -1; }
      for (let g = this.seenTo + 1; g <= glimpse; g++) {
        const at = this.windows[g];
        if (at) pen.drawImage(this.clear, at[0], at[1], size, size, at[0], at[1], size, size);
      }
      this.seenTo = glimpse;
    }

    draw(state) {
      Object.assign(this.state, state);
      const { pen, scale: k, scene } = this, { glimpse, truth } = this.state;
      if (!scene.geometry || !pen) return;
      const { width, height } = scene.geometry;
      pen.save();
      pen.imageSmoothingEnabled = false;
      pen.drawImage(truth ? this.truth : this.dim, 0, 0, width * k, height * k);
      this.reveal(glimpse);
      pen.drawImage(this.seen, 0, 0, width * k, height * k);
      this.drawSeams(pen, k);
      if (scene.path) this.drawPath(pen, k, glimpse);
      if (this.state.ahead) this.drawWindow(pen, k, this.state.ahead, [5, 4]);
      pen.restore();
    }

    drawSeams(pen, k) {
      const { panel, n_panels, width, height } = this.scene.geometry;
      pen.strokeStyle = "#667085"; pen.lineWidth = 1; pen.setLineDash([5, 5]);
      for (let i = 1; i < n_panels; i++) line(pen, i * panel * k, 0, i * panel * k, height * k);
      pen.setLineDash([]);
      pen.strokeRect(0.5, 0.5, width * k - 1, height * k - 1);
    }

    drawWindow(pen, k, at, dash) {
      const size = this.scene.geometry.window * k;
      pen.setLineDash(dash); pen.lineWidth = 2.5; pen.strokeStyle = "#008aa8";
      pen.strokeRect(at[0] * k + 1, at[1] * k + 1, size - 2, size - 2);
      pen.setLineDash([]);
    }

    drawPath(pen, k, glimpse) {
      const { path } = this.scene, total = path.centers.length;
      if (glimpse < 0 || glimpse == null) return;
      const from = glimpse > LONG ? glimpse - LONG / 2 : 0;
      this.drawWindow(pen, k, this.windows[glimpse], []);
      this.drawFaint(pen, k, path.segments, from);
      for (const segment of path.segments) {
        if (segment[0] > glimpse) break;
        if (segment[0] >= from) this.drawSegment(pen, k, segment, total);
      }
      for (const ring of path.rings) this.drawRing(pen, k, ring, glimpse);
      const dot = this.compact ? 2.5 : 4;
      for (let g = Math.floor(from); g <= glimpse; g++) {
        disc(pen, path.centers[g], k, dot + 1, this.paper);
        disc(pen, path.centers[g], k, dot, this.tint(g, total));
      }
      this.drawEnds(pen, k, glimpse, total);
    }

    tint(glimpse, total) { return this.color || ramp(glimpse / Math.max(total - 1, 1)); }

    /* The older part of a long path, in one stroke. */
    drawFaint(pen, k, segments, before) {
      if (!before) return;
      pen.beginPath();
      for (const [glimpse, x0, y0, x1, y1] of segments) {
        if (glimpse >= before) break;
        pen.moveTo(x0 * k, y0 * k); pen.lineTo(x1 * k, y1 * k);
      }
      pen.globalAlpha = 0.45; pen.lineWidth = 1.2; pen.strokeStyle = this.color || "#667085"; pen.stroke(); pen.globalAlpha = 1;
    }

    drawSegment(pen, k, [glimpse, x0, y0, x1, y1], total) {
      const color = this.tint(glimpse, total), wide = this.compact ? 2 : 3;
      const [ax, ay, bx, by] = [x0 * k, y0 * k, x1 * k, y1 * k];
      pen.lineCap = "round";
      pen.lineWidth = wide + 2; pen.strokeStyle = this.paper; line(pen, ax, ay, bx, by);
      pen.lineWidth = wide; pen.strokeStyle = color; line(pen, ax, ay, bx, by);
      arrow(pen, ax, ay, bx, by, this.compact ? 5 : 7, color, this.paper);
    }

    drawRing(pen, k, ring, glimpse) {
      const times = ring.glimpses.filter((g) => g <= glimpse).length;
      if (!times) return;
      const [x, y] = [ring.center[0] * k, ring.center[1] * k];
      pen.lineWidth = 2; pen.strokeStyle = css("--mp-wrong");
      pen.beginPath(); pen.arc(x, y, this.compact ? 7 : 11, 0, 7); pen.stroke();
      label(pen, `⊘${times}`, x + (this.compact ? 8 : 12), y + 14, pen.strokeStyle, this.paper, this.compact ? 10 : 12);
    }

    drawEnds(pen, k, glimpse, total) {
      const { centers } = this.scene.path, size = this.compact ? 5 : 8, taken = [];
      const [sx, sy] = centers[0].map((v) => v * k), [ex, ey] = centers[glimpse].map((v) => v * k);
      pen.lineWidth = 2.5;
      pen.strokeStyle = "#117a4b"; pen.beginPath(); pen.arc(sx, sy, size, 0, 7); pen.stroke();
      if (glimpse > 0) { pen.strokeStyle = "#c42828"; pen.strokeRect(ex - size, ey - size, 2 * size, 2 * size); }
      if (this.compact) return;
      const every = total <= 60 ? 5 : Math.ceil(total / 60) * 5;
      const wanted = [glimpse, 0];
      for (let g = every; g < glimpse; g += every) wanted.push(g);
      for (const g of wanted) {
        const [x, y] = [centers[g][0] * k + 10, centers[g][1] * k + (g === glimpse && glimpse ? 16 : -9)];
        if (taken.some(([a, b]) => Math.abs(a - x) < 18 && Math.abs(b - y) < 14)) continue;
        taken.push([x, y]);
        label(pen, String(g), x, y, this.ink, this.paper, 12);
      }
    }

    nearest(event) {
      if (!this.scene.path || !this.scale) return [];
      const box = this.element.getBoundingClientRect(), k = this.scale;
      const x = (event.clientX - box.left) / k, y = (event.clientY - box.top) / k;
      let best = 14 / k, found = null;
      for (const [cx, cy] of this.scene.path.centers) {
        const far = Math.hypot(cx - x, cy - y);
        if (far < best) { best = far; found = [cx, cy]; }
      }
      if (!found) return [];
      return this.scene.path.centers.flatMap(([cx, cy], g) => (cx === found[0] && cy === found[1] ? [g] : []));
    }

    hover(event) {
      const near = this.nearest(event);
      this.tip.hidden = !near.length;
      if (!near.length) return;
      const [x, y] = this.windows[near[0]], shown = near.slice(0, 8).join(", ") + (near.length > 8 ? ", …" : "");
      this.tip.textContent = `glimpse ${shown} · window (${x}, ${y})`;
      this.tip.style.left = `${event.offsetX + this.element.offsetLeft + 12}px`;
      this.tip.style.top = `${event.offsetY + this.element.offsetTop + 12}px`;
    }
  }

  /* One observation: the recorded picture where there is one, else rendered again from the canvas. */
  class MaskedView {
    constructor(element, scene, ground) { Object.assign(this, { element, scene, ground, pictures: new Map(), wanted: null }); }

    resize(width, height) {
      const { width: w, height: h } = this.scene.geometry || { width: 2, height: 1 };
      this.scale = Math.max(0.1, Math.min(width / w, height / h));
      this.pen = fit(this.element, w * this.scale, h * this.scale);
    }

    /* Draws the glimpse; what it was drawn from: recorded, rendered or nothing. */
    draw(glimpse) {
      const shown = this.scene.glimpses[glimpse];
      this.wanted = glimpse;
      this.blank(shown ? GREY : css("--mp-unseen"));
      if (!shown) return "nothing";
      if (shown.image) return this.recorded(shown.image, glimpse);
      if (!this.ground.image || !shown.window) return "nothing";
      this.rendered(shown.window);
      return "rendered";
    }

    /* Fetch the recorded pictures beforehand, so that stepping asks for nothing; of very long episodes on demand. */
    preload() {
      const urls = new Set(this.scene.glimpses.map((glimpse) => glimpse.image).filter(Boolean));
      if (urls.size > 500) return;
      for (const url of urls) load(url).then((image) => this.pictures.set(url, image), () => this.forget(url));
    }

    /* A picture that cannot be had is not asked for again. */
    forget(url) {
      for (const glimpse of this.scene.glimpses) if (glimpse.image === url) glimpse.image = null;
    }

    blank(color) {
      const { width, height } = this.scene.geometry || { width: 2, height: 1 };
      this.pen.fillStyle = color; this.pen.fillRect(0, 0, width * this.scale, height * this.scale);
    }

    recorded(url, glimpse) {
      const there = this.pictures.get(url);
      if (there) { this.pen.drawImage(there, 0, 0, parseFloat(this.element.style.width), parseFloat(this.element.style.height)); return "recorded"; }
      load(url).then((image) => {
        this.pictures.set(url, image);
        if (this.wanted === glimpse) this.draw(glimpse);
      }, () => {
        this.forget(url);
        if (this.wanted === glimpse) this.draw(glimpse);
      });
      return "recorded";
    }

    rendered([x, y]) {
      const { pen, scale: k, scene } = this, { window: size, border } = scene.geometry;
      pen.imageSmoothingEnabled = false;
      pen.drawImage(this.ground.image, x, y, size, size, x * k, y * k, size * k, size * k);
      if (!border) return;
      pen.strokeStyle = OUTLINE; pen.lineWidth = 2 * k;
      pen.strokeRect((x + 1) * k, (y + 1) * k, (size - 1) * k, (size - 1) * k);
    }
  }

  function line(pen, x0, y0, x1, y1) { pen.beginPath(); pen.moveTo(x0, y0); pen.lineTo(x1, y1); pen.stroke(); }

  function disc(pen, center, k, radius, color) {
    pen.fillStyle = color; pen.beginPath(); pen.arc(center[0] * k, center[1] * k, radius, 0, 7); pen.fill();
  }

  function arrow(pen, x0, y0, x1, y1, size, color, edge) {
    const length = Math.max(Math.hypot(x1 - x0, y1 - y0), 1), ux = (x1 - x0) / length, uy = (y1 - y0) / length;
    const x = (x0 + x1) / 2 + (ux * size) / 2, y = (y0 + y1) / 2 + (uy * size) / 2;
    pen.beginPath(); pen.moveTo(x, y);
    pen.lineTo(x - ux * size - (uy * size) / 2, y - uy * size + (ux * size) / 2);
    pen.lineTo(x - ux * size + (uy * size) / 2, y - uy * size - (ux * size) / 2);
    pen.closePath();
    pen.lineWidth = 1; pen.strokeStyle = edge; pen.stroke(); pen.fillStyle = color; pen.fill();
  }

  function label(pen, text, x, y, color, halo, size) {
    pen.font = `600 ${size}px system-ui, sans-serif`;
    pen.lineJoin = "round"; pen.lineWidth = 3.5; pen.strokeStyle = halo; pen.strokeText(text, x, y);
    pen.fillStyle = color; pen.fillText(text, x, y);
  }

  return { Ground, PathView, MaskedView, ramp, css, svg, html, fit, RAMP };
})();
