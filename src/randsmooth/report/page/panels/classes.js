// The class table at the radius that the reader picks.
(function () {
  const { radii, cells } = report.data.panels.classes, pick = document.getElementById("pick");
  const percent = (tenths) => (tenths / 10).toFixed(1);
  function fill() {
    document.getElementById("at").textContent = radii[pick.value];
    [...document.getElementById("cells").rows].forEach((line, row) => cells[pick.value][row].forEach((cell, column) => {
      const td = line.cells[column + 2];
      td.textContent = cell ? percent(cell[0]) : "–";
      td.title = cell ? `95% interval ${percent(cell[1])} to ${percent(cell[2])}` : "";
      td.className = cell ? "heat" : "";
      td.style.setProperty("--v", cell ? Math.floor(cell[0] / 10) : 0);
    }));
  }
  pick.addEventListener("change", fill);
})();
