"""`randsmooth completion`."""

from __future__ import annotations

from typing import Literal

from randsmooth.cli.messages import COMPLETION
from randsmooth.cli.settings import Argument, Unsaved, option
from randsmooth.escape import say

# How each shell is told to read the script whenever it starts.
LASTING = {
    "bash": """echo 'eval "$(randsmooth completion bash)"' >> ~/.bashrc""",
    "zsh": """echo 'eval "$(randsmooth completion zsh)"' >> ~/.zshrc   # below the line that calls compinit""",
    "fish": "randsmooth completion fish > ~/.config/fish/completions/randsmooth.fish",
    "powershell": "randsmooth completion powershell >> $PROFILE",
}


class Completion(Unsaved):
    """Settings of `randsmooth completion`."""

    shell: Argument[Literal["bash", "zsh", "fish", "powershell"]] = option(f"{', '.join(LASTING)}.", ...)

    @classmethod
    def epilog(cls) -> str:
        """How the script is installed."""
        return "For every new shell: " + "; or ".join(f"`{way}`" for way in LASTING.values())


def completion(settings: Completion) -> None:
    """Print the script with which a shell completes verbs, options, names and files.

    Completed by name are data sets, methods, presets, rules, backends, architectures, devices, loggers and splits,
    those of other installed packages among them. Elsewhere, and where no name begins so, the shell offers files.

    Example: eval "$(randsmooth completion bash)"
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    script = get_completion_script(prog_name="randsmooth", complete_var=COMPLETION, shell=settings.shell)
    say(f"{script}\n# To have this in every new shell: {LASTING[settings.shell]}")
