"""What can go wrong with what a user gives: a tree of problems, each a value with parts.

A caller catches one kind, or all by their root:

* Problem
  * BadValue
    * UnknownName
    * MissingValue
    * Conflict
    * TooFewSamples
  * NotFound
  * WrongFile
    * ForeignFile
  * WrongData
  * WrongModel
    * ModelFailed
  * WrongTable
  * NotComparable
  * OutputExists
  * Busy
  * TooLarge
  * Unreachable
  * RunFailed
  * SeveralProblems

`str()` of a problem speaks Python: `resume=True`. The command line spells the settings in it in its own way.
"""

import copy
import difflib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

LONGEST_VALUE = 200  # characters of a value that a problem repeats
CODE = "\n\n# open_model.py\n"  # begins the lines of an error that are to be pasted into a file
UNSAID: Any = ...  # the value of a setting that is named alone


@dataclass(frozen=True)
class Setting:
    """A setting that a problem names, alone or with a value.

    Attributes:
        name: The keyword of the Python function.
        value: What it is, or is to be.
        of: The setting that holds it, of an argument of a method ("set") or of a model ("model_arg").

    Example:
        >>> print(Setting("resume", True), Setting("out"), Setting("rule", "grid"))
        resume=True out rule='grid'
    """

    name: str
    value: Any = UNSAID
    of: Literal["set", "model_arg"] | None = None

    def __str__(self) -> str:
        if self.value is UNSAID:
            return self.name
        value = self.value
        if isinstance(value, Path):
            value = str(value)
        elif type(value).__module__ == "numpy" and hasattr(value, "tolist"):
            value = value.tolist()
        return f"{self.name}={_shown(repr(value))}"


