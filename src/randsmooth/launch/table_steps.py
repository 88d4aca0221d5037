"""The steps that take seconds: they measure the tables of a model, or rank tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from randsmooth import certificates, report
from randsmooth.atomic import claimed, write_atomically
from randsmooth.documents import parse_json, read_file
from randsmooth.launch.step import Step
from randsmooth.urls import with_urls


@dataclass(frozen=True, kw_only=True)
class Evaluate(Step):
    """The step that measures tables, and writes the metrics as JSON to `makes`.

    Attributes:
        tables: the files of the tables.
    """

    verb: ClassVar[str] = "evaluate"
    is_quick: ClassVar[bool] = True

    tables: tuple[Path, ...]

    def arguments(self) -> list[str]:
        return [str(table) for table in self.tables]

    def options(self) -> dict[str, Any]:
        return {"format": "json", "out": str(self.makes), "overwrite": True}

    def is_done(self) -> bool:
        return is_newer(self.makes, self.tables)

    def make(self, device: str) -> None:
        tables = [certificates.read(path) for path in self.tables]
        metrics = report.render(tables, format="json")
        with claimed(self.makes):
            write_atomically(self.makes, metrics.encode())


@dataclass(frozen=True, kw_only=True)
class Rank(Step):
    """The step that ranks every table below a folder, on the page `makes` and as JSON.

    Attributes:
        folder: the folder of the tables.
        tables: the tables that the page must not be older than.
        at: the radius at which certified accuracy ranks them; None stands for one sigma
            of each setting.
    """

    verb: ClassVar[str] = "leaderboard"
    is_quick: ClassVar[bool] = True

    folder: Path
    tables: tuple[Path, ...]
    at: float | None = None

    @property
    def heading(self) -> str:
        """Return the title of the page."""
        return f"Sweep {self.folder.name}"

    def arguments(self) -> list[str]:
        return [str(self.folder)]

    def options(self) -> dict[str, Any]:
        options = {"out": str(self.makes), "title": self.heading, "overwrite": True}
        if self.at is None:
            return options
        return {"at": self.at, **options}

    def is_done(self) -> bool:
        return is_newer(self.makes, self.tables) and self._is_ranked_so()

    def _is_ranked_so(self) -> bool:
        """Return whether the existing page ranks the tables at the radius asked for."""
        path = self.makes.with_suffix(".json")
        if not path.exists():
            return False
        named_radii = set()
        for record in parse_json(read_file(path), path):
            ranked_by = record["ranked_by"] or {}
            named_radii.add(ranked_by["radius"] if ranked_by.get("named") else None)
        return named_radii == {self.at}

    def make(self, device: str) -> None:
        entries = []
        faults = []
        for path in certificates.find_certificates(self.folder):
            file = certificates.read_file_of(path)
            if file.table is None:
                faults.append(with_urls(file.fault))
            else:
                name = path.relative_to(self.folder).as_posix()
                entries.append(report.measure(file.table, name))
        left_out = {}
        if faults:
            left_out[f"Left out because files could not be used: {len(faults)}"] = (
                faults
            )
        with claimed(self.makes):
            report.write_leaderboard(
                entries, self.makes, at=self.at, title=self.heading, left_out=left_out
            )


def is_newer(path: Path, sources: Iterable[Path]) -> bool:
    """Return whether a file is there, and no older than those it is made from.

    Example:
        >>> _ = Path("metrics.json").write_text("{}")
        >>> is_newer(Path("metrics.json"), []), is_newer(Path("metrics.json"), [Path("a")])
        (True, False)
    """
    if not path.exists():
        return False
    made = path.stat().st_mtime_ns
    return all(
        source.exists() and source.stat().st_mtime_ns <= made for source in sources
    )
