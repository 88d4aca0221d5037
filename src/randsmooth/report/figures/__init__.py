"""Curves and other figures, drawn by matplotlib for paper and by Plotly for the browser."""
