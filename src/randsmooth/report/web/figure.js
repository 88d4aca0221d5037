"use strict";
(function () {
  const panels = JSON.parse(document.getElementById("data").textContent), figure = document.getElementById("figure");
  figure.append(...panels.map(() => document.createElement("div")));  // all, before the first takes its width
  panels.forEach((panel, i) => Plotly.newPlot(figure.children[i], panel.data, panel.layout, { responsive: true, displayModeBar: false }));
})();
