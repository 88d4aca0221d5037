// Pages opened from a folder may not read others: the search then shows titles without an extract.
if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

// A short word of code, such as an option, goes to the next line as a whole, not after its first dash.
addEventListener("DOMContentLoaded", () => {
  for (const word of document.querySelectorAll("code .pre")) {
    if (word.textContent.length < 24) word.style.whiteSpace = "nowrap";
  }
});

// A picture that is drawn for light and for dark pages follows the page's own switch, not the system alone.
addEventListener("DOMContentLoaded", () => {
  const sources = [...document.querySelectorAll("picture source[media*=dark]")];
  const written = sources.map((source) => source.media);
  // Conditions that never hold and that always hold: "not all" would turn a whole list round.
  const media = { light: "(max-width: 0)", dark: "(min-width: 0)" };
  const follow = () => {
    const chosen = media[document.body.dataset.theme] ?? "(prefers-color-scheme: dark)";
    sources.forEach((source, i) => {
      source.media = written[i].replace("(prefers-color-scheme: dark)", chosen);
    });
  };
  new MutationObserver(follow).observe(document.body, { attributeFilter: ["data-theme"] });
  follow();
});

// A screen reader tells the two lists beside a page apart by their names.
addEventListener("DOMContentLoaded", () => {
  const names = { ".sidebar-drawer": "Pages", ".toc-drawer": "On this page" };
  for (const [list, name] of Object.entries(names)) {
    document.querySelector(list)?.setAttribute("aria-label", name);
  }
});
