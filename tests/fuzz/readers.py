"""All doors through which files come in, by name."""

from __future__ import annotations

from fuzz.reader import Reader
from fuzz.tables import Begun, InTable, Table

READERS: dict[str, Reader] = {each.name: each for each in (Table(), InTable(), Begun())}
