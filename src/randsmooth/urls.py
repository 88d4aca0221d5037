"""Places as users write them: a path on this machine, or the URL of a file or folder in a store. Loads no fsspec."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from randsmooth.caches import cache_folder
from randsmooth.errors import InputError

Place = Path | str
"""A path, or as text a URL that fsspec knows, such as s3://bucket/gaussian.parquet. Text without :// is a path."""

URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
COPIES, UNSENT = "copies", "unsent"  # folders of the cache


def is_url(place: object) -> bool:
    """Whether `place` is the URL of something that does not lie on this machine's disks, as file:// does.

    Example:
        >>> is_url("s3://bucket/a.parquet"), is_url("runs/a.parquet"), is_url("file:///runs/a.parquet")
        (True, False, False)
    """
    found = URL.match(place) if isinstance(place, str) else None
    return found is not None and found[1].lower() != "file"


def has_protocol(place: object) -> bool:
    """Whether `place` is text with a protocol before it, be it a URL or file://.

    Example:
        >>> has_protocol("file:///runs/model"), has_protocol("user/name")
        (True, False)
    """
    return isinstance(place, str) and URL.match(place) is not None


def place_of(text: Place) -> Place:
    """A URL as it is, and whatever else as a path; file:// is a path, too.

    Example:
        >>> place_of("s3://bucket/a.parquet"), place_of("file:///runs/a.parquet").name
        ('s3://bucket/a.parquet', 'a.parquet')
    """
    if not isinstance(text, str) or is_url(text):
        return text
    return Path(unquote(urlsplit(text).path)) if text.lower().startswith("file://") else Path(text)


def local_only(place: Place, what: str) -> Path:
    """`place` as a path. Raises InputError for a URL; `what` lies only on this machine.

    Example:
        >>> local_only("s3://bucket/page.html", "a page")
        Traceback (most recent call last):
        ...
        randsmooth.errors.InputError: s3://bucket/page.html is a URL, and a page is written to this machine: give a path
    """
    if is_url(place):
        raise InputError(f"{place} is a URL, and {what} is written to this machine: give a path")
    return Path(place_of(place))


def path_in(url: str) -> PurePosixPath:
    """The path that a URL names below its protocol; bucket or host come first.

    Example:
        >>> path_in("s3://bucket/runs/noise_0.50.tsv").parts, path_in("s3://bucket/m/").name
        (('bucket', 'runs', 'noise_0.50.tsv'), 'm')
    """
    parts = PurePosixPath(URL.sub("", url, count=1)).parts
    return PurePosixPath(*(part for part in parts if part not in ("/", "..", ".")))


def name_of(place: Place) -> str:
    """The last part of a place.

    Example:
        >>> name_of("s3://bucket/runs/model/"), name_of(Path("runs/model"))
        ('model', 'model')
    """
    return path_in(str(place)).name if is_url(place) else Path(place_of(place)).name


def beside(place: Place, name: str) -> Place:
    """The place of a file called `name` in the same folder.

    Example:
        >>> beside("s3://bucket/runs/a.parquet", "a.tsv"), beside(Path("runs/a.parquet"), "a.tsv").as_posix()
        ('s3://bucket/runs/a.tsv', 'runs/a.tsv')
    """
    if is_url(place):
        return f"{str(place).rstrip('/').rpartition('/')[0]}/{name}"
    return Path(place_of(place)).with_name(name)


def copy_path(url: str, version: str) -> Path:
    """Where a copy of what is at `url` in this `version` lies on this machine."""
    return cache_folder(COPIES) / version / protocol(url) / path_in(url)


def unsent_path(url: str) -> Path:
    """Where what is to be written to `url` is made on this machine, with the journal of its run.

    Example:
        >>> unsent_path("s3://bucket/runs/a.parquet").parts[-5:]
        ('unsent', 's3', 'bucket', 'runs', 'a.parquet')
    """
    return cache_folder(UNSENT) / protocol(url) / path_in(url)


def protocol(url: str) -> str:
    """The part of a URL before ://, in lower case."""
    return url.partition("://")[0].lower()


def with_urls(text: str) -> str:
    """`text` in which the paths of copies are the URLs that they are copies of.

    Example:
        >>> with_urls(f"{copy_path('s3://bucket/a.parquet', 'v1')} is damaged")
        's3://bucket/a.parquet is damaged'
    """
    root = re.escape(f"{cache_folder(COPIES)}/")
    return re.sub(root + r"[^/\s]+/([A-Za-z][A-Za-z0-9+.-]+)/", r"\1://", text)
