"""One input, read: what came of it."""

from __future__ import annotations

import shutil
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz.inputs import Input
from fuzz.reader import Files, Reader
from randsmooth.errors import InputError, Note

REFUSED, SAME, NOTED, OTHER = "refused", "as written", "with a note", "of its own"
RAW, HANG, FLOOD, CHANGED = "raw errors", "hangs", "floods", "changed meanings"
GOOD, BAD = (REFUSED, SAME, NOTED, OTHER), (RAW, HANG, FLOOD, CHANGED)
MOST_WORDS = 4_000  # characters of a refusal: a sentence, not the file
FOR_DEVELOPERS = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)  # never shown


@dataclass(frozen=True)
class Outcome:
    """What came of an input.

    Attributes:
        kind: one of GOOD or BAD. OTHER: it was read as something else than the valid file, and nothing in the file
            said otherwise: its format has no digest, or somebody signed it anew.
        said: the error, the difference, or nothing.
        trace: of a raw error.
    """

    kind: str
    said: str = ""
    trace: str = ""


class Bench:
    """A reader, its valid files and what they mean."""

    def __init__(self, reader: Reader, valid: Sequence[Files], scratch: Path) -> None:
        """Reads every valid file, without a word."""
        self.reader, self.valid, self.scratch = reader, valid, scratch
        self.meant = []
        for files in valid:
            put(files, scratch)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.meant.append(reader.read(scratch))

    def examine(self, given: Input) -> Outcome:
        """Read one input. Anything but an answer, an InputError or a Note is a raw error."""
        put(given.files, self.scratch)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                read = self.reader.read(self.scratch)
            except InputError as error:
                outcome = _refusal(str(error))
            except MemoryError as error:
                return Outcome(FLOOD, f"MemoryError: {error}", traceback.format_exc())
            except BaseException as error:  # panics of libraries in Rust are no Exception
                return Outcome(RAW, f"{type(error).__name__}: {error}"[:300], traceback.format_exc())
            else:
                outcome = self._judged(given, read, noted=any(issubclass(one.category, Note) for one in heard))
        stray = [one for one in heard if not issubclass(one.category, (Note, *FOR_DEVELOPERS))]
        if stray and outcome.kind in GOOD:
            first = stray[0]
            return Outcome(RAW, f"warned {first.category.__name__}: {first.message} ({first.filename}:{first.lineno})")
        return outcome

    def _judged(self, given: Input, read: Any, *, noted: bool) -> Outcome:
        fault = self.reader.fault(read)
        if fault:
            return Outcome(CHANGED, fault)
        meant = self.meant[self._made_of(given)]
        unlike = self.reader.same(meant, read)
        if not unlike:
            return Outcome(NOTED if noted else SAME)
        if self.reader.signed and given.way != "forged" and not self.reader.tells(meant, read):
            return Outcome(CHANGED, unlike)
        return Outcome(OTHER, unlike)

    def _made_of(self, given: Input) -> int:
        """Which valid files an input must mean: those it was made from, or others where damage made it equal to them.

        A splice of two files within a beginning that they share is the second one, whole.
        """
        return next((index for index, files in enumerate(self.valid) if files == given.files), given.of)


def _refusal(said: str) -> Outcome:
    if not said.strip():
        return Outcome(RAW, "InputError without a word")
    return (
        Outcome(REFUSED, said) if len(said) <= MOST_WORDS else Outcome(RAW, f"InputError of {len(said):,} characters")
    )


def put(files: Files, folder: Path) -> None:
    """Make `folder` hold these files and no others."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
