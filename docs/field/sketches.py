"""Sketch all released logs for `randsmooth.certificates.logs.released`.

    python -m docs.field.sketches FOLDER

The folder holds clones called OWNER+NAME, and PATHS.txt, which lists their logs. Writes
released.npz, and prints how well the sketches tell the logs apart: of all pairs, how many
match, and how many of these differ in more than a hundredth of their answers.
"""

import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from docs.field.logs import Place, listed
from numpy.typing import NDArray

from randsmooth import certificates
from randsmooth.certificates import Certificates
from randsmooth.certificates.logs import released
from randsmooth.certificates.logs.released import (
    LARGEST_LEVEL,
    STEPS_OF_COARSE_LEVEL,
    UNIT_OF_SUMS,
    Totals,
    find_released,
    levels,
)
from randsmooth.certificates.logs.repositories import REPOSITORIES
from randsmooth.errors import Problem

OUT = Path(released.__file__).with_name(released.FILE)

# How many images of a set are chosen, and the fewest that a log must have.
CHOSEN = 32
FEWEST_IMAGES_OF_A_LOG = 60

# Of large sets, so many of the chosen images are every 20th below 1,000: tables of every
# 20th, and of the first 1,000, are recognised as well.
LARGE_SET = 2_000
CHOSEN_OF_PARTS = 24
STEP_OF_PARTS = 20
END_OF_PARTS = 1_000

# Into so many parts the radii are sorted, to see how evenly an image's radii spread.
BINS = 16

Logs = list[tuple[str, Certificates]]


def read_logs(folder: Path) -> Logs:
    """Return the released logs that can be read, those of the oldest repository first."""
    age = {repository.name: place for place, repository in enumerate(REPOSITORIES)}
    places = sorted(listed([folder]), key=lambda place: (age[place.repository], place))
    logs = []
    for place in places:
        table = _read(folder / place.filed)
        if table is not None:
            logs.append((_name(place), table))
    return logs


def _read(path: Path) -> Certificates | None:
    """Return a log with its rows by image; None where there is no use in its sketch."""
    try:
        table = certificates.read(path)
    except Problem as problem:
        print(f"left out: {problem}", file=sys.stderr)
        return None
    if len(table) < FEWEST_IMAGES_OF_A_LOG or not table.labelled:
        return None
    return table.rows(np.argsort(table.idx))


def _name(place: Place) -> str:
    return f"{place.repository}/{place.path}"


def by_images(logs: Logs) -> list[Logs]:
    """Return the logs in groups about the same images."""
    groups: dict[bytes, Logs] = defaultdict(list)
    for name, table in logs:
        groups[table.idx.tobytes() + table.label.tobytes()].append((name, table))
    return list(groups.values())


def spread_of_radii(levels_of_logs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (N,) how evenly the radii of each image spread over logs: their entropy.

    Args:
        levels_of_logs: (L, N) of all logs about the same images.
    """
    width = (LARGEST_LEVEL + 1) // BINS
    entropy = np.zeros(levels_of_logs.shape[1])
    for place in range(BINS):
        low = max(1, place * width)
        inside = (levels_of_logs >= low) & (levels_of_logs < (place + 1) * width)
        share = inside.mean(axis=0)
        entropy -= np.where(share > 0.0, share * np.log(np.maximum(share, 1e-12)), 0.0)
    return entropy


def chosen_images(
    idx: NDArray[np.int64], entropy: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the rows (CHOSEN,) of the images that a sketch is about.

    Args:
        idx: (N,) the positions of the images.
        entropy: (N,) how well each tells models apart.
    """
    most_telling = np.argsort(-entropy, kind="stable")
    first: NDArray[np.int64] = np.zeros(0, np.int64)
    if len(idx) > LARGE_SET:
        in_parts = (idx % STEP_OF_PARTS == 0) & (idx < END_OF_PARTS)
        first = most_telling[in_parts[most_telling]][:CHOSEN_OF_PARTS]
    others = most_telling[~np.isin(most_telling, first)]
    return np.sort(np.concatenate([first, others])[:CHOSEN])


def write_sketches(groups: Sequence[Logs], path: Path) -> None:
    """Write the sketches and the totals of all logs."""
    idx, label, sketches, set_of_log, names = [], [], [], [], []
    images: list[int] = []
    totals: list[Totals] = []
    largest: list[float] = []
    for place, group in enumerate(groups):
        radii = np.stack([table.radius * table.correct for _, table in group])
        levels_of_logs = levels(radii, radii.max(axis=1, keepdims=True))
        largest += radii.max(axis=1).tolist()
        _, table = group[0]
        chosen = chosen_images(table.idx, spread_of_radii(levels_of_logs))
        idx.append(table.idx[chosen])
        label.append(table.label[chosen])
        images.append(len(table))
        sketches.append(levels_of_logs[:, chosen])
        set_of_log += [place] * len(group)
        names += [name for name, _ in group]
        totals += [Totals.of(table) for _, table in group]

    upper, lower = np.divmod(np.concatenate(sketches), STEPS_OF_COARSE_LEVEL)
    sums = np.array([(of_log.radii, of_log.right_radii) for of_log in totals])
    np.savez_compressed(
        path,
        idx=np.stack(idx),
        label=np.stack(label),
        images=np.array(images, np.int64),
        upper=upper.astype(np.uint8),
        lower=lower.astype(np.uint8),
        largest=np.array(largest),
        set=np.array(set_of_log, np.uint8),
        numbers=np.array(
            [(of_log.certified, of_log.right) for of_log in totals], np.uint16
        ),
        sums=np.rint(sums / UNIT_OF_SUMS).astype(np.uint32),
        names=np.frombuffer("\n".join(names).encode(), np.uint8),
    )


def print_matches(groups: Sequence[Logs]) -> None:
    """Print how many pairs of logs match, and how alike their answers are."""
    answers = {name: table.predict for group in groups for name, table in group}
    pairs = sum(len(group) * (len(group) - 1) for group in groups) // 2
    agreements = []
    for group in groups:
        for name, table in group:
            for log in find_released(table):
                others = answers[log.name]
                if log.name != name and len(others) == len(table):
                    agreements.append(float(np.mean(others == table.predict)))
    by_chance = sum(agreement < 0.99 for agreement in agreements)
    print(f"{len(answers):,} logs, {pairs:,} pairs about the same images")
    print(
        f"{len(agreements) // 2:,} pairs match, {by_chance // 2:,} of them with under 99% equal answers"
    )


def main(folder: str) -> None:
    logs = read_logs(Path(folder))
    groups = by_images(logs)
    write_sketches(groups, OUT)
    print(f"{OUT}: {OUT.stat().st_size:,} bytes")
    print_matches(groups)


if __name__ == "__main__":
    main(*sys.argv[1:])
