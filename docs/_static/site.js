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
