"""How the published presets are listed: by paper, or one by its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from randsmooth import data
from randsmooth.training.presets import PAPERS, PRESETS, SIGMAS, Preset, named, usual_optimisation

WIDE = 190  # characters of a line
LEGEND = """\
`randsmooth train DATASET --preset NAME --sigma SIGMA` trains as published; --set overrides any value.
a|b|c: values at sigma 0.25|0.5|1, unless the line names other sigmas. Presets for cifar10 also serve cifar10-jpeg.
Epochs (E_t, lbd_from, milestones) count from 0: E_t=70 begins after 70 epochs. They belong to the paper's schedule;
with another number of epochs they scale. batch: noisy samples per step, m of them of each image. Where a paper
describes a model in two ways, /prose is what its text says, /table1 the runs behind its table.
A preset that names no schedule has the usual one. Your own data get the schedule of digits with the architecture
small-cnn, that of mnist with lenet, and that of cifar10 with any other. Indented: rows of ablation tables; what all
presets of a row change besides their names stands after a colon.
"""


def by_paper(methods: Sequence[str]) -> Iterator[str]:
    """The lines of the list of all presets for `methods`."""
    yield LEGEND
    for key, paper in PAPERS.items():
        presets = [p for p in PRESETS if p.method in methods and p.name.startswith(f"{key}/")]
        if not presets:
            continue
        mains = [p for p in presets if p.main]
        width = max(len(main.name) for main in mains)
        yield paper
        yield from (f"  usual schedule, {line}" for line in _schedules([p for p in mains if _is_usual(p)]))
        for main in mains:
            yield from _line(
                f"  {main.name:{width}}  {_datasets(main)}: {_words(_columns(main))}", _source(main, paper)
            )
            if not _is_usual(main):
                yield f"    its schedule, {_own(main)}"
            yield from (f"    {_row(rows, main, paper)}" for rows in _tables(main, presets))
        yield ""


def _line(said: str, source: str) -> list[str]:
    """With the source behind, or below where that is too wide."""
    whole = f"{said}  ({source})"
    return [whole] if len(whole) < WIDE else [said, f"    ({source})"]


def by_name(name: str) -> Iterator[str]:
    """The lines on the preset called `name`, one part for each of its groups of data sets."""
    accounts = [p for p in PRESETS if p.base == name and p.main and p.variation]
    for preset in (*named(name), *accounts):
        yield f"{preset.name}  ({preset.source})"
        yield f"  --method {preset.method} on {_datasets(preset)}" + (f" with {preset.arch}" if preset.arch else "")
        sigmas = _joined([*preset.by_sigma]) if preset.by_sigma else "any"
        yield f"  {_words(_columns(preset))} at sigma {sigmas}"
        yield from (f"  {line}" for line in _schedules([preset]))
        if preset.main:
            yield from (f"  {_row(rows, preset, preset.source)}" for rows in _tables(preset, PRESETS))
        yield ""


def _served(preset: Preset) -> list[str]:
    return [name for name in preset.datasets or data.DATASETS if name != "cifar10-jpeg"]


def _datasets(preset: Preset) -> str:
    return ", ".join(_served(preset)) if preset.datasets else "any data set"


def _is_usual(preset: Preset) -> bool:
    """Whether the preset's schedule is the usual one of each of its data sets."""
    return all(preset.schedule(name, "") == usual_optimisation(name, "") for name in _served(preset))


def _schedules(presets: Sequence[Preset]) -> list[str]:
    """mnist, svhn: 150 epochs, ...; a line for each schedule that the presets' data sets have."""
    lines: dict[str, list[str]] = {}
    for preset in presets:
        for name in _served(preset):
            names = lines.setdefault(preset.schedule(name, "").summary(), [])
            names += [name] * (name not in names)
    return [f"{', '.join(names)}: {schedule}" for schedule, names in lines.items()]


def _own(preset: Preset) -> str:
    """The schedule of a preset that has not the usual one."""
    return "; ".join(_schedules([preset])) if preset.optimisation else f"else as usual: batch {preset.batch}"


def _columns(preset: Preset) -> dict[str, str]:
    """Hyperparameter -> 3|6|4, its values by sigma."""
    at = [preset.hyperparameters(sigma) for sigma in preset.by_sigma or (1.0,)]
    return {key: _joined([values[key] for values in at]) for key in at[0]}


def values_by_sigma(preset: Preset) -> str:
    """m=4, T=3|6|4 at sigma 0.25|0.5|1"""
    words = _words(_columns(preset))
    return f"{words} at sigma {_joined([*preset.by_sigma])}" if "|" in words else words


def _words(columns: dict[str, str]) -> str:
    """m=4, T=3|6|4"""
    return ", ".join(f"{key}={value}" for key, value in columns.items())


def _joined(values: Sequence[Any]) -> str:
    """3|6|4, or one value where all are the same."""
    words = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    return words[0] if len(set(words)) == 1 else "|".join(words)


def _row(rows: Sequence[Preset], main: Preset, paper: str) -> str:
    """acr/amplify/T=2, /T=4: norm=linf  (sigma 0.5, table 8), the rows of one table."""
    names = ", ".join(f"/{row.variation}" for row in rows)
    changes = ", ".join(part for part in (_words(_common(rows, main)), _own_schedule(rows, main)) if part)
    return f"{main.base}{names}{': ' * bool(changes)}{changes}  ({_source(rows[0], paper)})"


def _common(rows: Sequence[Preset], main: Preset) -> dict[str, str]:
    """What every one of the rows changes in `main`, at their sigmas, besides what its name says."""
    at = [main.hyperparameters(sigma) for sigma in rows[0].by_sigma]
    columns = [_columns(row) for row in rows]
    return {
        key: value
        for key, value in columns[0].items()
        if all(column.get(key) == value for column in columns)
        and f"{key}=" not in rows[0].variation
        and value != _joined([values.get(key) for values in at])
    }


def _own_schedule(rows: Sequence[Preset], main: Preset) -> str:
    """The schedule of rows that have another than `main`; batch=64|128 where it is another in each."""
    if all(row.optimisation == main.optimisation for row in rows):
        return ""
    schedules = [row.schedule(_served(row)[0], "") for row in rows]
    return schedules[0].summary() if len(rows) == 1 else f"batch={_joined([schedule.batch for schedule in schedules])}"


def _source(preset: Preset, paper: str) -> str:
    """The place in the paper, after what is special: sigma 0.5, resnet20, table 3"""
    sigmas = "" if tuple(preset.by_sigma) in ((), SIGMAS) else "sigma " + _joined([*preset.by_sigma])
    place = preset.source.removeprefix(paper).lstrip(",: ")
    return ", ".join(part for part in (sigmas, preset.arch, place) if part)


def _tables(main: Preset, presets: Sequence[Preset]) -> list[list[Preset]]:
    """The variations of `main`, those of one table together; of two accounts the later one has them."""
    same = [p for p in presets if (p.base, p.datasets) == (main.base, main.datasets)]
    varied = [p for p in same if not p.main] if [p for p in same if p.main][-1] is main else []
    return [list(rows) for _, rows in groupby(varied, key=lambda p: (p.source, tuple(p.by_sigma)))]
