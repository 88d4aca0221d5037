// Pages opened from a folder may not read others: the search then shows titles without an extract.
if (location.protocol === "file:" && window.DOCUMENTATION_OPTIONS) {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}
