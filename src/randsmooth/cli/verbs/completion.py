"""`randsmooth completion`: the script with which a shell completes."""

from __future__ import annotations

from typing import Literal

from click.shell_completion import get_completion_class

from randsmooth.cli.main import app
from randsmooth.cli.settings import Argument, Unsaved, option
from randsmooth.escape import say

# Set by a shell that asks how to complete a line.
VARIABLE = "_RANDSMOOTH_COMPLETE"

# Shell -> the command after which it reads the script whenever it starts.
LASTING = {
    "bash": """echo 'eval "$(randsmooth completion bash)"' >> ~/.bashrc""",
    "zsh": (
        """echo 'eval "$(randsmooth completion zsh)"' >> ~/.zshrc   """
        "# below the line that calls compinit"
    ),
    "fish": "randsmooth completion fish > ~/.config/fish/completions/randsmooth.fish",
    "powershell": "randsmooth completion powershell >> $PROFILE",
}


class Completion(Unsaved):
    """Settings of `randsmooth completion`."""

    shell: Argument[Literal["bash", "zsh", "fish", "powershell"]] = option(
        f"{', '.join(LASTING)}.", ...
    )

    @classmethod
    def epilog(cls) -> str:
        """Return how the script is installed."""
        commands = [f"`{command}`" for command in LASTING.values()]
        return f"For every new shell: {'; or '.join(commands)}"


def run(settings: Completion) -> None:
    """Print the script with which a shell completes verbs, options, names and files.

    It completes names of data sets, methods, presets, rules, backends, architectures,
    devices, loggers and splits, including those of other installed packages. Elsewhere,
    or if no name matches, the shell offers files.

    Example: eval "$(randsmooth completion bash)"
    """
    completion_class = get_completion_class(settings.shell)
    # Click knows these four shells; its type allows None, for other names.
    assert completion_class is not None, settings.shell
    completion = completion_class(
        cli=app, ctx_args={}, prog_name="randsmooth", complete_var=VARIABLE
    )
    script = completion.source()
    say(f"{script}\n# To have this in every new shell: {LASTING[settings.shell]}")
