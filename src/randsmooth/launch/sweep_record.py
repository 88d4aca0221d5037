"""What the folder of a sweep says it is about, to be compared with a grid."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from randsmooth.atomic import write_atomically
from randsmooth.documents import parse_yaml, read_file
from randsmooth.errors import ANOTHER_OUT, OutputExists, Setting, WrongFile
from randsmooth.launch.step import Step

# The file in the folder of a sweep that records its grid.
RECORD = "sweep.yaml"
# The most bytes of the record, which has the settings of up to 2,000 models.
MOST_RECORD_BYTES = 2**22
HEADING = (
    "# The content of this folder. `randsmooth sweep` wrote it, and compares a "
    "grid with it before it resumes.\n"
)

# The settings of a step by name, as they stand in a file.
StepSettings = Mapping[str, Any]


@dataclass(frozen=True)
class SweepRecord:
    """The record of a folder: its grid, and the settings of its steps.

    Attributes:
        grid: the content of the file of the grid when it was last carried out.
        steps: the settings of each step that takes long, those of earlier grids too.

    Example:
        >>> record = SweepRecord({"datasets": "digits"}, {"a/train": {"epochs": 2}})
        >>> record.write(Path("runs"))
        >>> SweepRecord.read(Path("runs")) == record
        True
    """

    grid: Mapping[str, Any] = field(default_factory=dict)
    steps: Mapping[str, StepSettings] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> SweepRecord | None:
        """Return the record of a folder; None if it has none.

        Raises:
            WrongFile: the file that says it is damaged.
        """
        path = folder / RECORD
        if not path.exists():
            return None
        text = read_file(path, MOST_RECORD_BYTES)
        content = parse_yaml(text, path, MOST_RECORD_BYTES)
        parts = content if isinstance(content, dict) else {}
        grid = parts.get("grid")
        steps = parts.get("steps")
        if not isinstance(grid, dict) or not isinstance(steps, dict):
            raise WrongFile(
                f"{path} is damaged: it must hold `grid` and `steps`",
                fix=ANOTHER_OUT,
                file=path,
            )
        return cls(grid, steps)

    def write(self, folder: Path) -> None:
        """Write it into a folder."""
        content = {"grid": dict(self.grid), "steps": dict(self.steps)}
        # One step a line.
        text = yaml.safe_dump(
            content,
            sort_keys=False,
            allow_unicode=True,
            width=10**6,
            default_flow_style=None,
        )
        write_atomically(folder / RECORD, (HEADING + text).encode())


def settings_of(steps: Sequence[Step]) -> dict[str, StepSettings]:
    """Return the settings of each step that takes long, by its name, as a file has them."""
    return {
        step.name: _as_in_file({"of": step.arguments(), **step.options()})
        for step in steps
        if not step.is_quick
    }


def _as_in_file(settings: StepSettings) -> StepSettings:
    """Return settings as they are when they were written to a file, and read."""
    plain: StepSettings = json.loads(json.dumps(settings, default=str))
    return plain


def check_same_sweep(
    out: Path, steps: Sequence[Step], settings: Mapping[str, StepSettings]
) -> Mapping[str, StepSettings]:
    """Check that a folder holds nothing that a sweep of these steps would mix up.

    Args:
        out: the folder.
        steps: the steps of the sweep.
        settings: the settings of each step that takes long.

    Returns:
        The settings of the steps of earlier sweeps into the folder.

    Raises:
        OutputExists: the folder holds something else, or what was made with other
            settings: a model or a table in it would be taken for that of this grid.
    """
    record = SweepRecord.read(out)
    if record is None:
        _check_empty(out)
        return {}
    earlier = record.steps
    if earlier and not earlier.keys() & settings.keys():
        raise OutputExists(
            f"{out} holds another sweep, of {next(iter(earlier))} and others",
            fix=ANOTHER_OUT,
            file=out,
        )
    changed = {
        name for name in settings if name in earlier and earlier[name] != settings[name]
    }
    # What is made of something that changed, has changed as well: its first cause.
    cause: dict[str, str] = {}
    for step in steps:
        for source in (step, *step.needs):
            if source.name in changed:
                cause.setdefault(step.name, source.name)
            elif source.name in cause:
                cause.setdefault(step.name, cause[source.name])
        if step.name in cause and not step.is_quick and step.has_begun():
            name = cause[step.name]
            raise OutputExists(
                (
                    f"{step.makes} was made with other settings (",
                    *difference(earlier[name], settings[name]),
                    ")",
                ),
                fix=(*ANOTHER_OUT, ", or remove it"),
                file=step.makes,
            )
    return earlier


def _check_empty(out: Path) -> None:
    """Raise OutputExists for a folder that holds anything."""
    if not out.is_dir():
        return
    names = sorted(path.name for path in out.iterdir() if not path.name.startswith("."))
    if names:
        raise OutputExists(
            f"{out} holds {names[0]}, which no sweep wrote", fix=ANOTHER_OUT, file=out
        )


def difference(there: StepSettings, here: StepSettings) -> tuple[str | Setting, ...]:
    """Return the words for what the settings of a step differ in.

    Example:
        >>> from randsmooth.errors import spelt
        >>> spelt(difference({"n": 100, "sound": True}, {"n": 200}))
        'n=100, sound=True there, n=200 in the grid'
    """
    return (
        *_settings_apart(there, here),
        " there, ",
        *_settings_apart(here, there),
        " in the grid",
    )


def _settings_apart(one: StepSettings, other: StepSettings) -> list[str | Setting]:
    """Return the settings of one step that the other has not, or has otherwise."""
    parts: list[str | Setting] = []
    for name, value in one.items():
        if name not in other or other[name] != value:
            parts += [", ", Setting(name, value)]
    return parts[1:] or ["nothing"]
