"""A page of a command: ```{verb} certify``` and ```{options} certify```, as the program itself knows them.

`verb` says what the command does and how it is called; `options` lists its arguments and options, in the order and
below the headings of `--help`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import click
from docutils import nodes
from reference import parsed, restructured
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from randsmooth.cli.command import make_command
from randsmooth.cli.main import CONTEXT
from randsmooth.cli.verbs import VERBS, Verb

Parameters = list[tuple[str, str]]

# What opens a longer text behind the options -> its heading on the page.
LISTS = {"Rules, and what holds": "Rules", "Noises (--noise)": "Noises"}


@dataclass(frozen=True)
class Description:
    """What a page says of a verb.

    Attributes:
        paragraphs: each with the example that ends it, or an empty text.
        usage: the command with its arguments.
        sections: heading -> arguments or options, each as it is spelled and what it means.
        epilog: paragraphs behind the parameters.
    """

    paragraphs: list[tuple[str, str]]
    usage: str
    sections: dict[str, Parameters]
    epilog: list[str]

    @classmethod
    def of(cls, verb: Verb) -> Self:
        command = make_command(verb)
        with command.make_context(
            f"randsmooth {verb.name}", [], resilient_parsing=True, **CONTEXT
        ) as context:
            usage = command.collect_usage_pieces(context)
            arguments = [
                (parameter.human_readable_name, parameter.get_help_record(context))
                for parameter in command.get_params(context)
                if isinstance(parameter, click.Argument)
            ]
            options = command.options_below_headings(context)
        sections = {
            "Arguments": [(name, (record or ("", ""))[1]) for name, record in arguments]
        }
        sections |= options
        return cls(
            paragraphs=[
                with_example(paragraph)
                for paragraph in (command.help or "").split("\n\n")
            ],
            usage=" ".join([f"randsmooth {verb.name}", *usage]),
            sections={
                heading: [(spelled, one_line(help)) for spelled, help in parameters]
                for heading, parameters in sections.items()
                if parameters
            },
            epilog=[
                one_line(paragraph)
                for paragraph in (command.epilog or "").split("\n\n")
                if paragraph.strip()
            ],
        )

    def epilog_below_headings(self) -> dict[str, list[str]]:
        """Return the paragraphs behind the parameters, those of a list below its heading."""
        found: dict[str, list[str]] = {}
        heading = "More"
        for paragraph in self.epilog:
            for opening, name in LISTS.items():
                if paragraph.startswith(opening):
                    heading = name
            found.setdefault(heading, []).append(paragraph)
        return found


def with_example(paragraph: str) -> tuple[str, str]:
    """Return a paragraph of help without the command that ends it, and that command or an empty text."""
    before, example, after = paragraph.partition("Example: ")
    if example:
        return before, after
    before, command, after = paragraph.partition(": randsmooth ")
    if command:
        return f"{before}:", f"randsmooth {after}"
    return paragraph, ""


def one_line(text: str) -> str:
    """Return a text with every run of white space as one space."""
    return " ".join(text.split())


def verb_named(name: str) -> Verb:
    """Return the verb that users type as `name`."""
    return next(verb for verb in VERBS if verb.name == name)


def anchor_of(verb: Verb) -> str:
    """Return the anchor at which the page of a verb describes it."""
    return f"randsmooth-{verb.name.replace(' ', '-')}"


def page_of(verb: Verb) -> str:
    """Return the page that describes a verb: those of a group share one."""
    return f"commands/{verb.name.split()[0]}"


def options_of(verb: Verb) -> list[str]:
    """Return the options of a verb, such as --sigma."""
    command = make_command(verb)
    return [
        option
        for parameter in command.params
        for option in parameter.opts
        if option.startswith("--")
    ]


class VerbDirective(SphinxDirective):
    """A directive whose argument is the name of a verb."""

    required_arguments = 1
    final_argument_whitespace = True

    @property
    def verb(self) -> Verb:
        return verb_named(self.arguments[0])


class Purpose(VerbDirective):
    """What a verb does, and how it is called."""

    def run(self) -> list[nodes.Node]:
        anchor = anchor_of(self.verb)
        target = nodes.target("", "", ids=[anchor], names=[anchor])
        return [target, *parsed(self, [*purpose(Description.of(self.verb))])]


class Options(VerbDirective):
    """The arguments and options of a verb, a section for each heading of its help."""

    def run(self) -> list[nodes.Node]:
        said = Description.of(self.verb)
        sections = {
            heading: [*listed(self.verb, parameters)]
            for heading, parameters in said.sections.items()
        }
        for heading, paragraphs in said.epilog_below_headings().items():
            sections[heading] = [*described(paragraphs)]
        return [
            self._section(heading, lines)
            for heading, lines in sections.items()
            if lines
        ]

    def _section(self, heading: str, lines: list[str]) -> nodes.section:
        anchor = f"{anchor_of(self.verb)}-{nodes.make_id(heading)}"
        section = nodes.section(ids=[anchor], names=[anchor])
        section += nodes.title("", heading)
        section += parsed(self, lines)
        return section


def purpose(said: Description) -> Iterator[str]:
    """Return the lines of what a verb does, in reStructuredText."""
    for text, example in said.paragraphs:
        yield from [restructured(text), ""]
        if example:
            yield from [".. code-block:: console", "", f"   {example}", ""]
    yield from [".. code-block:: text", "", f"   {said.usage}", ""]


def listed(verb: Verb, parameters: Parameters) -> Iterator[str]:
    """Return the lines of arguments or options, in reStructuredText."""
    yield from [f".. program:: randsmooth {verb.name}", ""]
    for spelled, help in parameters:
        yield from [f".. option:: {spelled}", "", f"   {restructured(help)}", ""]


def described(paragraphs: list[str]) -> Iterator[str]:
    """Return the lines of paragraphs, in reStructuredText: a list where each names what it explains."""
    opening, *others = paragraphs
    yield from [restructured(opening), ""]
    for paragraph in others:
        name, colon, meaning = paragraph.partition(": ")
        if colon and " " not in name:
            yield from [f"``{name}``", f"   {restructured(meaning)}", ""]
        else:
            yield from [restructured(paragraph), ""]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("verb", Purpose)
    app.add_directive("options", Options)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
