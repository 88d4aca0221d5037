"""What can be chosen by name: our own entries, and those of other packages.

Another package announces its entries as entry points.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, Protocol, TypeVar

from randsmooth.errors import BadValue, Problem, WrongModel, check_known
from randsmooth.notes import Note

T = TypeVar("T")
OF_OURS = "randsmooth"
OF_THIS_PROGRAM = "this program"


class Named(Protocol):
    """Anything that carries the name by which it is chosen."""

    name: str


N = TypeVar("N", bound=Named)


def by_name(*entries: N) -> dict[str, N]:
    """Return the entries, each under its own name, in the given order.

    Example:
        >>> from randsmooth.rules import Fixed, Grid
        >>> list(by_name(Fixed, Grid))
        ['fixed', 'grid']
    """
    return {entry.name: entry for entry in entries}


class OnDemand(Mapping[str, T], Generic[T]):
    """Entries whose names are known before they are imported, since they load torch.

    Args:
        imports: for each name the function that imports and returns the entry.

    Example:
        >>> shapes = OnDemand({"ordered": lambda: __import__("collections").OrderedDict})
        >>> list(shapes), shapes["ordered"].__name__
        (['ordered'], 'OrderedDict')
    """

    def __init__(self, imports: Mapping[str, Callable[[], T]]) -> None:
        self._imports = imports

    def __getitem__(self, name: str) -> T:
        return self._imports[name]()

    def __contains__(self, name: object) -> bool:
        return name in self._imports

    def __iter__(self) -> Iterator[str]:
        return iter(self._imports)

    def __len__(self) -> int:
        return len(self._imports)


class Registry(Mapping[str, T], Generic[T]):
    """The entries of one kind by name: ours first, then those of others by the alphabet.

    Another package adds entries by entry points of the group `group` in its metadata, a
    program by `add`. Our own names cannot be taken, so that a certificate or a model that
    names one always means the same: an entry point with such a name is left out, with a
    `Note`.

    Args:
        kind: what an entry is called in errors: "method".
        group: the group of entry points, such as "randsmooth.methods".
        ours: the entries that randsmooth brings by name, in the order of listings.

    Example:
        >>> numbers = Registry("number", "example.numbers", {"one": 1, "two": 2})
        >>> numbers.add("three", 3)
        >>> list(numbers), numbers["three"]
        (['one', 'two', 'three'], 3)
        >>> numbers.source("one"), numbers.source("three")
        ('randsmooth', 'this program')
        >>> numbers["on"]
        Traceback (most recent call last):
        ...
        randsmooth.errors.UnknownName: unknown number 'on': did you mean 'one'? Expected one of: one, three, two
    """

    def __init__(self, kind: str, group: str, ours: Mapping[str, T]) -> None:
        self.kind = kind
        self.group = group
        self._ours = ours
        self._added: dict[str, T] = {}
        self._loaded: dict[str, T] = {}

    @cached_property
    def _announced(self) -> dict[str, list[EntryPoint]]:
        """The entry points of other packages by name.

        They are read when they are first needed, since this looks at every package.
        """
        announced: dict[str, list[EntryPoint]] = {}
        for point in entry_points(group=self.group):
            if point.name in self._ours:
                self._warn_that_name_is_ours(point)
            else:
                announced.setdefault(point.name, []).append(point)
        return announced

    def _warn_that_name_is_ours(self, point: EntryPoint) -> None:
        note = Note(
            "name_taken",
            entry=self.kind,
            name=point.name,
            package=_package(point),
        )
        warnings.warn(note, stacklevel=3)

    def add(self, name: str, entry: T) -> None:
        """Make `entry` known as `name` in this process.

        Raises:
            BadValue: the name is taken.
        """
        if name in self:
            raise BadValue(
                f"{self.kind} {name!r} is registered already: choose another name"
            )
        self._added[name] = entry

    def check(self, name: str) -> None:
        """Check that there is an entry called `name`, without importing it.

        Raises:
            UnknownName: there is none.
        """
        check_known(self.kind, self, name)

    def source(self, name: str) -> str:
        """Return who brings the entry.

        That is "randsmooth", the name of another package, or "this program" for what was
        added.

        Raises:
            UnknownName: there is no such entry.
        """
        self.check(name)
        if name in self._ours:
            return OF_OURS
        if name in self._added:
            return OF_THIS_PROGRAM
        return " and ".join(sorted(map(_package, self._announced[name])))

    def credit(self, name: str) -> str:
        """Return "from PACKAGE", for listings; nothing for an entry of ours."""
        source = self.source(name)
        if source == OF_OURS:
            return ""
        return f"from {source}"

    def describe(self, name: str, words: Callable[[T], str]) -> str:
        """Return `words` about the entry, for listings, and who brings it if not we.

        Another package's entry may be anything and raise anything. Of one that fails, the
        answer says what is wrong with it, so that a listing goes on past it.

        Example:
            >>> numbers = Registry("number", "example.numbers", {"one": 1})
            >>> numbers.add("word", "three")
            >>> for name in numbers:
            ...     print(numbers.describe(name, lambda number: f"{number:.2f}"))
            1.00
            number 'word' from this program cannot be described (ValueError: Unknown format code ...)

        Raises:
            UnknownName: there is no such entry.
        """
        self.check(name)
        if name in self._ours:
            return words(self[name])
        credit = self.credit(name)
        try:
            return f"{words(self[name])} ({credit})"
        except Problem as error:
            description = str(error)
        except Exception as error:
            description = (
                f"{self.kind} {name!r} {credit} cannot be described "
                f"({type(error).__name__}: {error})"
            )
        on_one_line = " ".join(description.split())
        return on_one_line

    def __getitem__(self, name: str) -> T:
        """Return the entry called `name`.

        Raises:
            UnknownName: there is none; the nearest name is suggested.
            BadValue: two packages bring it.
            WrongModel: the package that brings it cannot be imported.
        """
        for entries in (self._ours, self._added, self._loaded):
            if name in entries:
                return entries[name]
        self.check(name)
        self._loaded[name] = self._load(name)
        return self._loaded[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return the entry called `name`, or `default` where there is none.

        Raises:
            Problem: there is one, but it cannot be loaded.
        """
        # Mapping.get would hide that an entry is unknown and that it is broken alike.
        return self[name] if name in self else default  # noqa: SIM401

    def __iter__(self) -> Iterator[str]:
        yield from self._ours
        yield from sorted({*self._announced, *self._added})

    def __contains__(self, name: object) -> bool:
        return name in self._ours or name in self._added or name in self._announced

    def __len__(self) -> int:
        return len(self._ours) + len({*self._announced, *self._added})

    def _load(self, name: str) -> T:
        """Import what an entry point names; a stranger's module may raise anything."""
        points = self._announced[name]
        if len(points) > 1:
            raise BadValue(
                f"{self.kind} {name!r} is in several packages, {self.source(name)}: "
                "uninstall all but one"
            )
        (point,) = points
        try:
            entry: T = point.load()
        except Exception as error:
            raise WrongModel(
                f"{self.kind} {name!r} of the package {_package(point)} cannot be loaded "
                f"({point.value}: {type(error).__name__}: {error}): update or uninstall "
                "that package"
            ) from error
        return entry


def _package(point: EntryPoint) -> str:
    """Return the name of the package that announces an entry point."""
    if point.dist is None:
        return "an unknown package"
    return point.dist.name