def _shown(text: str) -> str:
    """Return `text` on one line, without its end where it is very long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_VALUE else f"{line[:LONGEST_VALUE]}…"


# A text, or a text with settings between its parts.
Words = str | Setting | tuple[str | Setting, ...]
Spell = Callable[[Setting], str]  # how a setting is written


def spelt(words: Words, spell: Spell = str) -> str:
    """Return `words` as one text, in which `spell` writes the settings.

    Example:
        >>> spelt((Setting("resume", True), " goes on, another ", Setting("out"), " begins anew"))
        'resume=True goes on, another out begins anew'
    """
    parts = words if isinstance(words, tuple) else (words,)
    return "".join(part if isinstance(part, str) else spell(part) for part in parts)


RESUME = Setting("resume", True)
OVERWRITE = Setting("overwrite", True)
OUT = Setting("out")

# Fixes that many problems have: of a result that is there already.
ANOTHER_OUT = ("give another ", OUT)
BEGIN_ANEW = ("to begin anew: ", OVERWRITE, ", or another ", OUT)
GO_ON_OR_BEGIN_ANEW = ("to go on with it: ", RESUME, "; ", *BEGIN_ANEW)


class Problem(ValueError):
    """Something that the user gave cannot be used. Its text names the value, what was expected and the way out.

    Args:
        message: what is wrong, in words; where it is left out, they are made of `field`, `value` and `expected`.
        field: the setting that is wrong.
        value: what it was.
        expected: what it can be, or must be.
        fix: what to do about it.
        file: the file or folder that it is about, or a place in one, which the message names.
        where: what the text begins with, before a colon: a file, or a table by its name.

    Example:
        >>> problem = BadValue(field="alpha", value=2, expected="must lie in (0, 1)", fix=Setting("alpha", 0.001))
        >>> print(problem)
        alpha=2 must lie in (0, 1); alpha=0.001
        >>> problem.field, problem.value
        ('alpha', 2)
    """

    def __init__(
        self,
        message: Words = "",
        *,
        field: str | None = None,
        value: Any = UNSAID,
        expected: Words = "",
        fix: Words = "",
        file: object = None,
        where: object = None,
    ) -> None:
        # Pickle makes it of its arguments, and restores the attributes from its dictionary.
        super().__init__(message)
        self.message = message
        self.field = field
        self.value = value
        self.expected = expected
        self.fix = fix
        self.file = file
        self.where = where

    def words(self, spell: Spell = str) -> str:
        """Return the problem in a sentence, in which `spell` writes the settings."""
        if self.message or self.field is None:
            fault = spelt(self.message, spell)
        else:
            setting = spell(Setting(self.field, self.value))
            fault = f"{setting} {spelt(self.expected, spell)}".strip()
        if self.where is not None:
            fault = f"{self.where}: {fault}"
        fix = spelt(self.fix, spell)
        if not fix:
            return fault
        mark = ";" if self.message or self.expected else ":"
        return f"{fault}{mark} {fix}"

    @property
    def settings_in_fix(self) -> tuple[Setting, ...]:
        """The settings that the fix names."""
        parts = self.fix if isinstance(self.fix, tuple) else (self.fix,)
        return tuple(part for part in parts if isinstance(part, Setting))

    def __str__(self) -> str:
        return self.words()


# The name that scripts written before the tree catch.
InputError = Problem


class BadValue(Problem):
    """A setting or an argument has a value that cannot be used."""


class UnknownName(BadValue):
    """A name is not among those that are known."""


class MissingValue(BadValue):
    """A setting is needed, and nothing says what it is."""


class Conflict(BadValue):
    """Two settings, or two ways of saying one, exclude each other."""


class TooFewSamples(BadValue):
    """So few samples prove nothing at this level."""


class NotFound(Problem):
    """A file, a folder, or a part of one is not there."""


class WrongFile(Problem):
    """A file is damaged, or holds something else than it should."""


class ForeignFile(WrongFile):
    """A file holds something other than certificates."""


class WrongData(Problem):
    """Images, features or labels cannot be used as they are."""


class WrongModel(Problem):
    """A model cannot be used for this."""


class ModelFailed(WrongModel):
    """A model fails on its inputs, or answers with what are no logits."""


class WrongTable(Problem):
    """A table of certificates does not hold what is asked of it."""


class NotComparable(Problem):
    """Two things are compared that are about different images, models or radii."""


class OutputExists(Problem):
    """Something is there already where a result is to be written."""


class Busy(Problem):
    """Another process writes what this one would write."""


class TooLarge(Problem):
    """Something is larger than what is read, or than the memory."""


class Unreachable(Problem):
    """A store, a cluster or a device does not answer, or refuses."""


class RunFailed(Problem, RuntimeError):
    """A run failed while it worked; no setting was refused.

    Its numbers diverged, say, or one of its processes ended.
    """


class SeveralProblems(Problem):
    """Several problems, reported together.

    Example:
        >>> print(SeveralProblems(Problem("a is empty"), Problem("b is empty")))
        a is empty
        b is empty
    """

    def __init__(self, *problems: Problem) -> None:
        super().__init__()
        self.args = problems

    def words(self, spell: Spell = str) -> str:
        return "\n".join(problem.words(spell) for problem in self.args)


def each_problem(error: Problem) -> tuple[Problem, ...]:
    """Return the problems that `error` reports together, or itself."""
    return error.args if isinstance(error, SeveralProblems) else (error,)


def about(path: Path | str, error: Problem | OSError) -> Problem:
    """Return `error` as a problem with the file at `path`, which it begins with where it names no file yet.

    Example:
        >>> print(about(Path("a.tsv"), BadValue("line 3 is empty")))
        a.tsv: line 3 is empty
        >>> print(about(Path("a.tsv"), WrongFile("b.tsv is empty", file="b.tsv")))
        b.tsv is empty
    """
    if isinstance(error, SeveralProblems):
        return SeveralProblems(*(about(path, problem) for problem in error.args))
    if not isinstance(error, Problem):
        where = path if error.filename is None else None
        return Problem(str(error), file=path, where=where)
    if error.file is not None:
        return error
    problem = copy.copy(error)
    problem.file = path
    problem.where = path
    return problem


def article(noun: str) -> str:
    """`noun` with "a" or "an" before it, by its first letter.

    Example:
        >>> article("ONNX file"), article("scikit-learn estimator")
        ('an ONNX file', 'a scikit-learn estimator')
    """
    return f"an {noun}" if noun[:1].lower() in set("aeiou") else f"a {noun}"


def unknown(kind: str, name: object, known: Iterable[str]) -> UnknownName:
    """The error for a `name` that is not among the `known` ones, with the nearest as a suggestion.

    Example:
        >>> print(unknown("rule", "gird", ["fixed", "grid"]))
        unknown rule 'gird': did you mean 'grid'? Expected one of: fixed, grid
    """
    known = sorted(known)
    lowered = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(str(name).lower(), lowered, n=1, cutoff=0.5)
    hint = f"did you mean {lowered[near[0]]!r}? Expected" if near else "expected"
    quoted = repr(name)
    if len(quoted) >= LONGEST_VALUE:
        quoted = f"{str(name)[:LONGEST_VALUE]!r}…"
    return UnknownName(
        f"unknown {kind} {quoted}: {hint} one of: {', '.join(known)}",
        field=kind,
        value=name,
        expected=", ".join(known),
    )


def check_known(kind: str, known: Collection[Any], *names: object) -> None:
    """Raise the error of `unknown` for the first of `names` that is not among the `known` ones.

    Example:
        >>> check_known("rule", ["fixed", "grid"], "grid", "gird")
        Traceback (most recent call last):
        randsmooth.errors.UnknownName: unknown rule 'gird': did you mean 'grid'? Expected one of: fixed, grid
    """
    for name in names:
        if name not in known:
            raise unknown(kind, name, known)
