"use strict";
(function () {
  const figure = JSON.parse(document.getElementById("data").textContent);
  Plotly.newPlot("figure", figure.data, figure.layout, { responsive: true });
})();
