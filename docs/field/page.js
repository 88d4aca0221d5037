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
  const unfolded = new Set(); // sweeps
  let sorted = "ranked_by", way = -1, chosen = [], all = false;

  const lines = () => [...files.flatMap(([, own]) => own), ...data.logs];
  const methodOf = (line) => [line.method || "unknown method", line.more_data && "more data"].filter(Boolean).join(", ");
  const nameOf = (line) => line.own ? line.name : [methodOf(line), line.settings].filter(Boolean).join(", ");
  const sweepOf = (line) => `${line.own ? `own ${line.path} ${line.name}` : methodOf(line)} ${line.setting}`;
  const titleOf = (line) => [nameOf(line), line.dataset, line.sigma === null ? null : `sigma ${line.sigma}`, line.repository].filter(Boolean).join(" · ");
  const wordsOf = (line) => [nameOf(line), line.dataset, line.method, line.repository, line.path, line.verdict, line.paper_says, line.paper_table].join(" ").toLowerCase();
  const percent = (share) => (share === null ? "–" : (100 * share + 1e-9).toFixed(1));

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
    name.textContent = line.own ? line.name : methodOf(line);
    button.append(name);
    button.addEventListener("click", () => choose(line));
    head.append(button, under([line.settings, line.repository || (line.own ? "added by you" : "")].filter(Boolean).join(" · "), "where"));
    head.title = `${[line.repository, line.path].filter(Boolean).join("/")}${line.copy_of ? `\na copy of ${line.copy_of}` : ""}`;
    return head;
  }
  function paper(line) { // what is shown, and what is said of it
    if (line.paper_acr === null || line.paper_acr === undefined) return [line.paper_says === "not printed" ? "–" : line.paper_says || "–", ""];
    const figures = `${line.paper_table} prints ACR ${line.paper_acr}, here ${line.acr[0].toFixed(3)}; ${line.paper_cells_differ} of ${line.paper_cells} cells differ by more than rounding (and, on other images, chance) explains`;
    return [line.paper_says, figures];
  }
  function make(line) {
    const row = document.createElement("tr");
    row.className = line.own ? "line own" : "line";
    row.append(nameCell(line));
    cell(row, [line.dataset || "–", line.split && line.split !== "test" ? line.split : ""].filter(Boolean).join(", "), "fact common");
    cell(row, line.sigma === null ? "–" : String(line.sigma), "num common");
    cell(row, line.images.toLocaleString("en"), "num common", `n ${line.n === null ? "not known" : line.n.toLocaleString("en")}, alpha ${line.alpha ?? "not known"}`);
    line.p_a_at.forEach((share, at) => cell(row, percent(share), at ? "" : "edge"));
    line.certified.forEach((share, at) => cell(row, percent(share), at ? "" : "edge"));
    cell(row, line.outcome || line.verdict || "–", "said edge", [line.verdict, line.gaussian && `Gaussian: ${line.gaussian}`].filter(Boolean).join("\n"));
    const [text, title] = paper(line);
    cell(row, text, "said", title);
    const [acr, low, high] = line.acr;
    cell(row, acr === null ? "–" : acr.toFixed(3), "edge marked", acr === null ? "" : `95% interval ${low.toFixed(3)} to ${high.toFixed(3)}; misleading, see the footnote`);
    return row;
  }
  function rowOf(line, sweep = "", others = null) {
    if (!rows.has(line)) rows.set(line, make(line));
    fold(rows.get(line), sweep, others);
    return rows.get(line);
  }

  function sortBy(key, direction) {
    sorted = key;
    way = direction;
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads.find((head) => head.dataset.key === key).setAttribute("aria-sort", way < 0 ? "descending" : "ascending");
  }
  function show() {
    if (sorted === "ranked_by" && !apart.checked) sortBy("p_a_at 2", -1); // radii differ from one setting to the next
    const wanted = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const asked = picks.filter((pick) => pick.value);
    const found = lines().filter((line) => asked.every((pick) => String(line[pick.dataset.by]) === pick.value) && wanted.every((word) => wordsOf(line).includes(word)));
    const values = new Map(found.map((line) => [line, value(line, sorted)]));
    const order = (a, b) => ordering.compare(values.get(a) ?? null, values.get(b) ?? null, way); // ties stay as they were
    found.sort(apart.checked ? (a, b) => a.setting - b.setting || order(a, b) : order);
    const laid = apart.checked ? folded(found) : found.map((line) => () => rowOf(line)); // a row is made when it is shown
    const most = all ? laid.length : AT_FIRST;
    body.replaceChildren(...laid.slice(0, most).map((row) => row()));
    board.classList.toggle("apart", apart.checked);
    more.hidden = laid.length <= most;
    more.textContent = `show ${(laid.length - most).toLocaleString("en")} more`;
    shown.textContent = `${found.length.toLocaleString("en")} of ${lines().length.toLocaleString("en")} logs found.`;
  }
  function folded(found) { // what makes the rows: a head for each setting, then one row a method, the others of its sweep folded under it
    const sweeps = new Map(), laid = [];
    found.forEach((line) => sweeps.set(sweepOf(line), sweeps.get(sweepOf(line)) || []).get(sweepOf(line)).push(line));
    let setting = null;
    for (const [sweep, [first, ...others]] of sweeps) {
      if (first.setting !== setting) laid.push(() => headOf(first, found));
      setting = first.setting;
      laid.push(() => rowOf(first, sweep, others.length));
      if (unfolded.has(sweep)) laid.push(...others.map((line) => () => rowOf(line, sweep)));
    }
    return laid;
  }
  function fold(row, sweep, count) { // the button that shows the others of a sweep
    row.classList.toggle("rest", count === null && sweep !== "");
    row.querySelector(".fold")?.remove();
    if (!count) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "fold";
    button.textContent = `+ ${count.toLocaleString("en")}`;
    button.title = `${count.toLocaleString("en")} more of this method here`;
    button.setAttribute("aria-label", button.title);
    button.setAttribute("aria-expanded", String(unfolded.has(sweep)));
    button.addEventListener("click", () => {
      if (!unfolded.delete(sweep)) unfolded.add(sweep);
      show();
      row.querySelector(".fold").focus();
    });
    row.cells[0].firstChild.after(button);
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
    sortBy(key, key === sorted ? -way : numeric ? -1 : 1);
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
