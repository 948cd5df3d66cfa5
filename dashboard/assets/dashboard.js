/* What the dashboard does in the browser: theme, navigation, the player. */
"use strict";
(() => {
  const { Player, html } = window.MnistPro;
  const setProps = (id, props) => window.dash_clientside.set_props(id, props);
  let player = null;

  /* The theme is Mantine's; tables, figures and the player follow it. */
  function followScheme() {
    const scheme = document.documentElement.getAttribute("data-mantine-color-scheme");
    if (scheme !== "light" && scheme !== "dark") return;
    document.body.dataset.agThemeMode = scheme;
    if (window.dash_clientside.set_props) setProps("scheme", { data: scheme });
    if (player) player.restyle();
    document.dispatchEvent(new CustomEvent("mnistpro-scheme"));
  }
  new MutationObserver(followScheme).observe(document.documentElement, { attributes: true, attributeFilter: ["data-mantine-color-scheme"] });

  async function fetchJson(url) {
    const answer = await fetch(url);
    const content = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(content.error || `the dashboard answered ${answer.status}`);
    return content;
  }

  /* The table of that id, null while it is not there yet. */
  function gridApi(id) {
    try { return window.dash_ag_grid.getApi(id); } catch { return null; }
  }

  /* Have a table ask for its rows again, from the top. */
  function refill(id) {
    const api = gridApi(id);
    if (!api) return;
    api.deselectAll();
    if (api.getDisplayedRowCount()) api.ensureIndexVisible(0);
    api.purgeInfiniteCache();
  }

  const address = (run, episode, more) => `?${new URLSearchParams({ run, episode, ...more })}`;

  function go(search) { setProps("location", { pathname: "/episode", search }); }

  function head(scene) {
    const link = (text, name, id) => html("a", { class: "mp-button", href: id == null ? null : `/episode${address(scene.run, id)}`, "aria-label": name, title: name, "aria-disabled": id == null,
      onclick: (event) => { event.preventDefault(); if (id != null) go(address(scene.run, id)); } }, text);
    const save = (kind) => html("a", { class: "mp-button", href: `/export/${kind}${address(scene.run, scene.episode)}`, download: "", title: `Save the replay as ${kind.toUpperCase()}` }, kind.toUpperCase());
    const copy = html("button", { type: "button", class: "mp-button", onclick: async () => { await navigator.clipboard.writeText(location.href).catch(() => null); copy.textContent = "copied"; setTimeout(() => (copy.textContent = "copy link"), 1200); } }, "copy link");
    const list = html("a", { class: "mp-button", href: `/episode?${new URLSearchParams({ run: scene.run })}`, onclick: (event) => { event.preventDefault(); go(`?${new URLSearchParams({ run: scene.run })}`); } }, "list");
    return html("div", { class: "player-title" }, html("span", { class: "name", title: scene.run }, scene.run), html("span", {}, `#${scene.episode}`),
      html("span", { class: "mp-note" }, [scene.model, scene.memory].filter((part) => part && part !== "none").join(" · ").replaceAll("_", " ")), html("span", { class: "grow" }),
      link("‹ episode", "Previous episode", scene.neighbours[0]), link("episode ›", "Next episode", scene.neighbours[1]), list, copy, save("GIF".toLowerCase()), save("html"));
  }

  function remember(scene) {
    let waiting = null;
    return (moment, glimpse) => {
      clearTimeout(waiting);
      waiting = setTimeout(() => { if (location.pathname === "/episode") history.replaceState(history.state, "", address(scene.run, scene.episode, glimpse == null ? {} : { glimpse })); }, 150);
    };
  }

  async function mount({ run, episode, glimpse, step }) {
    const root = document.getElementById("player"), top = document.getElementById("player-head");
    if (player) player.destroy();
    player = null;
    root.replaceChildren(html("p", { class: "wait" }, "Loading the episode…"));
    try {
      const scene = await fetchJson(`/episode.json${address(run, episode)}`);
      if (!root.isConnected) return;
      top.replaceChildren(head(scene));
      player = new Player(root, scene, {
        glimpse: glimpse == null ? null : Number(glimpse), moment: step == null ? null : Number(step), onmove: remember(scene),
        fullText: async (step) => (await fetch(`/thought.txt${address(run, episode, { step })}`)).text(),
      });
      window.mnistproPlayer = player;
    } catch (error) {
      root.replaceChildren(html("div", { class: "wait", role: "alert" }, html("p", {}, `This episode cannot be shown: ${error.message}.`), html("p", {}, "Choose another one from the list of episodes.")));
    }
  }

  window.dash_clientside = Object.assign({}, window.dash_clientside, {
    mnistpro: {
      markLink(pathname) {
        followScheme();
        setTimeout(() => document.querySelectorAll(".nav-link").forEach((link) => {
          if (link.getAttribute("href") === (pathname || "/")) link.setAttribute("aria-current", "page");
          else link.removeAttribute("aria-current");
        }), 0);
        return window.dash_clientside.no_update;
      },
      chosenNote(runs) { return runs && runs.length ? `${runs.length} ${runs.length === 1 ? "run" : "runs"} chosen` : ""; },
      chooseRuns(_choose, _clear, rows) {
        const clear = window.dash_clientside.callback_context.triggered_id === "runs-clear";
        return clear || !rows || !rows.length ? null : [...new Set(rows.flatMap((row) => row.runs))];
      },
      mountPlayer(asked) { if (asked) setTimeout(() => mount(asked), 0); return window.dash_clientside.no_update; },
      openEpisode(cell) {
        const row = cell && gridApi("episodes").getDisplayedRowAtIndex(cell.rowIndex);
        if (row && row.data) go(address(row.data.run, row.data.source_episode_id));
        return window.dash_clientside.no_update;
      },
      refillEpisodes() { refill("episodes"); return window.dash_clientside.no_update; },
      refillRuns() { refill("runs"); return window.dash_clientside.no_update; },
    },
  });
})();
