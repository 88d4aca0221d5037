"""The glossary has the words that reports and verbs print without explaining them."""

from __future__ import annotations

import re
from pathlib import Path

from randsmooth.cli.verbs.attack import ABSTAINED, FAILED, HELD, OUTSIDE
from randsmooth.cli.verbs.verify import STATES
from randsmooth.rules import CONFIDENCE_BOUNDS

ROOT = Path(__file__).parent.parent
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()
PANELS = ROOT / "src" / "randsmooth" / "report" / "page"
PLAIN = {"class", "images", "by certified accuracy"}  # column heads that say what they are
HEAD = re.compile(r"<th [^>]*>([^<{]+)</th>")


def terms(text: str) -> str:
    """The headings of a glossary, and what it puts in italics."""
    return " ".join([*re.findall(r"^##+ (.+)$", text, re.MULTILINE), *re.findall(r"\*([^*]+)\*", text)]).lower()


def missing(words: set[str], text: str) -> set[str]:
    """The words that are no term there; of "p_A, lower quartile" the last part may stand in the text."""
    return {word for word in words if word.lower() not in terms(text) and word.rpartition(", ")[2] not in text}


def test_the_outcomes_of_verbs_are_explained() -> None:
    assert not missing({HELD, ABSTAINED, OUTSIDE, FAILED, *STATES}, GLOSSARY)
    assert missing({HELD}, GLOSSARY.replace("Held", "").replace("held", "")) == {HELD}


def test_the_column_heads_of_reports_are_explained() -> None:
    heads = {head.partition(" (%)")[0] for page in PANELS.rglob("*.j2") for head in HEAD.findall(page.read_text())}
    assert {"worst class, net", "from easy images"} <= heads
    assert not missing(heads - PLAIN, GLOSSARY)


def test_bounds_and_rules_lead_to_their_lists() -> None:
    guide = (ROOT / "docs" / "certification.md").read_text()
    assert all(f"`{bound}`" in guide for bound in CONFIDENCE_BOUNDS)
    assert "certification.md#bounds" in GLOSSARY
