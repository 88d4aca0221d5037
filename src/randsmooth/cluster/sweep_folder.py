"""The folder of a sweep: which grid it is about, which steps failed and which run, besides what the steps make."""

from __future__ import annotations

import json
import os
import shlex
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from randsmooth.atomic import held, is_scrap, write_atomically
from randsmooth.certificates.partial import journal_path
from randsmooth.cluster.graph import Graph, Step
from randsmooth.cluster.grid import Grid
from randsmooth.cluster.step_jobs import JOBS
from randsmooth.cluster.sweep_graph import graph_of
from randsmooth.documents import parse_json, parse_yaml, read_file
from randsmooth.errors import InputError

RECORD = "sweep.yaml"
RUNNING = ".running.json"
OWN = (RECORD, RUNNING, JOBS, "slurm")
HEADING = "# What this folder holds; written by `randsmooth sweep`, which compares a grid with it before it goes on.\n"
STALE = 60.0  # seconds without a sign after which a sweep on another machine counts as ended


class SweepFolder:
    """What is known of a sweep besides its models and tables. Nothing here is needed to go on with them.

    Attributes:
        path: the folder.
    """

    def __init__(self, path: Path) -> None:
        if "://" in str(path) or ":/" in str(path):
            raise InputError(f"--out {path}: the folder of a sweep must be on a disk; its tables can be moved later")
        self.path = path

    def check(self, grid: Grid) -> None:
        """Check that the folder is empty, or about this grid.

        Raises:
            InputError: it holds something else, or another sweep, or a model or a table that was made with other
                settings than those that the grid gives to its name.
        """
        known = self.known()
        if known is None:
            self._check_empty()
        else:
            self._check_same(known["steps"], _commands(grid), graph_of(grid, self.path))

    def begin(self, grid: Grid) -> None:
        """Write down what the folder is about. Errors as `check`."""
        self.check(grid)
        before = (self.known() or {"steps": {}})["steps"]
        content = {"grid": dict(grid.document), "steps": {**before, **_commands(grid)}}
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10**6)
        write_atomically(self.path / RECORD, (HEADING + text).encode())

    def known(self) -> dict[str, Any] | None:
        """What the folder says it is about; None if it says nothing."""
        path = self.path / RECORD
        if not path.exists():
            return None
        content: dict[str, Any] | None = parse_yaml(read_file(path), path)
        steps = content.get("steps") if isinstance(content, dict) else None
        if content is None or not isinstance(steps, dict) or not isinstance(content.get("grid"), dict):
            raise InputError(f"{path} is damaged: it must hold `grid` and `steps`; use another --out")
        return content

    def grid(self) -> Grid:
        """The grid that was last swept into the folder. InputError where it holds no sweep."""
        known = self.known() if self.path.is_dir() else None
        if known is None:
            raise InputError(f"{self.path} holds no sweep: give the folder that `randsmooth sweep GRID --out` wrote to")
        return Grid.read(known["grid"])

    def _check_empty(self) -> None:
        if self.path.is_file():
            raise InputError(f"{self.path} is a file; --out names a folder")
        there = sorted(path.name for path in self.path.iterdir() if not is_scrap(path)) if self.path.is_dir() else []
        if there:
            raise InputError(f"{self.path} holds {there[0]}, which no sweep wrote; use another --out")

    def _check_same(self, before: Mapping[str, Any], now: Mapping[str, str], graph: Graph) -> None:
        if before and not before.keys() & now.keys():
            raise InputError(
                f"{self.path} holds another sweep (of {next(iter(before))} and others, none of which is in the grid): "
                "use another --out"
            )
        for name in now:
            different = _difference(str(before[name]), now[name]) if name in before else ""
            stale = [step for step in graph.built_on(name) if step.verb in MADE_ONCE and _begun(step)]
            if different and stale:
                made = " and ".join(str(step.makes) for step in stale)
                raise InputError(
                    f"{made} {'were' if len(stale) > 1 else 'was'} made with other settings ({different}): use another "
                    f"--out, or remove {'them' if len(stale) > 1 else 'it'}"
                )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Be the one sweep that runs in the folder. InputError where another one does."""
        self.path.mkdir(parents=True, exist_ok=True)
        with held(self.path):
            try:
                yield
            finally:
                (self.path / RUNNING).unlink(missing_ok=True)

    def say_running(self, steps: Mapping[str, float]) -> None:
        """Leave a note of the steps that run and since when, for `sweep status` elsewhere."""
        facts = {"host": socket.gethostname(), "pid": os.getpid(), "steps": dict(steps)}
        write_atomically(self.path / RUNNING, json.dumps(facts).encode())

    def running(self) -> dict[str, float]:
        """The steps that run, with the time at which each began; none where their sweep is gone."""
        path = self.path / RUNNING
        try:
            facts, age = parse_json(read_file(path), path), time.time() - path.stat().st_mtime
        except (InputError, FileNotFoundError):  # there is none, or it is just being removed
            return {}
        here = facts.get("host") == socket.gethostname()
        alive = _is_alive(int(facts.get("pid", 0))) if here else age < STALE
        return dict(facts.get("steps", {})) if alive else {}


MADE_ONCE = ("train", "train-denoiser", "certify")


def _commands(grid: Grid) -> dict[str, str]:
    """Step -> its command in a folder called OUT, of the steps whose output cannot be made again in seconds."""
    return {step.name: step.command() for step in graph_of(grid, Path("OUT")) if step.verb in MADE_ONCE}


def failure_of(step: Step) -> str:
    """Why a step failed when it last ran; empty if it did not."""
    path = _failed(step)
    return path.read_text(errors="replace").strip() if path.exists() and not step.is_done() else ""


def say_failed(step: Step, error: str) -> None:
    """Keep why a step failed, beside its output; an empty `error` takes that back."""
    if error:
        write_atomically(_failed(step), f"{error}\n".encode(errors="backslashreplace"))
    else:
        _failed(step).unlink(missing_ok=True)


def _failed(step: Step) -> Path:
    return step.makes.with_name(f"{step.makes.name}.failed")


def _begun(step: Step) -> bool:
    """Whether there is anything of what a step makes."""
    return step.makes.exists() or journal_path(step.makes).exists()


def _difference(before: str, now: str) -> str:
    """The settings in which two commands differ, in words; nothing where only their order does."""
    settings = [_settings(shlex.split(command)) for command in (before, now)]
    words = [
        f"{key} {settings[0].get(key, 'not given')} there, {settings[1].get(key, 'not given')} in the grid"
        for key in dict.fromkeys([*settings[0], *settings[1]])
        if settings[0].get(key) != settings[1].get(key)
    ]
    return "; ".join(words)


def _settings(words: list[str]) -> dict[str, str]:
    """--n 5 --set m=2 --sound as {n: 5, m: 2, sound: yes}."""
    found, key = dict[str, str](), ""
    for word in words:
        if word.startswith("--"):
            key = word.removeprefix("--")
            found[key] = "yes"
        elif key == "set":
            found.pop("set", None)
            name, _, value = word.partition("=")
            found[name] = value
        else:
            found[key] = word
    return found


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    return pid > 0
