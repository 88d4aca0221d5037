"""The answer of a report: one sentence at one radius, and one narrow table.

Everything else that was measured is evidence for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import Setting, Spell, spelt
from randsmooth.escape import names_of, printable
from randsmooth.metrics import Estimate, JudgedAtRadius, Point
from randsmooth.metrics.implied_sigmas import known_sigma
from randsmooth.report.baseline import BaselineComparisons
from randsmooth.report.headings import ANSWER_HEADING
from randsmooth.report.printed import (
    average_radius,
    percent,
    percent_ends,
    percent_with_ends,
    points,
    points_ends,
    points_with_ends,
)
from randsmooth.report.ranking_radius import (
    LEVEL_BESIDE,
    RankingRadius,
    figure_heads,
    ranking_radius,
)

# The place of the column of differences in the narrow table of several tables.
DIFFERENCE_COLUMN = 2

# The cell of the baseline in the column of differences.
BASELINE_CELL = "baseline"

# The sentence for each kind of answer: at most 25 words, with names of one word.
WORDING: dict[str, tuple[str | Setting, ...]] = {
    "no_radius": (
        "No radius was named, and the tables do not tell one sigma: evaluate, compare and "
        "leaderboard take ",
        Setting("at", 0.5),
        ".",
    ),
    "no_labels": ("No table has labels, so it is unknown which answers are right.",),
    "out_of_reach": (
        "At {where}, no table can certify any image with its n and alpha: name a "
        "smaller radius.",
    ),
    "all_doubted": ("No verdict at {where}: each table failed a check.",),
    "one": (
        "At {where}, {name} certifies {share} of {images:,} images ({low} to {high}).",
    ),
    "no_baseline": (
        "At {where}, {leaders} most here, {share}; without a baseline no "
        "difference is judged.",
    ),
    "ahead": (
        "At {where}, {name} is ahead of {baseline}: it certifies {share} of the images, "
        "{points} points ({low} to {high}).",
    ),
    "behind": (
        "At {where}, {name} is behind {baseline}: it certifies {share} of the images, "
        "{points} points ({low} to {high}).",
    ),
    "undecided": (
        "At {where}, no difference between {name} and {baseline} is shown: {points} "
        "points ({low} to {high}).",
    ),
    "not_judged": ("No verdict at {where}: {name} is not compared with {baseline}.",),
    "several": (
        "At {where}, {ahead} of {number} methods are shown ahead of {baseline}, "
        "{behind} behind; {leaders} most here, {share}.",
    ),
    "none_judged": ("No verdict at {where}: no method is compared with {baseline}.",),
}


# What the column of declined images means.
DECLINED_SENTENCE = (
    "Declined: the certified answer is to decline, which is neither right nor wrong. "
    "Wrong: a class is certified that is not the label. The rest of what is not right "
    "at 0 abstains. A model that may not decline has a dash under declined."
)


@dataclass(frozen=True)
class AnswerRow:
    """The figures of one table in the answer.

    Attributes:
        row: the row of the table in the sheet.
        name: the name of the table.
        title: the name, with the settings in which the tables differ.
        norm: the norm of the radii of the table, one of `noise.NORMS`.
        images: the number of images that its figures are of: those that it shares with
            the baseline where it is compared, else its own.
        accuracy: certified accuracy at the radius of the answer; None where it is not
            known, or where the table can certify no image so far.
        baseline_accuracy: that of the baseline on the same images, where these are not
            all of the baseline's; else None.
        difference: the paired difference to the baseline, with the ends of its interval
            at this radius alone, which allows for the number of tables that are judged;
            None where it is not judged.
        shown: 1 or -1 where the table is shown to be above or below the baseline.
        is_baseline: whether the table is the baseline.
        share_beside: the share of images with p_A of at least LEVEL_BESIDE.
        at_zero: certified accuracy at radius 0.
        declined: the share of images certified as declined; None where the base
            classifier may not decline.
        wrong: the share of images certified as another class than the label; None where
            it is not known.
        acr: the average certified radius.
    """

    row: int
    name: str
    title: str
    norm: str
    images: int
    accuracy: Estimate | None
    baseline_accuracy: Estimate | None
    difference: Estimate | None
    shown: int
    is_baseline: bool
    share_beside: Estimate | None
    at_zero: Estimate | None
    declined: Estimate | None
    wrong: Estimate | None
    acr: Estimate | None


@dataclass(frozen=True)
class Answer:
    """What a report says first of its tables, once they were checked.

    Attributes:
        kind: the kind of the sentence, one of `WORDING`.
        facts: the facts that the sentence tells, by name.
        at: the radius of the answer; None where none was named and none follows.
        rows: a row for each table, in the order of the sheet.
        judged: what the intervals of the differences hold for; None without a radius.
    """

    kind: str
    facts: Mapping[str, Any]
    at: RankingRadius | None
    rows: list[AnswerRow]
    judged: JudgedAtRadius | None

    def words(self, spell: Spell = str) -> str:
        """Return the sentence, in which `spell` writes the settings."""
        parts = tuple(
            part.format_map(self.facts) if isinstance(part, str) else part
            for part in WORDING[self.kind]
        )
        return printable(spelt(parts, spell))

    def __str__(self) -> str:
        return self.words()

    @property
    def heading(self) -> str:
        """Return the heading of the answer, with what the differences hold for."""
        if self.judged is None or self.judged.pairs == 0:
            return ANSWER_HEADING
        subject = "difference" if self.judged.pairs == 1 else "differences"
        return f"{ANSWER_HEADING} ({subject}: {self.judged.words})"

    @property
    def head(self) -> list[str]:
        """Return the heads of the columns of the narrow table, in the order of `cells`."""
        radius = None if self.at is None else self.at.radius
        heads = figure_heads(radius, declined=self.may_decline)
        if self.may_decline:
            heads.insert(-1, "wrong")
        return self._printed(["name", *heads])

    @property
    def may_decline(self) -> bool:
        """Whether the model of any table may decline."""
        return any(row.declined is not None for row in self.rows)

    @property
    def cells(self) -> list[list[str]]:
        """Return the cells of the narrow table as printed, a row for each table."""
        return [self._cells(row) for row in self.rows]

    def _cells(self, row: AnswerRow) -> list[str]:
        """Return the cells of one row as printed."""
        cells = [
            row.title,
            percent_with_ends(row.accuracy),
            BASELINE_CELL if row.is_baseline else points_with_ends(row.difference),
            percent(row.share_beside),
            percent(row.at_zero),
        ]
        if self.may_decline:
            cells += [percent(row.declined), percent(row.wrong)]
        return self._printed([*cells, average_radius(row.acr, row.norm)])

    def _printed(self, line: list[str]) -> list[str]:
        """Return the cells that are printed: a single table differs from nothing."""
        if len(self.rows) > 1:
            return line
        return [*line[:DIFFERENCE_COLUMN], *line[DIFFERENCE_COLUMN + 1 :]]

    @property
    def legend(self) -> str:
        """Return what the columns of the narrow table are."""
        sentence = "In % of the images, with 95% intervals"
        if any(row.difference is not None for row in self.rows):
            sentence += (
                "; differences to the baseline are in points, on the same images. Their "
                "intervals hold at a radius that was chosen before the tables were seen; "
                "the evidence judges all radii together"
            )
        if self.may_decline:
            return f"{sentence}. {DECLINED_SENTENCE}"
        return f"{sentence}."

    @property
    def limits(self) -> list[str]:
        """Return a sentence for each row whose figures are of fewer images."""
        sentences = []
        for row in self.rows:
            if row.baseline_accuracy is None:
                continue
            share = percent(row.baseline_accuracy)
            sentences.append(
                f"{row.name}: on the {row.images:,} images that both have, of which the "
                f"baseline certifies {share}%."
            )
        return sentences

    @property
    def content(self) -> dict[str, Any]:
        """Return the answer for programs: kind, sentence, radius and figures."""
        return {
            "kind": self.kind,
            "sentence": str(self),
            "at": None if self.at is None else _radius_facts(self.at),
            "judged_together": None
            if self.judged is None
            else judged_facts(self.judged),
            "rows": [_row_facts(row) for row in self.rows],
        }


def _radius_facts(at: RankingRadius) -> dict[str, Any]:
    """Return the radius of the answer for programs, and why it is this one."""
    return {
        "radius": at.radius,
        "named": at.is_named,
        "one_sigma": at.is_sigma,
        "least_p_A": at.least_p_a,
    }


def judged_facts(judged: JudgedAtRadius) -> dict[str, Any]:
    """Return what the intervals of differences at one radius hold for, for programs."""
    return {
        "words": judged.words,
        "level": metrics.LEVEL,
        "radius": judged.radius,
        "pairs": judged.pairs,
        "critical": judged.critical,
    }


def _row_facts(row: AnswerRow) -> dict[str, Any]:
    """Return the figures of one table for programs, each with its interval."""
    estimates = {
        "certified_accuracy": row.accuracy,
        "baseline_certified_accuracy": row.baseline_accuracy,
        "difference": row.difference,
        f"p_A>={LEVEL_BESIDE:g}": row.share_beside,
        "accuracy_at_0": row.at_zero,
        "declined": row.declined,
        "wrong": row.wrong,
        "acr": row.acr,
    }
    figures = {name: _estimate_facts(estimate) for name, estimate in estimates.items()}
    return {
        "name": row.name,
        "images": row.images,
        "baseline": row.is_baseline,
        "shown": row.shown,
        **figures,
    }


def _estimate_facts(estimate: Estimate | None) -> dict[str, Any] | None:
    """Return an estimate without its number of images, which the row has."""
    if estimate is None:
        return None
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}


def answer_radius(
    tables: Sequence[Certificates], baseline: int | None, named: float | None
) -> RankingRadius | None:
    """Return the radius of the answer: the named one, or one sigma of the baseline.

    Logs that do not say their sigma have one all the same where the largest radii of all
    are those of one usual sigma.

    Raises:
        Problem: a radius that makes no sense.
    """
    if named is not None:
        metrics.check_radius(named)
    # Without a baseline the first table stands for it. `ranking_radius` takes the noise
    # of the first.
    reference = tables[baseline or 0]
    others = [table for table in tables if table is not reference]
    ordered = [reference, *others]
    if named is None and reference.header.noise is None:
        sigmas = {known_sigma(table) for table in tables}
        if len(sigmas) > 1 or None in sigmas:
            return None
        (sigma,) = sigmas
        ordered = [table.assuming(sigma=sigma) for table in ordered]
    return ranking_radius(ordered, named)


def answer(
    tables: Sequence[Certificates],
    titles: Sequence[str],
    baseline: int | None,
    at: RankingRadius | None,
    compared: BaselineComparisons,
    doubted: Mapping[str, str],
) -> Answer:
    """Answer which of the tables certifies most images at a radius.

    Args:
        tables: the certificates, under distinct names.
        titles: their names, with the settings in which they differ.
        baseline: the row that the others are compared with; None if there is none.
        at: the radius of the answer; None where none was named and none follows.
        compared: the comparisons with the baseline. Their radii include that of the
            answer.
        doubted: why tables are not judged, by their names.
    """
    judged = None
    points: Sequence[Point | None] = [None for _ in compared.against]
    if at is not None:
        # The comparisons judge all radii together, and the answer is about one.
        comparisons = [one.comparison for one in compared.against]
        judged = metrics.judged_at(comparisons, at.radius)
        points = judged.points
    rows_compared = [one.row for one in compared.against]
    point_of_row = dict(zip(rows_compared, points, strict=True))
    rows = [
        _answer_row(
            tables,
            row,
            title,
            baseline,
            at,
            point=point_of_row.get(row),
            is_compared=row in point_of_row,
        )
        for row, title in enumerate(titles)
    ]
    kind, facts = _sentence(rows, at, doubted)
    return Answer(kind, facts, at, rows, judged)


def _answer_row(
    tables: Sequence[Certificates],
    row: int,
    title: str,
    baseline: int | None,
    at: RankingRadius | None,
    *,
    point: Point | None,
    is_compared: bool,
) -> AnswerRow:
    """Measure one table: on the images of the comparison, where there is one.

    Args:
        tables: all tables.
        row: the row of this one.
        title: its name, with the settings in which the tables differ.
        baseline: the row of the baseline; None if there is none.
        at: the radius of the answer.
        point: the difference to the baseline at this radius; None where it is not
            judged.
        is_compared: whether the table is compared with the baseline, at any radius.
    """
    table = tables[row]
    measured = table
    # The baseline on the same images, where its own row has figures of more.
    reference = None
    if is_compared and baseline is not None:
        measured, shared = metrics.pair(table, tables[baseline])
        reference = shared if len(shared) < len(tables[baseline]) else None
    share_beside = None
    if metrics.knows_p_a(measured):
        share_beside = metrics.p_a(measured).share(LEVEL_BESIDE)
    declined = None
    if table.header.refusal is not None and not table.header.label_aware:
        declined = metrics.declined(measured)
    wrong = None
    if table.labelled and not table.header.label_aware:
        wrong = metrics.share(measured.wrong)
    return AnswerRow(
        row=row,
        name=table.name,
        title=title,
        norm=table.norm,
        images=len(measured),
        accuracy=_accuracy(measured, at),
        baseline_accuracy=None if reference is None else _accuracy(reference, at),
        difference=None if point is None else point.difference,
        shown=0 if point is None else point.shown,
        is_baseline=row == baseline,
        share_beside=share_beside,
        at_zero=metrics.certified_accuracy(measured, 0.0) if table.labelled else None,
        declined=declined,
        wrong=wrong,
        acr=metrics.acr(measured) if table.labelled else None,
    )


def _accuracy(table: Certificates, at: RankingRadius | None) -> Estimate | None:
    """Return certified accuracy at a radius; None where the table does not tell it."""
    if at is None or not table.labelled or not metrics.can_certify(table, at.radius):
        return None
    return metrics.certified_accuracy(table, at.radius)


def _sentence(
    rows: Sequence[AnswerRow],
    at: RankingRadius | None,
    doubted: Mapping[str, str],
) -> tuple[str, dict[str, Any]]:
    """Return the kind of the sentence, and its facts.

    Args:
        rows: the figures of all tables.
        at: the radius of the answer; None where none was named and none follows.
        doubted: why tables are not judged, by their names.
    """
    # Accuracy at radius 0 is known of every table with labels.
    if all(row.at_zero is None for row in rows):
        return "no_labels", {}
    if at is None:
        return "no_radius", {}
    facts: dict[str, Any] = {"where": _where(at)}
    if all(row.accuracy is None for row in rows):
        return "out_of_reach", facts
    if len(rows) == 1:
        return "one", facts | _facts_of(rows[0], rows[0].accuracy)

    trusted = [row for row in rows if row.accuracy and row.name not in doubted]
    if not trusted:
        return "all_doubted", facts
    best = max(trusted, key=_value_of_accuracy)
    facts |= {"leaders": _leaders(trusted, best), "share": f"{percent(best.accuracy)}%"}
    names_of_baseline = [row.name for row in rows if row.is_baseline]
    if not names_of_baseline:
        return "no_baseline", facts
    facts["baseline"] = names_of_baseline[0]
    others = [row for row in rows if not row.is_baseline]
    if len(others) == 1:
        return _sentence_of_two(others[0], facts)
    return _sentence_of_several(others, facts)


def _where(at: RankingRadius) -> str:
    """Say at which radius the answer is."""
    note = " (one sigma)" if at.is_sigma else ""
    return f"r = {at.radius:g}{note}"


def _value_of_accuracy(row: AnswerRow) -> float:
    """Return the accuracy of a row, by which the best is found; unknown ones are last."""
    return -1.0 if row.accuracy is None else row.accuracy.value


def _leaders(rows: Sequence[AnswerRow], best: AnswerRow) -> str:
    """Return the subject and verb of who certifies most: several tables may be level."""
    most = _value_of_accuracy(best)
    names = [row.name for row in rows if _value_of_accuracy(row) == most]
    verb = "certifies" if len(names) == 1 else "certify"
    return f"{names_of(names)} {verb}"


def _facts_of(row: AnswerRow, share: Estimate | None) -> dict[str, Any]:
    """Return the name of a table, its images and its accuracy in percent."""
    # For the type checker: the caller knows that the accuracy is known.
    assert share is not None
    low, high = percent_ends(share)
    return {
        "name": row.name,
        "images": row.images,
        "share": f"{percent(share)}%",
        "low": low,
        "high": high,
    }


def _sentence_of_two(
    row: AnswerRow, facts: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return the sentence about one table and the baseline."""
    facts["name"] = row.name
    if row.difference is None:
        return "not_judged", facts
    facts |= {"share": f"{percent(row.accuracy)}%", "points": points(row.difference)}
    facts["low"], facts["high"] = points_ends(row.difference)
    kinds = {1: "ahead", -1: "behind", 0: "undecided"}
    return kinds[row.shown], facts


def _sentence_of_several(
    rows: Sequence[AnswerRow], facts: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return the sentence about several tables and the baseline."""
    judged = [row for row in rows if row.difference is not None]
    if not judged:
        return "none_judged", facts
    facts |= {
        "number": len(judged),
        "ahead": sum(row.shown > 0 for row in judged),
        "behind": sum(row.shown < 0 for row in judged),
    }
    return "several", facts
