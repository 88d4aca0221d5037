"""The panels of the comparison page, in the order of the page: a module with its template beside it each.

Another package adds one by an entry point of the group `randsmooth.panels` that names its module; see
`page.contract.Panel` for what the module holds. Panels of other packages come after ours.
"""

from randsmooth.registry import Registry
from randsmooth.report.page.contract import Panel

NAMES = (
    "accuracy_table",
    "p_a_shares",
    "accuracy_curves",
    "against_baseline",
    "given_up",
    "acr_alternatives",
    "budget_curve",
    "classes",
    "provenance",
)
PANELS: Registry[Panel] = Registry("panel", "randsmooth.panels", {name: f"{__name__}.{name}" for name in NAMES})
