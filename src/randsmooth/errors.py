"""The error for input that cannot be used, the words in which it names things, and notes that are no errors."""

import difflib
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

LONGEST = 200  # characters of a value that an error repeats
CODE = "\n\n# open_model.py\n"  # begins the lines of an error that are to be pasted into a file


class InputError(ValueError):
    """What the user gave cannot be used. The message names the value, what was expected and the way out.

    Example:
        >>> raise InputError("n=5 proves nothing; give at least n=10")
        Traceback (most recent call last):
        randsmooth.errors.InputError: n=5 proves nothing; give at least n=10
    """


class ForeignFile(InputError):
    """A file that holds something other than certificates."""


class SeveralErrors(InputError):
    """Several things that cannot be used, reported together: a sentence for each, which are its `args`."""

    def __str__(self) -> str:
        return "\n".join(self.args)


def about(path: Path | str, error: Exception) -> str:
    """What `error` says about the file at `path`, beginning with the path where the message does not name it.

    Example:
        >>> about(Path("a.tsv"), ValueError("line 3 is empty"))
        'a.tsv: line 3 is empty'
    """
    said = str(error)
    return (
        said
        if str(path) in said
        else f"{path}: {said.removeprefix(f'{Path(path).stem}: ')}"
    )


def article(noun: str) -> str:
    """`noun` with "a" or "an" before it, by its first letter.

    Example:
        >>> article("ONNX file"), article("scikit-learn estimator")
        ('an ONNX file', 'a scikit-learn estimator')
    """
    return f"an {noun}" if noun[:1].lower() in set("aeiou") else f"a {noun}"


def unknown(kind: str, name: object, known: Iterable[str]) -> InputError:
    """The error for a `name` that is not among the `known` ones, with the nearest as a suggestion.

    Example:
        >>> print(unknown("rule", "gird", ["fixed", "grid"]))
        unknown rule 'gird': did you mean 'grid'? Expected one of: fixed, grid
    """
    known = sorted(known)
    lowered = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(str(name).lower(), lowered, n=1, cutoff=0.5)
    hint = f"did you mean {lowered[near[0]]!r}? Expected" if near else "expected"
    quoted = repr(name) if len(repr(name)) < LONGEST else f"{str(name)[:LONGEST]!r}…"
    return InputError(f"unknown {kind} {quoted}: {hint} one of: {', '.join(known)}")


def check_known(kind: str, known: Collection[Any], *names: object) -> None:
    """Raise the error of `unknown` for the first of `names` that is not among the `known` ones.

    Example:
        >>> check_known("rule", ["fixed", "grid"], "grid", "gird")
        Traceback (most recent call last):
        randsmooth.errors.InputError: unknown rule 'gird': did you mean 'grid'? Expected one of: fixed, grid
    """
    for name in names:
        if name not in known:
            raise unknown(kind, name, known)


class Note(Warning):
    """A warning about something that a user may want to know, although it was dealt with."""
