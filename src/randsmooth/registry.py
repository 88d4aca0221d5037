"""What can be chosen by name: our own entries, and those that other installed packages announce as entry points."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from randsmooth.errors import BadValue, Problem, WrongModel, check_known
from randsmooth.notes import Note

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """The entries of one kind by name, each imported when it is first asked for.

    Another package adds entries by entry points of the group `group` in its metadata, a program by `add`.
    Our own names cannot be taken, so that a certificate or a model that names one always means the same: an entry point
    with such a name is left out, with a `Note`.

    Args:
        kind: what an entry is called in errors: "method".
        group: the group of entry points, such as "randsmooth.methods".
        own: name -> "module:attribute" of the entries that randsmooth brings, in the order of listings.

    Example:
        >>> shapes = Registry("shape", "example.shapes", {"ordered": "collections:OrderedDict"})
        >>> shapes["ordered"].__name__
        'OrderedDict'
        >>> shapes.add("plain", dict)
        >>> list(shapes), shapes.source("ordered"), shapes.source("plain")
        (['ordered', 'plain'], 'randsmooth', 'this program')
        >>> shapes["orderd"]
        Traceback (most recent call last):
        ...
        randsmooth.errors.UnknownName: unknown shape 'orderd': did you mean 'ordered'? Expected one of: ordered, plain
    """

    def __init__(self, kind: str, group: str, own: Mapping[str, str]) -> None:
        self.kind, self.group = kind, group
        self._own = {
            name: EntryPoint(name, value, group) for name, value in own.items()
        }
        self._entries: dict[str, T] = {}  # what a program added, and what was loaded

    @cached_property
    def _others(self) -> dict[str, list[EntryPoint]]:
        """The entry points of other packages by name; only read when needed, since every package is looked at."""
        found: dict[str, list[EntryPoint]] = {}
        for point in entry_points(group=self.group):
            if point.name not in self._own:
                found.setdefault(point.name, []).append(point)
            else:
                note = Note(
                    "name_taken",
                    entry=self.kind,
                    name=point.name,
                    package=_package(point),
                )
                warnings.warn(note, stacklevel=2)
        return found

    def add(self, name: str, entry: T) -> None:
        """Make `entry` known as `name` in this process.

        Raises:
            Problem: the name is taken.
        """
        if name in self:
            raise BadValue(
                f"{self.kind} {name!r} is registered already: choose another name"
            )
        self._entries[name] = entry

    def check(self, name: str) -> None:
        """Raise Problem unless there is an entry called `name`, which is not imported for this."""
        check_known(self.kind, self, name)

    def source(self, name: str) -> str:
        """Who brings the entry: "randsmooth", the name of another package, or "this program" for what was added.

        Raises:
            Problem: there is no such entry.
        """
        self.check(name)
        if name in self._own:
            return "randsmooth"
        return (
            " and ".join(sorted(map(_package, self._others[name])))
            if name in self._others
            else "this program"
        )

    def place(self, name: str) -> str:
        """Where one of our own entries is, as "module:attribute", without importing it. KeyError for any other."""
        return self._own[name].value

    def credit(self, name: str) -> str:
        """ "from PACKAGE", for listings; empty for an entry of ours."""
        source = self.source(name)
        return "" if source == "randsmooth" else f"from {source}"

    def describe(self, name: str, words: Callable[[T], str]) -> str:
        """`words` about the entry, for listings, and who brings it if not we; of one that fails, what is wrong with it.

        Example:
            >>> shapes = Registry("shape", "example.shapes", {"ordered": "collections:OrderedDict"})
            >>> shapes.add("plain", 3)
            >>> for name in shapes:
            ...     print(shapes.describe(name, lambda shape: f"called {shape.__name__}"))
            called OrderedDict
            shape 'plain' from this program cannot be described (AttributeError: 'int' object has no attribute ...)

        Raises:
            Problem: there is no such entry.
        """
        self.check(name)
        try:
            said = words(self[name])
            return f"{said} ({credit})" if (credit := self.credit(name)) else said
        except (
            Exception
        ) as error:  # an entry of another package may be anything and raise anything
            if name in self._own:
                raise
            what = f"{self.kind} {name!r} {self.credit(name)} cannot be described ({type(error).__name__}: {error})"
            return " ".join(
                (str(error) if isinstance(error, Problem) else what).split()
            )

    def __getitem__(self, name: str) -> T:
        """The entry called `name`.

        Raises:
            Problem: there is none, and the nearest name is suggested; two packages bring it; or the package that
                brings it cannot be imported.
        """
        if name not in self._entries:
            self._entries[name] = self._load(name)
        return self._entries[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The entry called `name`, `default` where there is none. Raises Problem for one that cannot be loaded."""
        return self[name] if name in self else default  # noqa: SIM401 this is the method that the rule would call

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from sorted({*self._others, *self._entries} - {*self._own})

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._others or name in self._entries

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _load(self, name: str) -> T:
        self.check(name)
        point, *others = [self._own[name]] if name in self._own else self._others[name]
        if others:
            raise BadValue(
                f"{self.kind} {name!r} is in several packages, {self.source(name)}: uninstall all but one"
            )
        try:
            entry: T = point.load()
        except (
            Exception
        ) as error:  # a stranger's module may raise anything while it is imported
            if name in self._own:
                raise
            raise WrongModel(
                f"{self.kind} {point.name!r} of the package {_package(point)} cannot be loaded ({point.value}: "
                f"{type(error).__name__}: {error}): update or uninstall that package"
            ) from error
        return entry


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "an unknown package"
