"""`randsmooth reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from randsmooth.cli.settings import Settings, argument, option
from randsmooth.errors import InputError
from randsmooth.escape import printable, say

if TYPE_CHECKING:
    from randsmooth.papers.reproduction import Reproduction


class Reproduce(Settings):
    """Settings of `randsmooth reproduce`."""

    object: str | None = argument("A table or figure as PAPER/OBJECT, such as acr/table2; see --list.", default=None)
    source: Path | None = option(
        "Folder of certificates or logs, laid out as DATASET-sigmaSIGMA/METHOD.tsv or as the authors released theirs.",
        json_schema_extra={"flag": "from"},
    )
    scale: Literal["tiny", "cpu", "paper"] = option(
        "Size of the runs that make what is missing: tiny (digits, in seconds), cpu (8 epochs), or paper.", "paper"
    )
    run: bool = option("Train and certify what is missing. An interrupted run goes on where it stopped.", False)
    show: bool = option("Print all tables and figures, and what each needs.", False, json_schema_extra={"flag": "list"})
    out: Path = option("Folder of the results; models and certificates go to its subfolder SCALE.", Path("reproduced"))


def reproduce(settings: Reproduce) -> None:
    """Draw a table or figure of the papers from certificates, beside what the paper prints.

    Example: randsmooth reproduce acr/table2 --from published-logs

    Train and certify everything that it needs, at the smallest size: randsmooth reproduce acr/table3 --scale tiny --run
    """
    if settings.show:
        say(listing())
        return
    if settings.object is None:
        raise InputError(
            "no table or figure named: give one such as acr/table2; randsmooth reproduce --list prints them all"
        )
    from randsmooth.papers.objects import find_object

    find_object(settings.object)  # refuses an unknown name before pandas is loaded
    from randsmooth.papers.reproduction import reproduce as run
    from randsmooth.progress import console

    say(
        described(
            run(
                settings.object,
                source=settings.source,
                out=settings.out,
                scale=settings.scale,
                run_missing=settings.run,
                progress=console,
                say=say,
            )
        ),
        end="",
    )


def listing() -> str:
    """A line an object: its name, what it shows and what it needs."""
    from randsmooth.papers.objects import OBJECTS

    lines = []
    for thing in OBJECTS:
        rows = len(thing.rows())
        what = "models and certificates" if thing.needs_models else "certificates"
        needs = f"{what} of {rows} model{'s' * (rows != 1)}" if rows else "nothing"
        lines.append(f"{thing.name:16} {thing.title}; needs {needs}")
    return "\n".join(lines)


def described(result: Reproduction) -> str:
    """What a person reads of it."""
    from randsmooth.papers.table_formats import to_text

    lines = [f"{result.object.name}: {result.object.title}", ""]
    if result.made is not None:
        lines += [to_text(frame) for frame in result.made.tables.values()]
        lines += [*(f"note: {printable(note)}" for note in result.made.notes), ""] if result.made.notes else []
        lines += [str(path) for path in result.files]
    lines += ["", *(f"note: {printable(sentence)}" for sentence in result.skipped)] if result.skipped else []
    missing, total = result.missing
    if missing:
        lines += ["", f"missing: {missing} of {total} models. To make them (--run does; each can be resumed):"]
        lines += [f"  {step.command()}" for step in result.commands]
    return "\n".join(lines) + "\n"
