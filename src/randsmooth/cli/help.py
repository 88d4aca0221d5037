"""The help of a verb: its options below headings, with their types and defaults."""

import inspect
from pathlib import Path
from typing import Any

import click
from pydantic.fields import FieldInfo

from randsmooth.cli.completion import choices_of, names_of_other_packages
from randsmooth.cli.settings import kinds_in
from randsmooth.frozen_record import is_whole

# Heading in the help -> the settings below it, in their order. A heading stands where
# two settings or more of a verb are below it; all others are plain options.
HEADINGS: dict[str, tuple[str, ...]] = {
    "What": (
        "dataset",
        "split",
        "noise",
        "sigma",
        "model_arg",
        "num_classes",
        "refusal",
        "identity",
        "denoiser",
        "ensemble",
        "image_column",
        "label_column",
        "text_column",
        "resize",
        "crop",
    ),
    "How sure": ("alpha", "rule", "bound", "label_aware", "sound", "seed"),
    "How many": ("n0", "n", "take", "skip", "shard", "batch"),
    "Where": (
        "device",
        "backend",
        "precision",
        "devices",
        "nodes",
        "workers",
        "ray",
        "dask",
        "slurm",
        "array",
        "parallel",
        "partition",
        "time",
        "gpus",
        "cpus",
        "mem",
        "account",
        "qos",
        "constraint",
        "setup",
        "slurm_arg",
    ),
    "Output": (
        "out",
        "title",
        "format",
        "plan",
        "resume",
        "accept_changes",
        "overwrite",
        "config",
        "save_config",
        "quiet",
        "help",
    ),
}


class VerbCommand(click.Command):
    """A command whose help has its options below headings."""

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write a section for each heading that has options."""
        for heading, lines in self.options_below_headings(ctx).items():
            with formatter.section(heading):
                formatter.write_dl(lines)

    def options_below_headings(
        self, ctx: click.Context
    ) -> dict[str, list[tuple[str, str]]]:
        """Return each option as it is spelled with its help, below headings."""
        rows = {}
        for parameter in self.get_params(ctx):
            if not isinstance(parameter, click.Argument):
                # HEADINGS have options by their spelling, the last and longest of which
                # counts. `parameter.name` may differ: --from is `source`.
                name = parameter.opts[-1].removeprefix("--").replace("-", "_")
                # Click's type allows None, for hidden options; no option of ours is.
                rows[name] = parameter.get_help_record(ctx) or ("", "")
        return _below_headings(rows)


def _below_headings(
    rows: dict[str, tuple[str, str]],
) -> dict[str, list[tuple[str, str]]]:
    """Return the rows of a help by their headings, "Options" first.

    Args:
        rows: name of an option -> its spelling and its help.
    """
    grouped = {}
    for heading, names in HEADINGS.items():
        present = [name for name in names if name in rows]
        if len(present) > 1:
            grouped[heading] = [rows[name] for name in present]

    headed = {name for heading in grouped for name in HEADINGS[heading]}
    others = [row for name, row in rows.items() if name not in headed]
    if not others:
        return grouped
    return {"Options": others} | grouped


def paragraphs(docstring: str) -> str:
    """Return a docstring with each paragraph on one line, which click wraps again."""
    parts = inspect.cleandoc(docstring).split("\n\n")
    return "\n\n".join(" ".join(part.split()) for part in parts)


def help_of(name: str, field: FieldInfo) -> str:
    """Return the help of a setting, with its default and names of other packages."""
    sentences = [field.description or ""]
    if not field.is_required() and _is_worth_saying(field.default):
        sentences.append(f"(default: {field.default})")
    others = names_of_other_packages(name)
    if others:
        sentences.append(others)
    return " ".join(sentences)


def _is_worth_saying(default: Any) -> bool:
    """Return whether a default is a value, and not empty, None or False."""
    # `is`, because 0 equals False and is a value.
    return default is not False and default not in (None, [], {})


def shape_of(field: FieldInfo) -> str:
    """Return the word that stands for the value of a setting in help."""
    types = kinds_in(field.annotation)
    choices = choices_of(field)
    if choices:
        return f"<{'|'.join(choices)}>"
    if is_whole(field.annotation):
        return "INTEGER"
    if Path in types:
        return "PATH"
    if float in types:
        return "NUMBER"
    return "TEXT"
