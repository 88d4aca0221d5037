"""What is done at a URL, by fsspec: each step is tried again where a store may only be busy, and told in a sentence."""

from __future__ import annotations

import errno
import hashlib
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeVar, cast
from uuid import uuid4

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.extras import needs
from randsmooth.urls import protocol

TRIES = 5
FIRST_PAUSE = 0.25  # seconds; twice as long before each further try
CHUNK = 2**22  # bytes
SLOWEST, PATIENCE = 2**16, 60.0  # bytes a second, and seconds beside: an upload that takes longer has come to a halt
T = TypeVar("T")

# Stores of objects: one appears whole when all of it has arrived, and has no folder that must be made first.
OF_OBJECTS = {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "oss", "oci", "memory"}
# Packages that fsspec needs for a protocol, where an extra of randsmooth installs them.
PACKAGES = {"s3": "s3fs", "s3a": "s3fs"}
# What no further try can change.
FINAL = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, FileExistsError)
OURS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}  # of this machine's disk, whatever the store does
# What says that a file is another than before; a store gives at least one of these.
MARKS = (
    "ETag",
    "etag",
    "md5",
    "md5Hash",
    "content_md5",
    "checksum",
    "generation",
    "VersionId",
    "mtime",
    "LastModified",
)


class StoreError(InputError):
    """A store did not do what it was asked: after some tries, or never since it is not there or not allowed."""


