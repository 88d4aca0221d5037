"""The outcome of the conditions on a table as JSON, JUnit's XML, or GitHub annotations."""

import json
from typing import Any
from xml.etree import ElementTree

from randsmooth import escape
from randsmooth.metrics import CheckedConditions, JudgedCondition, NoWorse
from randsmooth.metrics.requirements import NOT_ENOUGH, REFUTED, SHOWN, judged_sentence

# Outcome of a condition -> the kind of annotation on GitHub.
LEVELS = {SHOWN: "notice", REFUTED: "error", NOT_ENOUGH: "warning"}


def check_to_json(checked: CheckedConditions) -> str:
    """Return as JSON the outcome of all conditions together, and that of each.

    Shares are between 0 and 1, differences between -1 and 1.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> from randsmooth.metrics import check
        >>> table = from_radii([0.8] * 150 + [0.1] * 50, name="new")
        >>> json.loads(check_to_json(check(table, at=0.5, least=0.6)))["outcome"]
        'shown'
    """
    document = {
        "table": checked.name,
        "outcome": checked.outcome,
        "confidence": checked.confidence,
        "runs": checked.runs,
        "images_needed": checked.images_needed,
        "conditions": [_facts(judged) for judged in checked.conditions],
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def _facts(judged: JudgedCondition) -> dict[str, Any]:
    """Return a condition, its outcome and the figures behind it, for JSON."""
    condition = judged.condition
    facts: dict[str, Any] = {"at": condition.at}
    # A condition compares with a baseline, or asks for a least share.
    if isinstance(condition, NoWorse):
        facts["baseline"] = condition.baseline.name
        facts["margin"] = condition.margin
    else:
        facts["least"] = condition.least
    return facts | {
        "outcome": judged.outcome,
        "value": judged.estimate.value,
        "low": judged.estimate.low,
        "high": judged.estimate.high,
        "images": judged.estimate.images,
        "images_needed": judged.images_needed,
    }


def check_to_junit(checked: CheckedConditions) -> str:
    """Return a test suite in JUnit's XML: a test for each condition.

    A refuted condition is a failure. A condition for which there are not enough images is
    an error, since nothing was shown.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> from randsmooth.metrics import check
        >>> table = from_radii([0.8] * 150 + [0.1] * 50, name="new")
        >>> suite = ElementTree.fromstring(check_to_junit(check(table, at=0.5, least=0.9)))
        >>> suite.get("failures")
        '1'
    """
    outcomes = [judged.outcome for judged in checked.conditions]
    suite = ElementTree.Element(
        "testsuite",
        name=f"randsmooth check {escape.printable(checked.name)}",
        tests=str(len(outcomes)),
        failures=str(outcomes.count(REFUTED)),
        errors=str(outcomes.count(NOT_ENOUGH)),
    )
    for judged in checked.conditions:
        name = escape.printable(str(judged.condition))
        case = ElementTree.SubElement(
            suite, "testcase", classname="randsmooth.check", name=name
        )
        message = escape.printable(judged_sentence(judged))
        if judged.outcome == REFUTED:
            ElementTree.SubElement(case, "failure", message=message, type=REFUTED)
        elif judged.outcome == NOT_ENOUGH:
            ElementTree.SubElement(case, "error", message=message, type=NOT_ENOUGH)
    ElementTree.indent(suite)
    xml = ElementTree.tostring(suite, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{xml}'


def check_to_github(checked: CheckedConditions) -> str:
    """Return an annotation for each condition, as GitHub's workflows read them.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> from randsmooth.metrics import check
        >>> table = from_radii([0.8] * 150 + [0.1] * 50, name="new")
        >>> print(check_to_github(check(table, at=0.5, least=0.6)))
        ::notice title=randsmooth check::shown: certified accuracy at 0.5 is at least ...
    """
    return "\n".join(
        f"::{LEVELS[judged.outcome]} title=randsmooth check::"
        f"{_for_github(judged_sentence(judged))}"
        for judged in checked.conditions
    )


def _for_github(message: str) -> str:
    """Return a message as the text of an annotation, which ends with its line."""
    # GitHub decodes these three characters in an annotation.
    line = escape.printable(message)
    return line.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
