"""How a step failed, as a file that another process reads: a problem as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any

from randsmooth import errors
from randsmooth.atomic import write_atomically
from randsmooth.documents import parse_json, read_file
from randsmooth.errors import UNSAID, Problem, Setting, SeveralProblems, Words
from randsmooth.escape import printable, shortened


def problem_of(error: Exception) -> Problem:
    """Return an error as a problem; the system's own names its file.

    Example:
        >>> print(problem_of(ZeroDivisionError("division by zero")))
        ZeroDivisionError: division by zero
    """
    if isinstance(error, Problem):
        return error
    if isinstance(error, OSError) and error.errno is not None:
        return Problem(f"{error.filename}: {error.strerror}", file=error.filename)
    message = shortened(printable(str(error)))
    return Problem(f"{type(error).__name__}: {message}")


def in_step(name: str, problem: Problem) -> Problem:
    """Return the same problem with a sentence that begins with the name of a step.

    Example:
        >>> unfit = errors.BadValue(field="seed", value=0.5, expected="must be whole")
        >>> print(in_step("a/train", unfit))
        a/train: seed=0.5 must be whole
    """
    if isinstance(problem, SeveralProblems):
        return SeveralProblems(*[in_step(name, part) for part in problem.args])
    fault = _parts(problem.message)
    if not problem.message and problem.field is not None:
        fault = [Setting(problem.field, problem.value), " ", *_parts(problem.expected)]
    located = copy(problem)
    located.message = (f"{name}: ", *fault)
    return located


@contextmanager
def problems_in(name: str) -> Iterator[None]:
    """Let the sentences of problems that are raised meanwhile begin with a step's name."""
    try:
        yield
    except Problem as problem:
        raise in_step(name, problem) from problem


def write_problem(problem: Problem, path: Path) -> None:
    """Write a problem to `path`, for `read_problem`.

    Example:
        >>> write_problem(errors.NotFound("no folder at a", file="a"), Path("a.failed"))
        >>> read_problem(Path("a.failed"))
        NotFound('no folder at a')
    """
    text = json.dumps(_as_json(problem), default=str, indent=1)
    write_atomically(path, text.encode(errors="backslashreplace"))


def read_problem(path: Path) -> Problem:
    """Read the problem that `write_problem` wrote.

    Raises:
        Problem: the file holds something else.
    """
    document = parse_json(read_file(path), path)
    try:
        return _from_json(document)
    except (AttributeError, KeyError, TypeError):
        raise errors.WrongFile(f"{path} holds no problem", file=path) from None


def _as_json(problem: Problem) -> dict[str, Any]:
    if isinstance(problem, SeveralProblems):
        parts = [_as_json(part) for part in problem.args]
        return {"kind": SeveralProblems.__name__, "problems": parts}
    # A kind of another module is read as the one of `errors` that it is a case of.
    kinds = [kind.__name__ for kind in type(problem).__mro__ if kind in _KINDS.values()]
    facts = {
        "kind": kinds[0],
        "message": _words_as_json(problem.message),
        "field": problem.field,
        "expected": _words_as_json(problem.expected),
        "fix": _words_as_json(problem.fix),
        "file": problem.file,
    }
    if problem.value is not UNSAID:
        facts["value"] = problem.value
    return facts


def _from_json(facts: Mapping[str, Any]) -> Problem:
    if "problems" in facts:
        return SeveralProblems(*map(_from_json, facts["problems"]))
    return _KINDS[facts["kind"]](
        _words_from_json(facts["message"]),
        field=facts["field"],
        value=facts.get("value", UNSAID),
        expected=_words_from_json(facts["expected"]),
        fix=_words_from_json(facts["fix"]),
        file=facts["file"],
    )


def _parts(words: Words) -> list[str | Setting]:
    return list(words) if isinstance(words, tuple) else [words]


def _words_as_json(words: Words) -> list[str | dict[str, Any]]:
    return [
        _setting_as_json(part) if isinstance(part, Setting) else part
        for part in _parts(words)
    ]


def _setting_as_json(setting: Setting) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": setting.name, "of": setting.of}
    if setting.value is not UNSAID:
        facts["value"] = setting.value
    return facts


def _words_from_json(parts: list[str | dict[str, Any]]) -> Words:
    words = [part if isinstance(part, str) else Setting(**part) for part in parts]
    return words[0] if len(words) == 1 else tuple(words)


def _kinds_below(kind: type[Problem]) -> Iterator[type[Problem]]:
    yield kind
    for narrower in kind.__subclasses__():
        yield from _kinds_below(narrower)


# The kinds that `errors` defines, by name.
_KINDS = {
    kind.__name__: kind
    for kind in _kinds_below(Problem)
    if kind.__module__ == errors.__name__
}
