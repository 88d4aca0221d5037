"""`randsmooth card`: a model card with certificates, as the Hugging Face hub shows it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from randsmooth import app, certificates
from randsmooth.atomic import make_folder, write_atomically
from randsmooth.certificates import Certificates
from randsmooth.cli.certificate_files import Radii, load
from randsmooth.cli.options import Answered
from randsmooth.cli.output import writing
from randsmooth.cli.printed_commands import command_words
from randsmooth.cli.settings import Argument
from randsmooth.cli.what_to_certify import default_out
from randsmooth.documents import MOST_YAML_BYTES, read_file
from randsmooth.errors import Conflict, MissingValue, Setting, WrongTable
from randsmooth.urls import Place

# The models in the commands of a card, which goes where the model goes.
FOLDER = "FOLDER"
MODEL = "MODEL"


class Card(Answered):
    """Settings of `randsmooth card`.

    Attributes:
        run: Model folder of `train` or `import`, or a table of certificates.
        tables: Tables of certificates for the card. (default: those in the model folder,
            and the one beside it that `certify` wrote)
        radii: Radii of the certified accuracies, such as 0,0.5,1. (default: every 0.25
            in L2; in other norms up to eight)
        out: File of the card. What it holds besides certificates stays. (default:
            README.md in the model folder; of a table, TABLE.md)
        benchmark: Data set of the hub and its task, USER/DATA:TASK. Also write the
            result at --at into .eval_results beside the card, for a benchmark that is
            registered there.
        at: With --benchmark: the radius of the certified accuracy.
    """

    run: Argument[Path]
    tables: Argument[list[Place]] = []
    radii: Radii = None
    out: Path | None = None
    benchmark: str | None = None
    at: float | None = None


def run(settings: Card) -> None:
    """Write a model card with certificates: for people, and for the Hugging Face hub.

    The card tells what was certified, under which noise, within which radii with their
    intervals, how to repeat it, and what it does not mean. Its front matter has the
    figures as `model-index`, so that the hub shows them after `hf upload`. In a card that
    exists, only the certificates are replaced. The command sends nothing.

    Example: randsmooth card runs/gaussian
    """
    if (settings.benchmark is None) != (settings.at is None):
        raise Conflict(
            "a benchmark takes one radius: give --benchmark and --at together",
            field="benchmark",
        )
    folder = settings.run if settings.run.is_dir() else None
    tables = _tables(settings, folder)
    onto = "" if folder is None else _card_of_model(folder, tables)
    out = _out(settings, folder)
    with writing([out], overwrite=True):
        if out.is_file():
            onto = read_file(out, most=MOST_YAML_BYTES).decode("utf-8", "replace")
        text = app.card(
            tables,
            onto,
            radii=settings.radii,
            commands=_commands(tables, MODEL if folder is None else FOLDER),
            title=None if folder is None else folder.resolve().name,
        )
        results = _benchmark_results(settings, tables, out)
        write_atomically(out, text.encode())
        for path, content in results.items():
            make_folder(path.parent)
            write_atomically(path, content.encode())

    files = [out, *results]
    lines = [f"card of {len(tables)} table{'s' if len(tables) > 1 else ''} in {out}"]
    lines += [f"result for the benchmark in {path}" for path in results]
    lines.append(f"to publish it: {_publishing(out)}")
    settings.answer(lines, lambda: {"files": [str(file) for file in files]})


def _publishing(out: Path) -> str:
    """Return the command that publishes the card: the hub shows README.md alone."""
    from randsmooth.cards import CARD

    if out.name == CARD:
        return f"hf upload USER/NAME {shlex.quote(str(out.parent))}"
    return f"hf upload USER/NAME {shlex.quote(str(out))} {CARD}"


def _out(settings: Card, folder: Path | None) -> Path:
    """Return the file of the card."""
    if settings.out is not None:
        return settings.out
    # What writes cards loads Jinja and SciPy, which `--help` does without.
    from randsmooth.cards import CARD

    return settings.run.with_suffix(".md") if folder is None else folder / CARD


def _tables(settings: Card, folder: Path | None) -> list[Certificates]:
    """Return the tables for the card.

    Raises:
        MissingValue: there is none.
    """
    places = list(settings.tables)
    if folder is None:
        places.insert(0, settings.run)
    elif not places:
        places += certificates.find_certificates(folder)
        beside = default_out(str(folder))
        if beside.is_file():
            places.append(beside)
    if not places:
        raise MissingValue(
            f"there is no table of certificates in {folder} or beside it",
            field="tables",
            fix=("certify the model first, or give ", Setting("tables")),
        )
    return load(places)


def _card_of_model(folder: Path, tables: Sequence[Certificates]) -> str:
    """Return the card that a model folder has by itself.

    Raises:
        WrongTable: a table is about another model.
        Problem: the folder holds no model.
    """
    # torch takes long to load, and a card of tables alone needs none.
    from randsmooth import models
    from randsmooth.models.folder import card

    model = models.load(folder)
    weights = models.weights_hash(model)
    for table in tables:
        recorded = (table.header.model or {}).get("weights")
        if recorded != weights:
            raise WrongTable(
                f"{table.name} is not about the weights in {folder}",
                fix="certify this model, or give the tables that are about it",
            )
    return card(model)


def _commands(tables: Sequence[Certificates], model: str) -> dict[str, str]:
    """Return name of a table -> the command that makes it again; none where none does."""
    commands = {}
    for table in tables:
        options = app.repeating(table.header)
        if options is not None:
            words = command_words("certify", [model], options)
            commands[table.name] = shlex.join(["randsmooth", *words])
    return commands


def _benchmark_results(
    settings: Card, tables: Sequence[Certificates], out: Path
) -> dict[Path, str]:
    """Return file -> content of the results of a benchmark, one file for each table."""
    if settings.benchmark is None or settings.at is None:
        return {}
    # See `_out`.
    from randsmooth.app.certified_card import RESULTS_FOLDER

    folder = out.parent / RESULTS_FOLDER
    return {
        folder / f"{Path(table.name).name}.yaml": app.benchmark_results(
            table, settings.benchmark, settings.at
        )
        for table in tables
    }
