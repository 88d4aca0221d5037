from .envelopes import by_method as by_method
from .envelopes import envelope_panels as envelope_panels
from .envelopes import envelopes as envelopes
from .figures import p_a_curves as p_a_curves
from .figures import radius_accuracy as radius_accuracy
from .leaderboard import (
    Entry as Entry,
)
from .leaderboard import (
    leaderboard as leaderboard,
)
from .leaderboard import (
    measure as measure,
)
from .leaderboard import (
    write_leaderboard as write_leaderboard,
)
from .lost import Pictures as Pictures
from .page import page as page
from .page import write as write
from .panels import Line as Line
from .panels import Panel as Panel
from .panels import draw as draw
from .sentence import what_acr_hides as what_acr_hides
from .sheet import remarks as remarks
from .tables import FORMATS as FORMATS
from .tables import render as render
