"""One door through which files come in, the inputs that go through it, and what came of each."""

import hashlib
import shutil
import tempfile
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from fuzz.damage import Draw, damaged
from fuzz.formats import formats_of
from randsmooth.errors import Problem
from randsmooth.notes import Note

Files = dict[str, bytes]  # by their names below a folder

REFUSED, SAME, NOTED, OTHER = "refused", "as written", "with a note", "of its own"
RAW, HANG, FLOOD, CHANGED = "raw errors", "hangs", "floods", "changed meanings"
GOOD, BAD = (REFUSED, SAME, NOTED, OTHER), (RAW, HANG, FLOOD, CHANGED)
MOST_WORDS = 4_000  # characters of a refusal: a sentence, not the file
FOR_DEVELOPERS = (
    DeprecationWarning,
    PendingDeprecationWarning,
    ImportWarning,
    ResourceWarning,
)  # never shown
WAYS = ("damaged",) * 5 + ("bent",) * 3 + ("forged",) * 2
TRIES = 8  # of a change that changed nothing, or that could not be made


class Reader:
    """One door of the library through which files come in.

    Attributes:
        name: for the table of results.
        signed: its files carry a digest, so that what is damaged must be refused or mean what it meant. What is read
            of others cannot be told from another file: only `fault` is looked for.
        target: the beginning of the names of the files to damage; the others stay as they are.
    """

    name: ClassVar[str]
    signed: ClassVar[bool] = True
    target: ClassVar[str] = ""

    def valid(self) -> list[Files]:
        """At least two sets of valid files, of one layout."""
        raise NotImplementedError

    def read(self, folder: Path) -> Any:
        """What the library makes of the files in `folder`, as plain values, arrays and tensors."""
        raise NotImplementedError

    def same(self, meant: Any, read: Any) -> str:
        """In what `read` departs from what was `meant`; empty where it does not."""
        return difference(meant, read)

    def tells(self, meant: Any, read: Any) -> bool:
        """Whether what was read of a damaged file says by itself that it is another."""
        return False

    def fault(self, read: Any) -> str:
        """What no file may mean, whoever made it; empty where nothing is wrong."""
        return ""

    def bombs(self) -> list[Files]:
        """Small files that ask for a lot: the first inputs of a run."""
        return []

    def sealed(self, files: Files, name: str) -> Files:
        """The files with digests of what the one called `name` holds now, as whoever has this library could make them.

        The same files where the reader's have no digest.
        """
        return files


# --- inputs ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Input:
    """Files made from the valid ones at `of`.

    Attributes:
        way: damaged (their bytes), bent (their content, in a valid container with digests as they were), or forged
            (their content, and digests to go with it).
    """

    number: int
    files: Files
    of: int
    way: str


def make(
    reader: Reader,
    valid: Sequence[Files],
    bombs: Sequence[Files],
    seed: int,
    number: int,
) -> Input:
    """Input `number`, from (seed, reader, number) alone: the bombs first, which nobody's digest vouches for."""
    if number < len(bombs):
        return Input(number, bombs[number], 0, "forged")
    draw = Draw(seed, reader.name, number)
    of = draw.below(len(valid))
    for _ in range(TRIES):
        way = draw.pick(WAYS)
        try:
            files = _changed(reader, valid, of, way, draw)
        except Exception:  # of a change that this value does not allow
            continue
        if files not in valid:
            return Input(number, files, of, way)
    return Input(number, _changed(reader, valid, of, "damaged", draw), of, "damaged")


def _changed(
    reader: Reader, valid: Sequence[Files], of: int, way: str, draw: Draw
) -> Files:
    """The valid files with one of them changed; a format that has no digest cannot be forged."""
    files, theirs = valid[of], draw.pick(valid)
    names = [name for name in files if name.startswith(reader.target)]
    if way == "damaged":
        name = draw.pick(names)
        other = (
            name
            if name in theirs
            else next(name for name in theirs if name.startswith(reader.target))
        )
        return files | {name: damaged(files[name], theirs[other], draw)}
    name = draw.pick([name for name in names if formats_of(name)])
    changed = files | {name: draw.pick(formats_of(name)).bent(files[name], draw)}
    if way == "bent":
        return changed
    forged = reader.sealed(changed, name)
    return forged if forged != changed else valid[of]


