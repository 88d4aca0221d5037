"""Completion in the shells themselves: what a user sees after Tab, at a terminal."""

from __future__ import annotations

import os
import select
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from cli.run import Run

SHELLS = {
    "bash": (["--norc", "--noprofile", "-i"], 'eval "$(randsmooth completion bash)"'),
    "zsh": (["-f", "-i"], 'autoload -Uz compinit; compinit -u; eval "$(randsmooth completion zsh)"'),
    "fish": (["--no-config", "-i"], "randsmooth completion fish | source"),
}
PATIENCE = 30.0  # seconds for an answer, which takes a start of Python

TYPED = [
    ("randsmooth certi", "randsmooth certify "),
    ("randsmooth certify runs/m --back", "--backend"),
    ("randsmooth certify runs/m --backend openv", "openvino"),
    ("randsmooth train fashion", "fashion-mnist"),
    ("randsmooth train mnist --method smoothm", "smoothmix"),
    ("randsmooth train mnist --preset cat-rs/macer/t", "cat-rs/macer/table1"),
    ("randsmooth evaluate table_of_t", "table_of_today.parquet"),
]


class Terminal:
    """A shell at a terminal of its own, with `randsmooth` on its path."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        import pty

        binaries = folder / "bin"
        binaries.mkdir()
        program = binaries / "randsmooth"
        program.write_text(f"#!{sys.executable}\nfrom randsmooth.cli.main import main\n\nmain()\n")
        program.chmod(0o755)
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            more = {"PATH": f"{binaries}:{os.environ['PATH']}", "HOME": str(folder), "TERM": "dumb", "PS1": "ready> "}
            os.execvpe(command[0], [*command], os.environ | more)

    def type(self, text: str) -> None:
        os.write(self.end, text.encode())

    def read_until(self, wanted: str) -> str:
        """What is shown up to `wanted`, which is waited for."""
        shown, start = "", time.monotonic()
        while wanted not in shown and time.monotonic() - start < PATIENCE:
            ready, _, _ = select.select([self.end], [], [], 0.2)
            if ready:
                shown += os.read(self.end, 65536).decode(errors="replace")
        assert wanted in shown, shown[-2000:]
        return shown

    def close(self) -> None:
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)
        os.close(self.end)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="this system has no terminals of this kind")
@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_verbs_options_names_and_files(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "table_of_today.parquet").write_bytes(b"")
    options, begin = SHELLS[shell]
    terminal = Terminal([shell, *options], tmp_path)
    try:
        terminal.type(f"{begin}; echo be''gun\r")
        terminal.read_until("begun")
        for typed, expected in TYPED:
            terminal.type(f"{typed}\t")
            terminal.read_until(expected)
            terminal.type("\x15")  # ctrl-U empties the line
    finally:
        terminal.close()


def test_the_script_says_how_it_is_kept(cli: Run) -> None:
    for shell in (*SHELLS, "powershell"):
        done = cli("completion", shell)
        assert done.code == 0 and f"complete_{shell}" in done.out, shell
        assert done.out.splitlines()[-1].startswith("# To have this in every new shell: ")
