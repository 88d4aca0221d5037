"""What a person reads: tables in five formats, sentences, figures and the page.

Figures and the page load their plot library when they are called, not before.
"""

from randsmooth.report.envelopes import by_method, envelope_panels, envelopes
from randsmooth.report.figures import p_a_curves, radius_accuracy
from randsmooth.report.leaderboard import Entry, leaderboard, measure, write_leaderboard
from randsmooth.report.lost import Pictures
from randsmooth.report.page import page, write
from randsmooth.report.panels import Line, Panel, draw
from randsmooth.report.sentence import what_acr_hides
from randsmooth.report.sheet import remarks
from randsmooth.report.tables import FORMATS, render

__all__ = [
    "FORMATS",
    "Entry",
    "Line",
    "Panel",
    "Pictures",
    "by_method",
    "draw",
    "envelope_panels",
    "envelopes",
    "leaderboard",
    "measure",
    "p_a_curves",
    "page",
    "radius_accuracy",
    "remarks",
    "render",
    "what_acr_hides",
    "write",
    "write_leaderboard",
]
