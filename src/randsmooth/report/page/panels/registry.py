"""The panels of the comparison page by name, ours and those of other packages."""

from randsmooth.registry import Registry
from randsmooth.report.page.panel import Panel
from randsmooth.report.page.panels import (
    accuracy_curves,
    accuracy_table,
    acr_alternatives,
    against_baseline,
    budget_curve,
    checks,
    classes,
    envelopes,
    given_up,
    p_a_shares,
    provenance,
)

# In the order of the page. Those of other packages come after ours.
PANELS: Registry[Panel] = Registry(
    "panel",
    "randsmooth.panels",
    {
        "checks": checks,
        "accuracy_table": accuracy_table,
        "p_a_shares": p_a_shares,
        "accuracy_curves": accuracy_curves,
        "envelopes": envelopes,
        "against_baseline": against_baseline,
        "given_up": given_up,
        "acr_alternatives": acr_alternatives,
        "budget_curve": budget_curve,
        "classes": classes,
        "provenance": provenance,
    },
)