# --- outcomes -------------------------------------------------------------------------------------------------------


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
        """Read one input. Anything but an answer, a Problem or a Note is a raw error."""
        put(given.files, self.scratch)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                read = self.reader.read(self.scratch)
            except Problem as error:
                said, short = str(error), len(str(error)) <= MOST_WORDS
                outcome = (
                    Outcome(REFUSED, said)
                    if said and short
                    else Outcome(RAW, f"Problem: {len(said):,} letters")
                )
            except MemoryError as error:
                return Outcome(FLOOD, f"MemoryError: {error}", traceback.format_exc())
            except (
                BaseException
            ) as error:  # panics of libraries in Rust are no Exception
                return Outcome(
                    RAW,
                    f"{type(error).__name__}: {error}"[:300],
                    traceback.format_exc(),
                )
            else:
                outcome = self._judged(
                    given,
                    read,
                    noted=any(issubclass(one.category, Note) for one in heard),
                )
        stray = [
            one
            for one in heard
            if not issubclass(one.category, (Note, *FOR_DEVELOPERS))
        ]
        if stray and outcome.kind in GOOD:
            first = stray[0]
            return Outcome(
                RAW,
                f"warned {first.category.__name__}: {first.message} ({first.filename}:{first.lineno})",
            )
        return outcome

    def _judged(self, given: Input, read: Any, *, noted: bool) -> Outcome:
        """A splice of two valid files within a beginning that they share is the second one, whole, and must mean it."""
        fault = self.reader.fault(read)
        if fault:
            return Outcome(CHANGED, fault)
        of = next(
            (index for index, files in enumerate(self.valid) if files == given.files),
            given.of,
        )
        unlike = self.reader.same(self.meant[of], read)
        if not unlike:
            return Outcome(NOTED if noted else SAME)
        if (
            self.reader.signed
            and given.way != "forged"
            and not self.reader.tells(self.meant[of], read)
        ):
            return Outcome(CHANGED, unlike)
        return Outcome(OTHER, unlike)


def put(files: Files, folder: Path) -> None:
    """Make `folder` hold these files and no others."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def written(make: Callable[[Path], object]) -> Files:
    """The files that `make` writes into the folder that it is given."""
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder))
        paths = (path for path in sorted(Path(folder).rglob("*")) if path.is_file())
        return {
            path.relative_to(folder).as_posix(): path.read_bytes() for path in paths
        }


# --- meanings -------------------------------------------------------------------------------------------------------


def difference(meant: Any, read: Any) -> str:
    """The first place where two meanings differ, to the last bit; empty where they are one."""
    one, other = leaves(meant), leaves(read)
    for place in [*one, *other]:
        if one.get(place) != other.get(place):
            return f"{place or 'all'}: {one.get(place, 'nothing')} became {other.get(place, 'nothing')}"[
                :300
            ]
    return ""


def leaves(value: Any, place: str = "") -> dict[str, str]:
    """Place -> what is there, for everything in a nest of plain values, arrays and tensors."""
    if not isinstance(value, Mapping | list | tuple):
        return {place: _leaf(value)}
    found = {place: f"{type(value).__name__} of {len(value)}"}
    for key, each in value.items() if isinstance(value, Mapping) else enumerate(value):
        found |= leaves(each, f"{place}[{key!r}]"[:200])
    return found


def _leaf(value: Any) -> str:
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape} {_digest(value.tobytes())}"
    text = f"{type(value).__name__} {value!r}"
    return (
        text
        if len(text) < 200
        else f"{text[:100]}... {_digest(text.encode(errors='surrogatepass'))}"
    )


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()[:16]


def not_finite(state: Mapping[str, Any]) -> str:
    """The name of a tensor that holds NaN or infinity; empty where there is none."""
    wrong = [
        name for name, tensor in state.items() if not bool(tensor.isfinite().all())
    ]
    return f"{wrong[0]} is not finite" if wrong else ""
