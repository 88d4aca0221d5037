"use strict";
// The page: its data, its charts, and the legends that show and hide a table. Scripts of panels follow and use `report`.
const report = (function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const drawn = Object.keys(data.plots).filter((id) => document.getElementById(id));

  function theme() {
    const set = {
      "font.color": css("--ink"), "font.family": getComputedStyle(document.body).fontFamily,
      "hoverlabel.bgcolor": css("--panel"), "hoverlabel.bordercolor": css("--line"), "hoverlabel.font.color": css("--ink"),
    };
    for (const axis of ["xaxis", "yaxis"]) {
      set[axis + ".gridcolor"] = set[axis + ".zerolinecolor"] = set[axis + ".linecolor"] = css("--line");
    }
    return set;
  }
  function themed(layout) {
    const copy = structuredClone(layout);
    for (const [path, value] of Object.entries(theme())) {
      const keys = path.split("."), last = keys.pop();
      keys.reduce((at, key) => (at[key] ??= {}), copy)[last] = value;
    }
    return copy;
  }
  for (const id of drawn) {
    Plotly.newPlot(id, data.plots[id].data, themed(data.plots[id].layout), { responsive: true, displaylogo: false, displayModeBar: false });
  }
  const repaint = () => drawn.forEach((id) => Plotly.relayout(id, theme()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  matchMedia("print").addEventListener("change", repaint);

  const buttons = [...document.querySelectorAll(".legend button")], watchers = [];
  const shown = (row) => buttons.some((button) => button.dataset.row === String(row) && button.getAttribute("aria-pressed") === "true");
  function toggle(row) {
    const show = !shown(row);
    buttons.filter((button) => button.dataset.row === row).forEach((button) => button.setAttribute("aria-pressed", String(show)));
    for (const id of drawn) {
      const traces = data.plots[id].data.flatMap((trace, i) => (trace.legendgroup === row ? [i] : []));
      if (traces.length) Plotly.restyle(id, { visible: show }, traces);
    }
    watchers.forEach((watcher) => watcher());
  }
  buttons.forEach((button) => button.addEventListener("click", () => toggle(button.dataset.row)));
  document.querySelectorAll(".js").forEach((element) => element.classList.remove("js"));

  // A folded chart has no width, so it is laid out when its panel is unfolded.
  const panels = [...document.querySelectorAll("details.panel")];
  function layOut(panel) {
    for (const id of drawn) {
      if (panel.open && panel.contains(document.getElementById(id))) Plotly.Plots.resize(id);
    }
  }
  panels.forEach((panel) => panel.addEventListener("toggle", () => layOut(panel)));
  // A link unfolds what it leads to.
  function unfold() {
    const panel = document.getElementById(location.hash.slice(1));
    if (panels.includes(panel)) {
      panel.open = true;
      panel.scrollIntoView();
    }
  }
  addEventListener("hashchange", unfold);
  unfold();
  document.getElementById("unfold").addEventListener("click", () => panels.forEach((panel) => { panel.open = true; }));

  return {
    data,
    css,
    isDrawn: (id) => drawn.includes(id),
    shown, // whether the curves of the table of a row are
    onToggle: (watcher) => watchers.push(watcher),
  };
})();
