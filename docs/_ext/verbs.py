"""```{verbs}```: every verb of the command line with its options, as the program itself knows them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from docstrings import restructured
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from randsmooth.cli.command import make_command
from randsmooth.cli.verbs import DATA_VERBS, VERBS, Verb

GROUPS: dict[str, Mapping[str, Verb]] = {"": VERBS, "data ": DATA_VERBS}


class Verbs(SphinxDirective):
    """A table of the verbs, and a section for each."""

    def run(self) -> list[nodes.Node]:
        every = every_verb()
        rows = [f"   * - :ref:`{name} <{_label(name)}>`\n     - {restructured(verb.help, '')}" for name, verb in every]
        table = self._rst([".. list-table::", "   :widths: auto", "   :class: names", "", *rows])
        return [*table, *(self._section(name, verb) for name, verb in every)]

    def _section(self, name: str, verb: Verb) -> nodes.section:
        section = nodes.section(ids=[_label(name)], names=[_label(name)])
        title = nodes.title("", "", nodes.literal("", f"randsmooth {name}"))
        section += title
        std = self.env.domains.standard_domain
        std.labels[_label(name)] = (self.env.docname, _label(name), f"randsmooth {name}")
        std.anonlabels[_label(name)] = (self.env.docname, _label(name))
        section += self._rst([*described(name, verb)])
        return section

    def _rst(self, lines: list[str]) -> list[nodes.Node]:
        return self.parse_text_to_nodes("\n".join(["````{eval-rst}", *lines, "````"]))


def every_verb() -> list[tuple[str, Verb]]:
    """Each verb with its name, such as "certify" and "data list"."""
    return [(f"{group}{name}", verb) for group, verbs in GROUPS.items() for name, verb in verbs.items()]


def options_of(verb: Verb) -> list[str]:
    """The options of a verb, such as --sigma."""
    command = make_command("verb", verb.load())
    return [option for parameter in command.params for option in parameter.opts if option.startswith("--")]


def _label(name: str) -> str:
    return f"randsmooth-{name.replace(' ', '-')}"


def described(name: str, verb: Verb) -> Iterator[str]:
    """The lines of a verb's section, in reStructuredText."""
    run = verb.load()
    command = make_command(name.rpartition(" ")[2], run)
    for paragraph in inspect.cleandoc(run.__doc__ or "").split("\n\n"):
        text = " ".join(paragraph.split())
        example = text.partition("Example: ")
        yield from [restructured(example[0], ""), ""]
        if example[2]:
            yield from [".. code-block:: console", "", f"   {example[2]}", ""]
    with command.make_context(f"randsmooth {name}", [], resilient_parsing=True) as context:
        usage = " ".join([f"randsmooth {name}", *command.collect_usage_pieces(context)])
        yield from [".. code-block:: text", "", f"   {usage}", "", f".. program:: randsmooth {name}", ""]
        for parameter in command.get_params(context):
            spelled, help = parameter.get_help_record(context) or ("", "")
            if parameter.param_type_name == "argument":
                spelled = str(parameter.metavar or parameter.name)
            yield from [f".. option:: {spelled}", "", f"   {restructured(' '.join(help.split()), '')}", ""]
    for paragraph in (command.epilog or "").split("\n\n"):
        yield from [restructured(" ".join(paragraph.split()), ""), ""]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("verbs", Verbs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
