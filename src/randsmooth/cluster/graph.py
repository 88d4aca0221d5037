"""Steps of randsmooth that need each other: which can run now, which are done, which never will. No process here."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from randsmooth.certificates.partial import journal_path
from randsmooth.errors import InputError

RESUMED = ("train", "train-denoiser", "certify")  # verbs that go on with what a killed run has left
TRAINING = ("train", "train-denoiser")


@dataclass(frozen=True)
class Step:
    """One command of randsmooth, which makes one thing and goes on with it where it was interrupted.

    Attributes:
        name: what it is called, once in a graph.
        verb, argument, options: the command; `argument` may be several, options are settings by their names.
        makes: the model folder or the file that is there when the step is done.
        needs: the names of the steps that must be done before.
        reads: files that `makes` must not be older than; those of a step that takes seconds.
        any_will_do: it runs once all that it needs have ended, if any of them is done: a ranking of what there is.

    Example:
        >>> step = Step("a/train", "train", "digits", {"sigma": 0.25, "set": {"lr": 0.1}, "out": Path("a")}, Path("a"))
        >>> step.command()
        'randsmooth train digits --sigma 0.25 --set lr=0.1 --out a --resume'
        >>> step.is_done()
        False
    """

    name: str
    verb: str
    argument: str | Sequence[str]
    options: Mapping[str, Any]
    makes: Path
    needs: tuple[str, ...] = ()
    reads: tuple[Path, ...] = ()
    any_will_do: bool = field(default=False, kw_only=True)

    def words(self) -> list[str]:
        """The words of the command line, after `randsmooth`."""
        words = command_words(self.verb, self.argument, self.options)
        return [*words, "--resume"] if self.verb in RESUMED else words

    def command(self) -> str:
        """The command as a user would type it."""
        return shlex.join(["randsmooth", *self.words()])

    def is_done(self) -> bool:
        """Whether what it makes is there, whole."""
        if self.verb in TRAINING:
            return (self.makes / "config.json").exists()  # which is written last
        if self.verb == "certify":  # a kill may have come between the table and the removal of its journal
            return self.makes.exists() and not journal_path(self.makes).exists()
        return self.makes.exists() and all(_age(self.makes) >= _age(path) for path in self.reads if path.exists())


def command_words(verb: str, argument: str | Sequence[str], options: Mapping[str, Any]) -> list[str]:
    """The words of a command line, after `randsmooth`: one argument or several, and settings by their names.

    Example:
        >>> command_words("certify", "a", {"n": 1000, "sound": True, "model_arg": {"depth": 20}})
        ['certify', 'a', '--n', '1000', '--sound', '--model-arg', 'depth=20']
    """
    words = [verb, *([argument] if isinstance(argument, str) else argument)]
    for key, value in options.items():
        flag = "--" + key.replace("_", "-")
        if isinstance(value, Mapping):
            words += [word for name, set_to in value.items() for word in (flag, f"{name}={_as_yaml(set_to)}")]
        elif value is True:
            words.append(flag)
        elif value is not None and value is not False:
            words += [flag, str(value)]
    return words


def _as_yaml(value: Any) -> str:
    """A value of --set, which is read as YAML: a list as [1, 2], words that mean something else quoted."""
    import yaml

    if isinstance(value, str | float):
        return _quoted(value) if isinstance(value, str) else repr(value)
    return str(yaml.safe_dump(value, default_flow_style=True, width=10**6)).removesuffix("\n").removesuffix("\n...")


def _quoted(text: str) -> str:
    """Text that YAML reads as this text."""
    from randsmooth.documents import parse_yaml

    try:
        float(text)
    except ValueError:
        try:
            return text if parse_yaml(text, "the value") == text else f'"{text}"'
        except InputError:  # no YAML at all, which stays the text that it is
            return text
    return f'"{text}"'


def _age(path: Path) -> int:
    return path.stat().st_mtime_ns


class Graph:
    """Steps in the order in which they are to begin, as far as they need not wait for each other.

    Raises:
        InputError: two steps of one name or for one output, one that needs what is not there, or a circle.

    Example:
        >>> train = Step("train", "train", "digits", {"sigma": 0.25}, Path("a"))
        >>> certify = Step("certify", "certify", "a", {}, Path("a.parquet"), ("train",))
        >>> graph = Graph([train, certify])
        >>> [step.name for step in graph.ready(done=set(), begun=set(), failed=set())]
        ['train']
        >>> [step.name for step in graph.ready(done={"train"}, begun=set(), failed=set())]
        ['certify']
        >>> graph.blocked(failed={"train"})
        {'certify': 'train'}
    """

    def __init__(self, steps: Iterable[Step]) -> None:
        self._steps: dict[str, Step] = {}
        outputs: dict[Path, str] = {}
        for step in steps:
            if step.name in self._steps:
                raise InputError(f"two steps are called {step.name}")
            if step.makes in outputs:
                raise InputError(f"{outputs[step.makes]} and {step.name} would both write {step.makes}")
            self._steps[step.name], outputs[step.makes] = step, step.name
        self._check()

    def __iter__(self) -> Iterator[Step]:
        return iter(self._steps.values())

    def __len__(self) -> int:
        return len(self._steps)

    def __getitem__(self, name: str) -> Step:
        return self._steps[name]

    def done(self) -> set[str]:
        """The names of the steps whose output is there, as the disk says now.

        What is made of others' output, as a ranking is, has to be made again once there is more of it.
        """
        found: set[str] = set()
        for step in self.in_order():
            if step.is_done() and (not step.reads or found.issuperset(step.needs)):
                found.add(step.name)
        return found

    def ready(self, *, done: Collection[str], begun: Collection[str], failed: Collection[str]) -> list[Step]:
        """The steps that can begin now, in order: not done, begun or failed, with all that they need done."""
        blocked = self.blocked(failed)
        over = {*done, *failed, *blocked}
        return [
            step
            for step in self
            if step.name not in over
            and step.name not in begun
            and (over if step.any_will_do else {*done}).issuperset(step.needs)
        ]

    def blocked(self, failed: Collection[str]) -> dict[str, str]:
        """Each step that can never run because of failed ones -> the failed step that it waits for."""
        found: dict[str, str] = {}
        for step in self.in_order():
            lost = [name if name in failed else found[name] for name in step.needs if name in failed or name in found]
            if lost and step.name not in failed and (not step.any_will_do or len(lost) == len(step.needs)):
                found[step.name] = lost[0]
        return found

    def in_order(self) -> list[Step]:
        """All steps, each after those that it needs."""
        placed: dict[str, Step] = {}
        for step in self:
            self._place(step, placed)
        return list(placed.values())

    def built_on(self, name: str) -> list[Step]:
        """The step of this name and all that need it, directly or not, in order."""
        found = {name}
        for step in self.in_order():
            found |= {step.name} if found.intersection(step.needs) else set()
        return [step for step in self if step.name in found]

    def _place(self, step: Step, placed: dict[str, Step]) -> None:
        if step.name not in placed:
            for name in step.needs:
                self._place(self._steps[name], placed)
            placed[step.name] = step

    def _check(self) -> None:
        for step in self:
            for name in step.needs:
                if name not in self._steps:
                    raise InputError(f"{step.name} needs {name}, which is no step")
        left = {step.name: {*step.needs} for step in self}
        while free := [name for name, needs in left.items() if not needs]:
            for name in free:
                del left[name]
            for needs in left.values():
                needs.difference_update(free)
        if left:
            raise InputError(f"{', '.join(left)} wait for each other")