@dataclass(frozen=True)
class Store:
    """What lies at one URL: a file, a folder, or nothing yet."""

    url: str
    fs: Any
    path: str

    @classmethod
    def at(cls, url: str) -> Store:
        """Raises InputError for a protocol that is unknown, or whose package is not installed."""
        with needs(f"{url} (files at URLs)"):
            import fsspec
        if PACKAGES.get(protocol(url)) == "s3fs":
            with needs(f"{url} (files on S3)"):
                import s3fs  # noqa: F401
        try:
            fs, path = fsspec.core.url_to_fs(url)
        except ImportError as error:
            raise StoreError(f"{shown(url)}: fsspec lacks a package for {protocol(url)}://: {shown(error)}") from error
        except Exception as error:  # each protocol has errors of its own
            known = ", ".join(f"{name}://" for name in ("s3", "gs", "az", "https", "sftp"))
            raise StoreError(
                f"{shown(url)} cannot be opened: {shown(error)}; fsspec knows {known} and others"
            ) from error
        return cls(url.rstrip("/"), fs, path)

    def __truediv__(self, name: str) -> Store:
        """The store of what is called `name` in this folder."""
        return Store(f"{self.url}/{name}", self.fs, f"{self.path.rstrip('/')}/{name}")

    def kind(self) -> str | None:
        """ "file", "directory", or None where there is nothing."""
        found = self.trying("read", self._kind)
        return None if found is None else str(found["type"])

    def _kind(self) -> Mapping[str, Any] | None:
        self.fs.invalidate_cache()
        try:
            return cast(Mapping[str, Any], self.fs.info(self.path))
        except FileNotFoundError:
            return None

    def files(self) -> dict[PurePosixPath, str]:
        """Each file at any depth below this folder, or of this file itself, with a mark of its version."""
        facts = self.trying("read", self._kind) or {}
        if facts.get("type") == "file":
            return {PurePosixPath(): version_of(facts)}
        found = self.trying("read", self._found)
        root = PurePosixPath(self.path)
        return {
            PurePosixPath(path).relative_to(root): version_of(facts)
            for path, facts in sorted(found.items())
            if facts["type"] == "file" and not path.endswith("/")
        }

    def _found(self) -> dict[str, dict[str, Any]]:
        self.fs.invalidate_cache()
        return cast(dict[str, dict[str, Any]], self.fs.find(self.path, detail=True))

    def fetch(self, local: Path) -> None:
        """Copy this file to `local`, which appears whole."""
        local.parent.mkdir(parents=True, exist_ok=True)
        temporary = local.with_name(f".{local.name}.{uuid4().hex}.tmp")

        def copied() -> None:
            size = self.fs.size(self.path)
            self.fs.get_file(self.path, str(temporary))
            if size is not None and temporary.stat().st_size != size:
                raise OSError(f"{temporary.stat().st_size:,} of {size:,} bytes arrived")

        try:
            self.trying("read", copied)
            temporary.replace(local)
        finally:
            temporary.unlink(missing_ok=True)

    def send(self, local: Path) -> None:
        """Write the file `local` here, whole or not at all, and read it back to compare its digest."""
        with local.open("rb") as file:
            meant = hashlib.file_digest(file, "sha256").hexdigest()
        whole = protocol(self.url) in OF_OBJECTS
        target = self if whole else self.hidden(f"{uuid4().hex}.tmp")

        def sent() -> None:
            if not whole:
                self.fs.makedirs(self.parent, exist_ok=True)
            self.fs.put_file(str(local), target.path, **self._limit(local.stat().st_size))
            if target.digest() != meant:
                raise OSError("what was stored is not what was sent")
            if not whole:
                self.fs.mv(target.path, self.path)

        try:
            self.trying("written", sent)
        finally:
            if not whole:
                target.discard()

    def digest(self) -> str:
        """The SHA-256 of this file."""
        made = hashlib.sha256()
        self.fs.invalidate_cache()
        with self.fs.open(self.path, "rb") as file:
            while chunk := file.read(CHUNK):
                made.update(chunk)
        return made.hexdigest()

    def same_as(self, local: Path) -> bool:
        """Whether this file holds what `local` does."""
        with local.open("rb") as file:
            meant = hashlib.file_digest(file, "sha256").hexdigest()
        return bool(self.trying("read", lambda: self.digest() == meant))

    def size(self) -> int:
        """Bytes of this file."""
        return self.trying("read", lambda: int(self.fs.size(self.path)))

    def open(self) -> IO[bytes]:
        """This file, to be read at whatever places: only these are fetched, and what follows them."""
        return cast(IO[bytes], self.trying("read", lambda: self.fs.open(self.path, "rb", cache_type="readahead")))

    def check_writable(self) -> None:
        """Write a few bytes beside this file and remove them. Raises StoreError where that is refused."""
        probe = self.hidden(f"{uuid4().hex}.probe")

        def tried() -> None:
            if protocol(self.url) not in OF_OBJECTS:
                self.fs.makedirs(self.parent, exist_ok=True)
            self.fs.pipe_file(probe.path, b"May randsmooth write here?\n", **self._limit(0))

        self.trying("written", tried)
        probe.discard()

    def _limit(self, size: int) -> dict[str, float]:
        """How long an upload of so many bytes may take, as an argument of fsspec's.

        aiohttp has a limit for a server that falls silent, and forgets it where one says "100 Continue" once more.
        """
        return {"timeout": PATIENCE + size / SLOWEST} if self.fs.async_impl else {}

    def discard(self) -> None:
        """Remove this file, as far as that is allowed."""
        with suppress(Exception):  # a file too many harms nobody, and each protocol has errors of its own
            self.fs.rm_file(self.path)

    @property
    def parent(self) -> str:
        return self.path.rstrip("/").rpartition("/")[0]

    def hidden(self, more: str) -> Store:
        """A file beside this one whose name begins with a dot."""
        folder, _, name = self.path.rpartition("/")
        above = self.url.rpartition("/")[0]
        return Store(f"{above}/.{name}.{more}", self.fs, f"{folder}/.{name}.{more}")

    def trying(self, what: str, call: Callable[[], T]) -> T:
        """What `call` gives, tried again with pauses; StoreError in a sentence where it stays refused."""
        for attempt in range(1, TRIES + 1):
            try:
                return call()
            except Exception as error:  # of fsspec, of the package behind it, of the network: no common class
                if isinstance(error, InputError) or (isinstance(error, OSError) and error.errno in OURS):
                    raise
                if attempt == TRIES or not may_pass(error):
                    raise StoreError(self._refused(what, error, attempt)) from error
                time.sleep(FIRST_PAUSE * 2 ** (attempt - 1) * random.uniform(0.5, 1.0))
        raise AssertionError("unreachable")

    def _refused(self, what: str, error: Exception, tries: int) -> str:
        said = shown(error) or type(error).__name__
        if isinstance(error, FileNotFoundError):
            way = "is there no such bucket or folder?" if what == "written" else "there is nothing"
            return f"{self.url} cannot be {what}: {way} ({said})"
        if isinstance(error, PermissionError) or "credentials" in said.lower():
            return f"{self.url} cannot be {what} with the permissions that this user has ({said})"
        after = f" after {tries} tries" if tries > 1 else ""
        return f"{self.url} could not be {what}{after}: {said}"


def may_pass(error: Exception) -> bool:
    """Whether another try could succeed: not where something is missing, forbidden or impossible."""
    return not isinstance(error, (*FINAL, NotImplementedError, TypeError)) and "credentials" not in str(error).lower()


def version_of(facts: Mapping[str, Any]) -> str:
    """What of a store's facts about a file tells its versions apart; of a store that says nothing, its size.

    Example:
        >>> version_of({"name": "a", "size": 3, "type": "file", "ETag": '"0a"'})
        "3 '0a'"
    """
    marks = [repr(str(facts[name]).strip('"')) for name in MARKS if facts.get(name)]
    if not marks and facts.get("created"):  # as of memory://
        marks = [repr(str(facts["created"]))]
    return " ".join([str(facts.get("size")), *marks])
