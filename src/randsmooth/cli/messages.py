"""What the command line says on stderr, the exit codes that it ends with, and the variable that shells set."""

from __future__ import annotations

import sys

from randsmooth.escape import printable, say, shortened
from randsmooth.urls import with_urls

FAILURE = 1
BAD_INPUT = 2
INTERRUPTED = 130  # what shells report for a process that Ctrl-C ended
COMPLETION = "_RANDSMOOTH_COMPLETE"  # set by a shell that asks how to complete a line, or for the script that asks
LONGEST = 8_000  # characters of an error; the longest of ours, which lists the presets, has fewer


def note(text: object) -> None:
    """Print something that a user may want to know, on one line of stderr."""
    say(f"note: {one_line(text)}", file=sys.stderr)


def one_line(text: object) -> str:
    """`text` on one printable line, with its middle left out where it is very long because it quotes a file."""
    return shortened(printable(with_urls(str(text))), LONGEST)
