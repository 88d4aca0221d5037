"""What the p_A curves say of every method against the baseline, in words that the numbers alone decide."""

from __future__ import annotations

import math
from collections.abc import Sequence

from randsmooth.metrics import BETTER, CROSSES, NO_DIFFERENCE, WORSE, Estimate, Verdict
from randsmooth.report.sheet import Sheet
from randsmooth.report.versus import Versus

GROUPED = {BETTER: ("is", "are"), WORSE: ("is", "are"), NO_DIFFERENCE: ("shows", "show")}


def sentence(sheet: Sheet, compared: Sequence[Versus]) -> str:
    """`By p_A, against gaussian: a is better everywhere; crossing it, ahead beyond: b at r = 0.37 (0.35 to 0.38).`"""
    known = [(sheet.tables[one.row].name, one.verdict) for one in compared if one.verdict is not None]
    if sheet.baseline is None or not known:
        return ""
    said = []
    for outcome, (one, many) in GROUPED.items():
        names = [name for name, verdict in known if verdict.outcome == outcome]
        if names:
            said.append(f"{_joined(names)} {one if len(names) == 1 else many} {outcome}")
    crossed = [(name, verdict) for name, verdict in known if verdict.outcome == CROSSES]
    for word, ahead in (("ahead", True), ("behind", False)):
        places = [f"{name} at {_place(verdict)}" for name, verdict in crossed if (verdict.overtaker == name) == ahead]
        if places:
            said.append(f"crossing it, {word} beyond: {', '.join(places)}")
    for reason in dict.fromkeys(one.untold for one in compared if one.untold):
        said.append(f"of {_joined([sheet.tables[one.row].name for one in compared if one.untold == reason])} {reason}")
    return f"By p_A, against {sheet.tables[sheet.baseline].name}: {'; '.join(said)}{_scope(known)}."


def words(one: Versus, name: str) -> str:
    """The verdict on the table called `name`, as a cell of the table prints it."""
    if one.verdict is None:
        return one.untold
    return crossing(one.verdict, name) if one.verdict.outcome == CROSSES else one.verdict.outcome


def crossing(verdict: Verdict, name: str) -> str:
    """`crosses at r = 0.37 (0.35 to 0.38), ahead beyond`; in p_A where the tables' settings differ."""
    return f"{CROSSES} at {_place(verdict)}, {'ahead' if verdict.overtaker == name else 'behind'} beyond"


def _place(verdict: Verdict) -> str:
    if verdict.radius is not None:
        return f"r = {_span(verdict.radius, 2)}"
    return f"p_A = {_span(verdict.p_a, 3)}" if verdict.p_a is not None else "an unknown p_A"


def _span(estimate: Estimate, digits: int) -> str:
    """Value and interval: rounded down, its upper end up, so that it holds as printed."""
    scale = 10.0**digits
    low, value = (math.floor(end * scale + 1e-9) / scale for end in (estimate.low, estimate.value))
    high = math.ceil(estimate.high * scale - 1e-9) / scale
    return f"{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _scope(known: Sequence[tuple[str, Verdict]]) -> str:
    """What the sentence does not cover."""
    return "; p_A below 1/2 is not in the logs" if any(verdict.curve.x[0] >= 0.5 for _, verdict in known) else ""
