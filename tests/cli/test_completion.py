"""What a shell completes, names of other packages included; and completion in the shells themselves, at a terminal."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from cli.processes import Run
from openness.plugin import POINTS, announce

# Prints what bash is offered for the last word of each command line, and the help of some verbs.
OFFERS = """
import contextlib, io, json, os, sys
os.environ |= {"_RANDSMOOTH_COMPLETE": "complete_bash", "COMP_WORDS": "", "COMP_CWORD": "0"}
from randsmooth.cli.main import main
lines, verbs = map(json.loads, sys.argv[1:])
def said(words, line):
    os.environ |= {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    sys.argv, out = words, io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main()
    return out.getvalue().split()
offered = {line: said(["randsmooth"], f"randsmooth {line}") for line in lines}
del os.environ["_RANDSMOOTH_COMPLETE"]
print(json.dumps([offered, {verb: said(["randsmooth", verb, "--help"], "") for verb in verbs}]))
"""
OFFERED = {
    "cert": ["certify"],
    "data ": ["list", "describe"],
    "certify m --back": ["--backend"],
    "train mn": ["mnist"],
    "train mnist --method smooth": ["smoothadv", "smoothmix"],
    "train mnist --logger ": ["tensorboard", "csv", "mlflow", "wandb"],
    "train mnist --preset cat-rs/macer/t": ["cat-rs/macer/table1"],
    "completion ": ["bash", "zsh", "fish", "powershell"],
}
OF_OTHERS = {"backend": "certify", "arch": "train", "method": "train", "dataset": "certify"}


def test_words_are_completed_and_names_of_other_packages_are_known(tmp_path: Path) -> None:
    announce(tmp_path)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    others = {setting: f"{verb} m --{setting} " for setting, verb in OF_OTHERS.items()}
    asked = json.dumps([*OFFERED, *others.values()]), json.dumps([*OF_OTHERS.values()])
    environment = os.environ | {"PYTHONPATH": path, "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-c", OFFERS, *asked], env=environment, capture_output=True, text=True, check=True
    )
    offered, helps = json.loads(done.stdout)
    assert done.stderr == "" and {line: {*offered[line]} for line in OFFERED} == {k: {*v} for k, v in OFFERED.items()}
    for setting, line in others.items():
        names = POINTS[f"randsmooth.{'architecture' if setting == 'arch' else setting}s"]
        assert {*names} <= {*offered[line]}, setting
        assert all(f"{name} (from smoothing-extras)" in " ".join(helps[OF_OTHERS[setting]]) for name in names), setting


def test_the_script_says_how_it_is_kept(cli: Run) -> None:
    for shell in (*SHELLS, "powershell"):
        done = cli("completion", shell)
        assert done.code == 0 and f"complete_{shell}" in done.out, shell
        assert done.out.splitlines()[-1].startswith("# To have this in every new shell: ")


SHELLS = {
    "bash": (["--norc", "--noprofile", "-i"], 'eval "$(randsmooth completion bash)"'),
    "zsh": (["-f", "-i"], 'autoload -Uz compinit; compinit -u; eval "$(randsmooth completion zsh)"'),
    "fish": (["--no-config", "-i"], "randsmooth completion fish | source"),
}
PATIENCE = 30.0  # seconds for an answer, which takes a start of Python
TYPED = {
    "randsmooth certi": "randsmooth certify ",
    "randsmooth certify runs/m --back": "--backend",
    "randsmooth certify runs/m --backend openv": "openvino",
    "randsmooth train mnist --preset cat-rs/macer/t": "cat-rs/macer/table1",
    "randsmooth evaluate table_of_t": "table_of_today.parquet",
}


class Terminal:
    """A shell at a terminal of its own, with `randsmooth` on its path."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        import pty

        program = folder / "bin" / "randsmooth"
        program.parent.mkdir()
        program.write_text(f"#!{sys.executable}\nfrom randsmooth.cli.main import main\n\nmain()\n")
        program.chmod(0o755)
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            path = f"{program.parent}:{os.environ['PATH']}"
            more = {"PATH": path, "HOME": str(folder), "TERM": "dumb", "PS1": "ready> "}
            os.execvpe(command[0], [*command], os.environ | more)

    def shows(self, text: str, wanted: str) -> None:
        """Types `text`, and waits until `wanted` is shown."""
        os.write(self.end, text.encode())
        shown, start = "", time.monotonic()
        while wanted not in shown and time.monotonic() - start < PATIENCE:
            if select.select([self.end], [], [], 0.2)[0]:
                shown += os.read(self.end, 65536).decode(errors="replace")
        assert wanted in shown, shown[-2000:]

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
        terminal.shows(f"{begin}; echo be''gun\r", "begun")
        for typed, expected in TYPED.items():
            terminal.shows(f"{typed}\t", expected)
            os.write(terminal.end, b"\x15")  # ctrl-U empties the line
    finally:
        terminal.close()
