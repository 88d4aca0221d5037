"""The sheet as text, Markdown, LaTeX, CSV and JSON."""
