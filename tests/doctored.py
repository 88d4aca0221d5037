"""Doctored copies of a released log: a way to cheat or to err each, as a reviewer may be sent them."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

Row = list[str]
Doctor = Callable[[list[Row], np.random.Generator], list[Row]]

# The place of each column of a log.
IDX, LABEL, PREDICT, RADIUS, CORRECT = range(5)


def rows_of(log: Path) -> tuple[Row, list[Row]]:
    """The head and the rows of a log."""
    head, *rows = [line.split("\t") for line in log.read_text().splitlines()]
    return head, rows


def write(path: Path, head: Row, rows: list[Row]) -> None:
    lines = ["\t".join(row) for row in [head, *rows]]
    path.write_text("\n".join(lines) + "\n")


def with_radii(rows: list[Row], change: Callable[[float], float]) -> list[Row]:
    """The rows with other radii, printed as logs print them; 0 stays 0."""
    changed = []
    for row in rows:
        radius = float(row[RADIUS])
        printed = f"{change(radius):.3g}" if radius > 0.0 else row[RADIUS]
        changed.append([*row[:RADIUS], printed, *row[RADIUS + 1 :]])
    return changed


def renumbered(rows: list[Row]) -> list[Row]:
    return [[str(place), *row[1:]] for place, row in enumerate(rows)]


def removed(rows: list[Row], rng: np.random.Generator) -> list[Row]:
    wrong = [place for place, row in enumerate(rows) if row[CORRECT] == "0"]
    dropped = {*rng.choice(wrong, 600, replace=False).tolist()}
    return [row for place, row in enumerate(rows) if place not in dropped]


def removed_by_chance(rows: list[Row], rng: np.random.Generator) -> list[Row]:
    kept = np.sort(rng.choice(len(rows), 9000, replace=False))
    return [rows[place] for place in kept]


def removed_and_renumbered(rows: list[Row], rng: np.random.Generator) -> list[Row]:
    return renumbered(removed(rows, rng))


def inflated(rows: list[Row], rng: np.random.Generator) -> list[Row]:
    return with_radii(rows, lambda radius: 1.02 * radius)


def inflated_and_clipped(rows: list[Row], rng: np.random.Generator) -> list[Row]:
    return with_radii(rows, lambda radius: min(1.91, 1.02 * radius))


def inflated_in_the_middle(rows: list[Row], rng: np.random.Generator) -> list[Row]:
    return with_radii(rows, lambda radius: 1.1 * radius if radius < 1.4 else radius)


def twice_as_large(rows: list[Row], rng: np.random.Generator) -> list[Row]:
    return with_radii(rows, lambda radius: 2.0 * radius)


def relabelled(rows: list[Row], labels: list[str]) -> list[Row]:
    """The rows with other labels, and right where the prediction is the label."""
    return [
        [
            row[IDX],
            label,
            *row[PREDICT:CORRECT],
            str(int(label == row[PREDICT])),
            *row[CORRECT + 1 :],
        ]
        for row, label in zip(rows, labels, strict=True)
    ]


def labels_shuffled(rows: list[Row], rng: np.random.Generator) -> list[Row]:
    return relabelled(rows, rng.permutation([row[LABEL] for row in rows]).tolist())


def classes_renamed(rows: list[Row], rng: np.random.Generator) -> list[Row]:
    names = {str(place): str((place + 1) % 10) for place in range(10)} | {"-1": "-1"}
    return [
        [row[IDX], names[row[LABEL]], names[row[PREDICT]], *row[RADIUS:]]
        for row in rows
    ]


def exchanged_within_classes(rows: list[Row], rng: np.random.Generator) -> list[Row]:
    labels = np.array([row[LABEL] for row in rows])
    source = np.arange(len(rows))
    for label in np.unique(labels):
        of_class = np.flatnonzero(labels == label)
        source[of_class] = rng.permutation(of_class)
    return [
        [*row[:PREDICT], *rows[other][PREDICT:]]
        for row, other in zip(rows, source, strict=True)
    ]


def in_another_order(rows: list[Row], rng: np.random.Generator) -> list[Row]:
    return [rows[place] for place in rng.permutation(len(rows))]


def sorted_and_renumbered(rows: list[Row], rng: np.random.Generator) -> list[Row]:
    return renumbered(sorted(rows, key=lambda row: -float(row[RADIUS])))


def shifted_by_one(rows: list[Row], rng: np.random.Generator) -> list[Row]:
    """The results of the image before: an error of one in a loop."""
    labels = [row[LABEL] for row in rows]
    shifted = [
        [row[IDX], *other[1:]] for row, other in zip(rows[1:], rows[:-1], strict=True)
    ]
    return relabelled([rows[0], *shifted], labels)


def good_rows_repeated(rows: list[Row], rng: np.random.Generator) -> list[Row]:
    wrong = [place for place, row in enumerate(rows) if row[CORRECT] == "0"]
    good = [row for row in rows if row[CORRECT] == "1" and float(row[RADIUS]) > 1.5]
    copied = {
        int(place): good[rng.integers(len(good))]
        for place in rng.choice(wrong, 600, replace=False)
    }
    return [copied.get(place, row) for place, row in enumerate(rows)]


def good_rows_repeated_and_renumbered(
    rows: list[Row], rng: np.random.Generator
) -> list[Row]:
    return renumbered(good_rows_repeated(rows, rng))


def abstentions_are_right(rows: list[Row], rng: np.random.Generator) -> list[Row]:
    return [
        [
            *row[:CORRECT],
            "1" if row[PREDICT] == "-1" else row[CORRECT],
            *row[CORRECT + 1 :],
        ]
        for row in rows
    ]


def wrong_made_right(rows: list[Row], rng: np.random.Generator) -> list[Row]:
    wrong = [place for place, row in enumerate(rows) if row[CORRECT] == "0"]
    changed = [*rows]
    for place in rng.choice(wrong, 300, replace=False).tolist():
        row = rows[place]
        radius = f"{rng.uniform(0.05, 0.6):.3g}"
        changed[place] = [row[IDX], row[LABEL], row[LABEL], radius, "1", *row[5:]]
    return changed


def little_added(rows: list[Row], rng: np.random.Generator) -> list[Row]:
    return with_radii(rows, lambda radius: min(1.91, radius + 0.01))


def a_little_noise_on_radii(rows: list[Row], rng: np.random.Generator) -> list[Row]:
    return with_radii(rows, lambda radius: min(1.91, radius + rng.uniform(0.0, 0.02)))


class Fails(NamedTuple):
    """The kinds of checks that a doctored copy of a released log fails.

    Attributes:
        alone: by itself.
        beside: further ones beside another released log.
        original: further ones beside the log that it was made from.
    """

    alone: set[str]
    beside: set[str]
    original: set[str]


# Doctored copies that can be read -> the checks that fail.
READ: dict[Doctor, Fails] = {
    removed: Fails({"changed_released"}, {"images"}, {"images", "part"}),
    removed_by_chance: Fails({"changed_released"}, {"images"}, {"images", "part"}),
    removed_and_renumbered: Fails(
        {"rearranged"}, {"images", "labels", "order"}, {"images", "labels", "order"}
    ),
    inflated: Fails({"scaled_released"}, {"radii"}, {"radii", "derived"}),
    inflated_and_clipped: Fails({"from_released"}, set(), {"derived"}),
    inflated_in_the_middle: Fails({"from_released"}, set(), {"derived"}),
    labels_shuffled: Fails({"rearranged"}, {"labels"}, {"labels", "copies"}),
    classes_renamed: Fails({"rearranged"}, {"classes_renamed"}, {"classes_renamed"}),
    exchanged_within_classes: Fails({"rearranged"}, {"order"}, {"order"}),
    in_another_order: Fails(set(), set(), {"copies"}),
    sorted_and_renumbered: Fails(
        {"rearranged"}, {"labels", "order"}, {"labels", "order"}
    ),
    good_rows_repeated_and_renumbered: Fails(
        {"changed_released", "repeated"}, {"labels"}, {"labels", "mostly_equal"}
    ),
    little_added: Fails({"from_released"}, set(), {"derived"}),
    a_little_noise_on_radii: Fails({"from_released"}, set(), {"derived"}),
    wrong_made_right: Fails({"changed_released"}, set(), {"mostly_equal"}),
    # Few images stay right, too few to tell by their order that it is of others.
    shifted_by_one: Fails(set(), set(), set()),
}

# Those that contradict themselves, or their path, and are refused where they are read.
REFUSED: tuple[Doctor, ...] = (
    good_rows_repeated,
    abstentions_are_right,
    twice_as_large,
)


def write_copies(log: Path, folder: Path) -> None:
    """Write each copy of a log as DOCTOR.tsv."""
    folder.mkdir(parents=True, exist_ok=True)
    head, rows = rows_of(log)
    for doctor in (*READ, *REFUSED):
        copy = doctor(rows, np.random.default_rng(0))
        write(folder / f"{doctor.__name__}.tsv", head, copy)
