"""Groups of verbs on the command line, whose help and errors import none of the verbs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from typer.core import TyperGroup

from randsmooth.cli.verbs import DATA_VERBS, VERBS, Verb
from randsmooth.errors import unknown

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter
    from typer._click.shell_completion import CompletionItem

# Plain help: Rich's panels cost more to import than everything that the help itself needs.
APPEARANCE: dict[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"], "max_content_width": 110},
}


class VerbGroup(TyperGroup):
    """A group that imports a verb when that verb is asked for. `commands` holds the groups below it."""

    verbs: ClassVar[Mapping[str, Verb]]

    def list_commands(self, ctx: Context) -> list[str]:
        return [*self.verbs, *self.commands]

    def get_command(self, ctx: Context, cmd_name: str) -> Command:
        """The command of a verb, built from its settings. Raises InputError for a name that is not a verb's."""
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        if cmd_name not in self.verbs:
            raise unknown("verb", cmd_name, self.list_commands(ctx))
        from randsmooth.cli.command import make_command

        return make_command(cmd_name, self.verbs[cmd_name].load())

    def shell_complete(self, ctx: Context, incomplete: str) -> list[CompletionItem]:
        """The verbs that begin like `incomplete`, which are not imported for this, or the options."""
        from typer._click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        help = {name: verb.help for name, verb in self.verbs.items()}
        return [
            CompletionItem(name, help=help.get(name)) for name in self.list_commands(ctx) if name.startswith(incomplete)
        ]

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        lines = {name: verb.help for name, verb in self.verbs.items()}
        lines |= {name: command.help or "" for name, command in self.commands.items()}
        with formatter.section("Verbs"):
            formatter.write_dl([*lines.items()])


class AllVerbs(VerbGroup):
    """`randsmooth VERB`"""

    verbs = VERBS


class DataVerbs(VerbGroup):
    """`randsmooth data VERB`"""

    verbs = DATA_VERBS
