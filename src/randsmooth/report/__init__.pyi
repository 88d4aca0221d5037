from .envelopes import by_method as by_method, envelope_panels as envelope_panels, envelopes as envelopes
from .figures import p_a_curves as p_a_curves, radius_accuracy as radius_accuracy
from .leaderboard import Entry as Entry, leaderboard as leaderboard, measure as measure, write_leaderboard as write_leaderboard
from .lost import Pictures as Pictures
from .page import page as page, write as write
from .panels import Line as Line, Panel as Panel, draw as draw
from .sentence import what_acr_hides as what_acr_hides
from .sheet import remarks as remarks
from .tables import FORMATS as FORMATS, render as render
