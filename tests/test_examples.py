"""Every `>>>` example of the package runs, and every program in examples/, offline and in a folder of its own."""

import ast
import doctest
import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import get_origin

import pytest
import torch

import randsmooth
from randsmooth.extras import EXTRAS, MissingPackage

ROOT = Path(randsmooth.__file__).parent
SCRIPTS = sorted((ROOT.parents[1] / "examples").glob("*.py"))

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


def dotted(path: Path) -> str:
    """The name by which the module or package in a file is imported."""
    parts = ("randsmooth", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(part for part in parts if part != "__init__")


@pytest.mark.parametrize(
    "room",
    [
        ".",
        *sorted(
            path.name
            for path in ROOT.iterdir()
            if path.is_dir() and path.name[0] != "_"
        ),
    ],
)
def test_examples_run(
    room: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANDSMOOTH_CACHE", str(tmp_path / "cache"))
    for path in sorted(
        ROOT.glob("*.py") if room == "." else (ROOT / room).rglob("*.py")
    ):
        if ">>> " in path.read_text():
            (tmp_path / dotted(path)).mkdir()
            monkeypatch.chdir(
                tmp_path / dotted(path)
            )  # what an example writes is not left in the checkout
            torch.manual_seed(0)
            try:
                module = importlib.import_module(dotted(path))
            except ModuleNotFoundError as error:
                assert error.name in EXTRAS, error  # of an extra that is not installed
                continue
            failed, tried = doctest.testmod(
                module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            )
            assert tried and not failed, dotted(path)


def test_no_example_picks_the_class_by_the_samples_that_bound_it() -> None:
    twice = re.compile(
        r"counts0=(counts\w*),[\s.]*counts=\1\b|Evidence\.of\((\w+), \2\b"
    )
    assert not [path for path in ROOT.rglob("*.py") if twice.search(path.read_text())]


def has_example(value: object) -> bool:
    """Whether the docstring of a function has an example, or that of a class or one of its methods."""
    members = list(vars(value).values()) if inspect.isclass(value) else []
    texts = [
        inspect.getdoc(part) or ""
        for part in (value, *members)
        if callable(part) or isinstance(part, property)
    ]
    return any(">>> " in text for text in texts)


def test_every_public_function_and_class_has_an_example() -> None:
    lacking = []
    for stub in sorted(ROOT.rglob("__init__.pyi")):
        package = importlib.import_module(dotted(stub))
        imports = (
            node
            for node in ast.parse(stub.read_text()).body
            if isinstance(node, ast.ImportFrom)
        )
        for name in (
            alias.asname or alias.name for node in imports for alias in node.names
        ):
            try:
                value = getattr(package, name)
            except MissingPackage:
                continue
            documented = (
                callable(value)
                and get_origin(value) is None
                and not isinstance(value, ModuleType)
            )
            if documented and not has_example(value):
                lacking.append(f"{dotted(stub)}.{name}")
    assert not lacking


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: str(script.stem))
def test_a_program_runs(script: Path, tmp_path: Path) -> None:
    offline = {
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "WANDB_MODE": "offline",
    }
    environment = {
        name: value for name, value in os.environ.items() if name != "RANDSMOOTH_DATA"
    } | offline
    command = [sys.executable, "-c", OFFLINE, str(script)]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0 and done.stdout.strip(), done.stderr
