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
  const media = { light: "not all", dark: "all" };
  const follow = () => {
    for (const source of document.querySelectorAll("picture source")) {
      source.media = media[document.body.dataset.theme] ?? "(prefers-color-scheme: dark)";
    }
  };
  new MutationObserver(follow).observe(document.body, { attributeFilter: ["data-theme"] });
  follow();
});
