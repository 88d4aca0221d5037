"""```{verbs}```: every verb of the command line with its options, as the program itself knows them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import click
from docutils import nodes
from reference import parsed, restructured
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from randsmooth.cli.command import make_command
from randsmooth.cli.verbs import VERBS, Verb


class Verbs(SphinxDirective):
    """A section for each verb."""

    def run(self) -> list[nodes.Node]:
        return [self._section(verb) for verb in VERBS]

    def _section(self, verb: Verb) -> nodes.section:
        label = f"randsmooth-{verb.name.replace(' ', '-')}"
        section = nodes.section(ids=[label], names=[label])
        section += nodes.title("", "", nodes.literal("", f"randsmooth {verb.name}"))
        section += parsed(self, [*described(verb)])
        return section


def options_of(verb: Verb) -> list[str]:
    """Return the options of a verb, such as --sigma."""
    command = make_command(verb)
    return [
        option
        for parameter in command.params
        for option in parameter.opts
        if option.startswith("--")
    ]


@dataclass(frozen=True)
class Description:
    """What a page says of a verb.

    Attributes:
        paragraphs: each with the example that ends it, or an empty text.
        usage: the command with its arguments.
        parameters: each as it is spelled, and what it means.
        epilog: paragraphs behind the parameters.
    """

    paragraphs: list[tuple[str, str]]
    usage: str
    parameters: list[tuple[str, str]]
    epilog: list[str]

    @classmethod
    def of(cls, verb: Verb) -> Self:
        command = make_command(verb)
        paragraphs = []
        for paragraph in (command.help or "").split("\n\n"):
            text, _, example = paragraph.partition("Example: ")
            paragraphs.append((text, example))
        parameters = []
        with command.make_context(
            f"randsmooth {verb.name}", [], resilient_parsing=True
        ) as context:
            usage = " ".join(
                [f"randsmooth {verb.name}", *command.collect_usage_pieces(context)]
            )
            for parameter in command.get_params(context):
                spelled, help = parameter.get_help_record(context) or ("", "")
                if isinstance(parameter, click.Argument):
                    spelled = parameter.human_readable_name
                parameters.append((spelled, " ".join(help.split())))
        epilog = [
            " ".join(paragraph.split())
            for paragraph in (command.epilog or "").split("\n\n")
        ]
        return cls(
            paragraphs,
            usage,
            parameters,
            [paragraph for paragraph in epilog if paragraph],
        )


def described(verb: Verb) -> Iterator[str]:
    """Return the lines of a verb's section, in reStructuredText."""
    said = Description.of(verb)
    for text, example in said.paragraphs:
        yield from [restructured(text), ""]
        if example:
            yield from [".. code-block:: console", "", f"   {example}", ""]
    yield from [
        ".. code-block:: text",
        "",
        f"   {said.usage}",
        "",
        f".. program:: randsmooth {verb.name}",
        "",
    ]
    for spelled, help in said.parameters:
        yield from [f".. option:: {spelled}", "", f"   {restructured(help)}", ""]
    for paragraph in said.epilog:
        yield from [restructured(paragraph), ""]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("verbs", Verbs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
