"""Every script in examples/ runs offline, alone, in a folder of its own, and says something."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))

# Runs the script in the first argument where no connection but to this machine can be made.
OFFLINE = """
import ipaddress
import runpy
import socket
import sys

def refusing(connect):
    def checked(self, address):
        local = self.family == getattr(socket, "AF_UNIX", None) or address[0] == "localhost"
        if not local and not ipaddress.ip_address(address[0]).is_loopback:
            raise OSError(f"an example must run offline; it asks for {address}")
        return connect(self, address)
    return checked

socket.socket.connect = refusing(socket.socket.connect)
sys.argv = sys.argv[1:]  # as a script sees them
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run(script: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "WANDB_MODE": "offline"}
    environment = {name: value for name, value in os.environ.items() if name != "RANDSMOOTH_DATA"} | offline
    return subprocess.run(
        [sys.executable, "-c", OFFLINE, str(script)],
        cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: str(script.stem))
def test_an_example_runs(script: Path, tmp_path: Path) -> None:
    done = run(script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: str(script.stem))
def test_an_example_is_a_program_with_a_main_function_and_says_what_it_shows(script: Path) -> None:
    text = script.read_text()
    assert text.startswith(('"""', '#!/usr/bin/env python\n"""'))
    assert "\ndef main(" in text and 'if __name__ == "__main__":\n    main(' in text


def test_a_script_that_asks_another_machine_or_fails_would_be_seen(tmp_path: Path) -> None:
    (tmp_path / "asks.py").write_text("import socket\nsocket.create_connection(('192.0.2.1', 80), timeout=1)\n")
    assert "an example must run offline" in run(tmp_path / "asks.py", tmp_path).stderr
    (tmp_path / "fails.py").write_text("raise SystemExit(3)\n")
    assert run(tmp_path / "fails.py", tmp_path).returncode == 3
