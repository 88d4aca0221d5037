"use strict";
// Reads the JSON that `randsmooth leaderboard` writes into lines of the table. Whatever is in it stays text.
const own = (function () {
  const MOST_BYTES = 20e6, MOST_TABLES = 5000, MOST_POINTS = 200, LONGEST = 200, FAR = 1000; // FAR: no radius is larger
  const WAY_OUT = "Give the file that `randsmooth leaderboard` writes beside its page, such as leaderboard.json.";

  class Refused extends Error {}
  // A text on one line, with what cannot be seen or turns the direction of writing spelled out.
  const printable = (given) => Array.from(given.slice(0, 2 * LONGEST), (letter) => (/[\p{C}\p{Zl}\p{Zp}]/u.test(letter) ? `\\u${letter.codePointAt(0).toString(16).padStart(4, "0")}` : letter))
    .join("").slice(0, LONGEST);

  function check(held, where, what) {
    if (!held) throw new Refused(`${where} must be ${what}. ${WAY_OUT}`);
  }
  const isNumber = (value, least, most) => typeof value === "number" && Number.isFinite(value) && value >= least && value <= most;
  const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

  function text(record, key, where) { // a text, or null
    const value = Object.hasOwn(record, key) ? record[key] : null;
    check(value === null || typeof value === "string", `${where}, "${key}"`, "a text or null");
    return value === null || value === "" ? null : printable(value);
  }
  function number(record, key, where, least, most, words) { // a number, or null
    const value = Object.hasOwn(record, key) ? record[key] : null;
    check(value === null || isNumber(value, least, most), `${where}, "${key}"`, `${words} or null`);
    return value;
  }
  function points(record, key, x, farthest, where) { // [[x, share]], ascending
    const value = Object.hasOwn(record, key) ? record[key] : [];
    check(Array.isArray(value) && value.length <= MOST_POINTS && value.every(isObject), `${where}, "${key}"`, `a list of at most ${MOST_POINTS} points`);
    const found = value.filter((point) => point.value !== null && point.value !== undefined).map((point) => [point[x], point.value]);
    check(found.every(([at, share]) => isNumber(at, 0, farthest) && isNumber(share, 0, 1)), `${where}, "${key}"`, "a list of shares between 0 and 1");
    return found.sort((a, b) => a[0] - b[0]);
  }
  function estimate(record, key, most, where) { // [value, low, high], or [null, null, null]
    const value = Object.hasOwn(record, key) ? record[key] : null;
    if (value === null) return [null, null, null];
    check(isObject(value), `${where}, "${key}"`, "an estimate or null");
    const ends = [value.value, value.low, value.high];
    check(ends.every((end) => isNumber(end, 0, most)), `${where}, "${key}"`, "three numbers of at least 0");
    return ends;
  }
  const at = (found, x) => found.find(([place]) => Math.abs(place - x) < 1e-9)?.[1] ?? null;

  function line(record, where, data) {
    check(isObject(record), where, "a table");
    check(typeof record.name === "string" && record.name !== "", `${where}, "name"`, "a text");
    check(Number.isInteger(record.images) && isNumber(record.images, 1, 1e9), `${where}, "images"`, "a number of images");
    const pA = points(record, "p_A", "at_least", 1, where), certified = points(record, "certified_accuracy", "radius", FAR, where);
    const [smoothed] = estimate(record, "smoothed_accuracy", 1, where);
    if (smoothed !== null && at(certified, 0) === null) certified.unshift([0, smoothed]);
    const ranked = Object.hasOwn(record, "ranked_by") && isObject(record.ranked_by) ? record.ranked_by : {};
    const judged = Object.hasOwn(record, "against") && isObject(record.against) ? record.against : {};
    return {
      own: true,
      setting: -1, // before all others
      name: printable(record.name),
      path: text(record, "file", where) ?? printable(record.name),
      ...Object.fromEntries(["dataset", "split", "method", "settings", "repository"].map((key) => [key, text(record, key, where)])),
      sigma: number(record, "sigma", where, 0, FAR, "a number of at least 0"),
      n: number(record, "n", where, 1, 1e12, "a number of samples"),
      alpha: number(record, "alpha", where, 0, 1, "a number between 0 and 1"),
      images: record.images,
      ranked_by: number(ranked, "value", `${where}, "ranked_by"`, 0, 1, "a share"),
      p_a_at: data.p_a_levels.map((level) => at(pA, level)),
      certified: data.radii.map((radius) => at(certified, radius)),
      acr: estimate(record, "acr", FAR, where),
      verdict: text(judged, "words", `${where}, "against"`),
      outcome: text(judged, "words", `${where}, "against"`),
      gaussian: text(judged, "baseline", `${where}, "against"`),
      paper_says: null,
      curves: { p_a: pA, accuracy: certified },
    };
  }

  // The lines of a file, or an Error with a sentence on what is wrong with it.
  function read(name, content, data) {
    const called = printable(name);
    let records;
    try {
      records = JSON.parse(content);
    } catch {
      throw new Refused(`${called} is not JSON. ${WAY_OUT}`);
    }
    check(Array.isArray(records) && records.length > 0, called, "a list of tables");
    if (records.length > MOST_TABLES) throw new Refused(`${called} has ${records.length} tables; at most ${MOST_TABLES} are read at once.`);
    return records.map((record, place) => line(record, `${called}: table ${place + 1}`, data));
  }
  async function open(file, data) {
    if (file.size > MOST_BYTES) throw new Refused(`${printable(file.name)} has more than ${MOST_BYTES / 1e6} MB, the most that is read here.`);
    return read(file.name, await file.text(), data);
  }
  return { Refused, open, printable };
})();
