"use strict";
// Draws the figures that a page names by <div class="rs-figure" data-figure="NAME">, in place of their pictures.
(function () {
  const figures = window.randsmoothFigures || {};

  function colours() {
    const style = getComputedStyle(document.body);
    const value = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
    return { ink: value("--color-foreground-primary", "#333"), line: value("--color-background-border", "#ccc"),
      ground: value("--color-background-primary", "#fff") };
  }

  function merged(base, patch) {
    const result = { ...base };
    for (const key of Object.keys(patch)) {
      const both = typeof patch[key] === "object" && !Array.isArray(patch[key]) && typeof base[key] === "object";
      result[key] = both ? merged(base[key], patch[key]) : patch[key];
    }
    return result;
  }

  function layoutOf(figure, state) {
    const { ink, line, ground } = colours();
    const axis = { automargin: true, title: { standoff: 12 }, fixedrange: true, gridcolor: line, zerolinecolor: line, linecolor: line };
    const look = { xaxis: axis, yaxis: axis, font: { color: ink, size: 13 }, margin: { l: 44, r: 10, t: 10, b: 44 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", dragmode: false, hovermode: "x unified",
      hoverlabel: { bgcolor: ground, font: { color: ink } } };
    return merged(merged(look, figure.layout), state.layout);
  }

  function slider(figure, show) {
    const input = document.createElement("input");
    Object.assign(input, { type: "range", min: 0, max: figure.states.length - 1, value: figure.start });
    // Else a screen reader tells the number of the state in place of its label.
    const tell = () => input.setAttribute("aria-valuetext", figure.states[Number(input.value)].label);
    input.addEventListener("input", () => { tell(); show(Number(input.value)); });
    tell();
    return input;
  }

  function choice(figure, show) {
    const select = document.createElement("select");
    figure.states.forEach((state, i) => select.add(new Option(state.label, String(i), i === figure.start, i === figure.start)));
    select.addEventListener("change", () => show(Number(select.value)));
    return select;
  }

  function draw(place, figure) {
    const plot = document.createElement("div");
    plot.setAttribute("role", "img");
    // The text of the picture that the plot replaces: it says what both show.
    plot.setAttribute("aria-label", place.querySelector("img").alt);
    const text = document.createElement("p");
    text.className = "rs-figure-text";
    text.setAttribute("aria-live", "polite");
    const value = document.createElement("b");
    let at = figure.start;
    const show = (i) => {
      at = i;
      const state = figure.states[i];
      text.textContent = state.text;
      if (figure.control === "slider") value.textContent = " " + state.label;
      window.Plotly.react(plot, state.data, layoutOf(figure, state), { displayModeBar: false });
    };
    const parts = [plot, text];
    if (figure.control) {
      const control = figure.control === "slider" ? slider(figure, show) : choice(figure, show);
      const label = document.createElement("label");
      label.append(figure.question, value, " ", control);
      parts.unshift(label);
    }
    place.replaceChildren(...parts);
    show(at);
    new ResizeObserver(() => window.Plotly.Plots.resize(plot)).observe(place);
    const again = () => show(at);
    new MutationObserver(again).observe(document.body, { attributes: true, attributeFilter: ["data-theme"] });
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  }

  function drawAll() {
    if (!window.Plotly) return;
    for (const place of document.querySelectorAll(".rs-figure[data-figure]")) {
      const figure = figures[place.dataset.figure];
      if (figure) draw(place, figure);
    }
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", drawAll);
  else drawAll();
})();
