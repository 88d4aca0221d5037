"""The panels of the comparison page by name, ours and those of other packages."""

from randsmooth.registry import Registry
from randsmooth.report.page.panel import Panel
from randsmooth.report.page.panels import (
    accuracy_curves,
    accuracy_table,
    acr_alternatives,
    against_baseline,
    answer,
    budget_curve,
    checks,
    classes,
    envelopes,
    findings,
    given_up,
    p_a_shares,
    provenance,
)

# Panels that are unfolded when the page opens.
OPEN = ("findings", "accuracy_curves")

# The first two stand above the evidence, in the order of which the others follow. Those
# of other packages come after ours, and provenance stands last.
FIRST = ("checks", "answer")
LAST = "provenance"

PANELS: Registry[Panel] = Registry(
    "panel",
    "randsmooth.panels",
    {
        "checks": checks,
        "answer": answer,
        "findings": findings,
        "accuracy_curves": accuracy_curves,
        "accuracy_table": accuracy_table,
        "p_a_shares": p_a_shares,
        "envelopes": envelopes,
        "against_baseline": against_baseline,
        "given_up": given_up,
        "acr_alternatives": acr_alternatives,
        "budget_curve": budget_curve,
        "classes": classes,
        "provenance": provenance,
    },
)
