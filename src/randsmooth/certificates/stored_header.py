"""The header of a table as it is stored: JSON of known facts, in a format that this version reads."""

from __future__ import annotations

from pathlib import Path

from randsmooth.certificates.guarantee_text import in_own_words
from randsmooth.certificates.header import VERSION, Header
from randsmooth.certificates.limits import HEADER
from randsmooth.documents import parse_json, shown
from randsmooth.errors import InputError
from randsmooth.rules import missing_rule


def parse_header(text: str | bytes, path: Path) -> Header:
    """The header in `text`, which was read from `path`, with its guarantee and notes made anew (see `in_own_words`).

    Raises:
        InputError: it is damaged, newer than this version, beyond the limits of a header, or names a rule of a package
            that is not installed.

    Example:
        >>> text = Header(sigma=0.5, n0=100, n=1000, alpha=0.001).model_dump_json()
        >>> parse_header(text, Path("run.parquet")).n
        1000
        >>> parse_header('{"version": 99}', Path("run.parquet"))
        Traceback (most recent call last):
            ...
        randsmooth.errors.InputError: run.parquet is in format 99; this randsmooth reads formats 1 to 4: upgrade it
    """
    if len(text) > HEADER:
        raise InputError(f"{path} has a damaged header: it takes {len(text):,} bytes; expected at most {HEADER:,}")
    raw = parse_json(text, f"{path} has a damaged header: it")
    if not isinstance(raw, dict):
        raise InputError(f"{path} has a damaged header: it is no mapping of names to facts")
    version = raw.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        found = shown(repr(version))
        raise InputError(f"{path} is in format {found}; this randsmooth reads formats 1 to {VERSION}: upgrade it")
    try:
        header = Header(**raw)
        missing = missing_rule(header.rule, header.versions)
        if missing is None:
            return in_own_words(header, path)
    except InputError as error:
        raise InputError(f"{path} has a damaged header: {error}") from error
    raise InputError(f"{path}: {missing}")
