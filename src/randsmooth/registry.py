"""What can be added by name: our own entries, and those that other installed packages announce as entry points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from randsmooth.errors import InputError, unknown

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """The entries of one kind by name, each imported when it is first asked for.

    A package adds its own by an entry point of the group `randsmooth.<kind>s` in its metadata, a program by `add`.

    Args:
        kind: what an entry is, in the words of an error: "method".
        group: of entry points, such as "randsmooth.methods".
        own: name -> "module:attribute" of the entries that randsmooth brings, in the order of listings.

    Example:
        >>> shapes = Registry("shape", "example.shapes", {"ordered": "collections:OrderedDict"})
        >>> shapes["ordered"].__name__
        'OrderedDict'
        >>> "square" in shapes
        False
    """

    def __init__(self, kind: str, group: str, own: Mapping[str, str]) -> None:
        self.kind, self.group = kind, group
        self._own = {name: EntryPoint(name, value, group) for name, value in own.items()}
        self._loaded: dict[str, T] = {}
        self._added: dict[str, T] = {}

    @cached_property
    def _entries(self) -> dict[str, EntryPoint]:
        """Ours first, so that no package can put itself in the place of one that a certificate or a model names."""
        others = sorted(entry_points(group=self.group), key=lambda point: point.name)
        return {**{point.name: point for point in others if point.name not in self._own}, **self._own}

    def add(self, name: str, entry: T) -> None:
        """Make `entry` known as `name` in this process. Raises InputError where the name is taken."""
        if name in self:
            raise InputError(f"{self.kind} {name!r} is registered already: choose another name")
        self._added[name] = entry

    def source(self, name: str) -> str:
        """Where the entry comes from: "randsmooth", the name of another distribution, or "this program"."""
        if name in self._added:
            return "this program"
        distribution = self._entries[name].dist
        return "randsmooth" if name in self._own or distribution is None else distribution.name

    def __getitem__(self, name: str) -> T:
        """The entry called `name`.

        Raises:
            InputError: there is none, with the nearest name; or the package that brings it cannot be imported.
        """
        if name in self._added:
            return self._added[name]
        if name not in self._entries:
            raise unknown(self.kind, name, self)
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def _load(self, name: str) -> T:
        point = self._entries[name]
        try:
            entry: T = point.load()
        except (ImportError, AttributeError) as error:
            if name in self._own:
                raise
            raise InputError(
                f"{self.kind} {name!r} of the package {self.source(name)} cannot be loaded ({point.value}: {error}): "
                "update or remove that package"
            ) from error
        return entry

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from sorted(({*self._entries} - {*self._own}) | {*self._added})

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._added or name in self._entries

    def __len__(self) -> int:
        return sum(1 for _ in self)
