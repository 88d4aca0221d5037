"use strict";
// The table: sorting, filtering, choosing two, and files of one's own.
(function () {
  const AT_FIRST = 200; // lines shown before the others are asked for
  const data = JSON.parse(document.getElementById("data").textContent);
  data.logs.forEach((line, place) => { line.place = place; });
  const board = document.getElementById("board"), body = board.tBodies[0];
  const [find, apart, shown, more, clear, file, added, refused, drop] = ["find", "apart", "shown", "more", "clear", "file", "added", "refused", "drop"].map((id) => document.getElementById(id));
  const picks = [...document.querySelectorAll("select[data-by]")];
  const heads = [...board.querySelectorAll("th[data-key]")];
  const files = []; // [name, lines] of the reader
  const rows = new Map(); // line -> its row, made when it is first shown
  let sorted = "p_a_at 0", way = -1, chosen = [], all = false;

  const lines = () => [...files.flatMap(([, own]) => own), ...data.logs];
  const nameOf = (line) => line.own ? line.name : [line.method || "unknown method", line.settings].filter(Boolean).join(", ");
  const titleOf = (line) => [nameOf(line), line.dataset, line.sigma === null ? null : `sigma ${line.sigma}`, line.repository].filter(Boolean).join(" · ");
  const wordsOf = (line) => [nameOf(line), line.dataset, line.method, line.repository, line.path, line.verdict, line.paper_says, line.paper_table].join(" ").toLowerCase();
  const percent = (share) => (share === null ? "–" : (100 * share).toFixed(1));

  function value(line, key) {
    if (key === "method") return nameOf(line);
    if (key === "acr") return line.acr[0];
    const [list, place] = key.split(" ");
    return place === undefined ? line[key] : line[list][Number(place)];
  }
  function cell(row, text, style, title) {
    const made = row.insertCell();
    made.textContent = text;
    if (style) made.className = style;
    if (title) made.title = title;
    return made;
  }
  function under(text, style) {
    const line = document.createElement("span"), words = document.createElement("bdi");
    line.className = style;
    words.textContent = text;
    line.append(words);
    return line;
  }
  function nameCell(line) {
    const head = document.createElement("th"), button = document.createElement("button"), name = document.createElement("bdi");
    head.scope = "row";
    button.type = "button";
    button.setAttribute("aria-pressed", "false");
    name.textContent = line.own ? line.name : line.method || "unknown method";
    button.append(name);
    button.addEventListener("click", () => choose(line));
    head.append(button);
    if (line.settings) head.append(under(line.settings, "settings"));
    head.append(under(line.repository || (line.own ? "added by you" : ""), "from"), under(line.path, "where"));
    head.title = `${[line.repository, line.path].filter(Boolean).join("/")}${line.copy_of ? `\na copy of ${line.copy_of}` : ""}`;
    return head;
  }
  function paper(line) { // what is shown, and what is said of it
    if (line.paper_acr === null || line.paper_acr === undefined) return [line.paper_says === "not printed" ? "–" : line.paper_says || "–", ""];
    const figures = `${line.paper_table} prints ACR ${line.paper_acr}, here ${line.acr[0].toFixed(3)}; ${line.paper_cells_differ} of ${line.paper_cells} cells differ by more than rounding (and, on other images, chance) explains`;
    return [`${line.paper_says}: ${line.paper_table}`, figures];
  }
  function make(line) {
    const row = document.createElement("tr");
    row.className = line.own ? "line own" : "line";
    row.append(nameCell(line));
    cell(row, [line.dataset || "–", line.split && line.split !== "test" ? line.split : ""].filter(Boolean).join(", "), "fact common");
    cell(row, line.sigma === null ? "–" : String(line.sigma), "num common");
    cell(row, line.images.toLocaleString("en"), "num common", `n ${line.n === null ? "not known" : line.n.toLocaleString("en")}, alpha ${line.alpha ?? "not known"}`);
    line.p_a_at.forEach((share, at) => cell(row, percent(share), at ? "" : "edge"));
    line.p_a_q.forEach((p, at) => cell(row, p === null ? "–" : p.toFixed(3), at ? "" : "edge"));
    line.certified.forEach((share, at) => cell(row, percent(share), at ? "" : "edge"));
    cell(row, line.outcome || line.verdict || "–", "said edge", [line.verdict, line.gaussian && `Gaussian: ${line.gaussian}`].filter(Boolean).join("\n"));
    const [text, title] = paper(line);
    cell(row, text, "said", title);
    const [acr, low, high] = line.acr;
    cell(row, acr === null ? "–" : acr.toFixed(3), "edge marked", acr === null ? "" : `95% interval ${low.toFixed(3)} to ${high.toFixed(3)}; misleading, see the footnote`);
    return row;
  }
  function rowOf(line) {
    if (!rows.has(line)) rows.set(line, make(line));
    return rows.get(line);
  }

  function show() {
    const wanted = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const asked = picks.filter((pick) => pick.value);
    const found = lines().filter((line) => asked.every((pick) => String(line[pick.dataset.by]) === pick.value) && wanted.every((word) => wordsOf(line).includes(word)));
    const values = new Map(found.map((line) => [line, value(line, sorted)]));
    const order = (a, b) => ordering.compare(values.get(a) ?? null, values.get(b) ?? null, way); // ties stay as they were
    found.sort(apart.checked ? (a, b) => a.setting - b.setting || order(a, b) : order);
    const most = all ? found.length : AT_FIRST, first = found.slice(0, most);
    body.replaceChildren(...(apart.checked ? withHeads(first, found) : first.map(rowOf)));
    board.classList.toggle("apart", apart.checked);
    more.hidden = found.length <= most;
    more.textContent = `show ${(found.length - most).toLocaleString("en")} more`;
    shown.textContent = `${found.length.toLocaleString("en")} of ${lines().length.toLocaleString("en")} logs found.`;
  }
  function withHeads(first, found) { // a row before those of each setting says what they share
    return first.flatMap((line, at) => (at && first[at - 1].setting === line.setting ? [] : [headOf(line, found)]).concat(rowOf(line)));
  }
  function headOf(line, found) {
    const row = document.createElement("tr"), head = document.createElement("th"), text = document.createElement("span");
    const count = found.filter((one) => one.setting === line.setting).length;
    row.className = "setting";
    head.colSpan = heads.length;
    head.scope = "rowgroup";
    text.textContent = `${line.own ? "added by you" : data.settings[line.setting]} · ${count.toLocaleString("en")} ${count === 1 ? "log" : "logs"}`;
    head.append(text);
    row.append(head);
    return row;
  }
  function offer() { // the values that occur, in each filter
    for (const pick of picks) {
      const before = pick.value, known = [...new Set(lines().map((line) => line[pick.dataset.by]).filter((one) => one !== null))];
      known.sort((a, b) => ordering.compare(a, b, 1));
      pick.replaceChildren(pick.options[0], ...known.map((one) => new Option(String(one), String(one))));
      pick.value = known.some((one) => String(one) === before) ? before : "";
    }
  }
  function choose(line) {
    const there = chosen.some(([one]) => one === line);
    const kept = chosen.filter(([one]) => one !== line);
    chosen = there ? kept : [...kept.slice(-1), [line, charts.COLOURS.find((colour) => kept.slice(-1).every(([, taken]) => taken !== colour))]];
    for (const [one, row] of rows) {
      const [, colour] = chosen.find(([other]) => other === one) || [];
      row.cells[0].querySelector("button").setAttribute("aria-pressed", String(colour !== undefined));
      row.cells[0].style.setProperty("--drawn", colour || "transparent");
    }
    comparison.draw(chosen, data, titleOf, choose);
  }

  function listFiles() {
    added.replaceChildren(...files.map((entry) => {
      const item = document.createElement("li"), name = document.createElement("bdi"), button = document.createElement("button");
      name.textContent = entry[0];
      button.type = "button";
      button.textContent = "take away";
      button.addEventListener("click", () => {
        files.splice(files.indexOf(entry), 1);
        [...chosen].filter(([line]) => entry[1].includes(line)).forEach(([line]) => choose(line));
        entry[1].forEach((line) => rows.delete(line));
        renew();
      });
      item.append(name, ` (${entry[1].length.toLocaleString("en")} ${entry[1].length === 1 ? "table" : "tables"}) `, button);
      return item;
    }));
  }
  function renew() {
    listFiles();
    offer();
    show();
  }
  async function take(given) {
    const reasons = [];
    drop.setAttribute("aria-busy", "true");
    for (const one of given) {
      try {
        files.push([own.printable(one.name), await own.open(one, data)]); // eslint-disable-line no-await-in-loop -- in the order given
      } catch (error) {
        reasons.push(error instanceof own.Refused ? error.message : `${own.printable(one.name)} cannot be read.`);
      }
    }
    refused.textContent = reasons.join("\n");
    drop.setAttribute("aria-busy", "false");
    renew();
  }
  file.addEventListener("change", () => { take([...file.files]); file.value = ""; });
  addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  addEventListener("dragleave", () => drop.classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    take([...event.dataTransfer.files]);
  });

  heads.forEach((head) => head.querySelector("button").addEventListener("click", () => {
    const key = head.dataset.key, numeric = lines().some((line) => typeof value(line, key) === "number");
    way = key === sorted ? -way : numeric ? -1 : 1;
    sorted = key;
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", way < 0 ? "descending" : "ascending");
    show();
  }));
  find.addEventListener("input", show);
  picks.forEach((pick) => pick.addEventListener("change", show));
  apart.addEventListener("change", show);
  more.addEventListener("click", () => { all = true; show(); });
  clear.addEventListener("click", () => [...chosen].forEach(([line]) => choose(line)));
  document.querySelectorAll(".js").forEach((element) => element.classList.remove("js"));
  renew();
})();
