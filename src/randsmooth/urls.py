"""Places as users write them: a path on this machine, or the URL of a file or folder that fsspec knows.

What is at a URL is read from a copy on this machine; what is to lie there is made here, then sent whole. The stores of
fsspec ask again where a server is busy. It is loaded when a URL is opened, not before.
"""

import hashlib
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from randsmooth.atomic import cache_folder, claimed
from randsmooth.documents import shown
from randsmooth.errors import GO_ON_OR_BEGIN_ANEW, BadValue, OutputExists, Unreachable
from randsmooth.extras import needs

Place = Path | str
"""A path, or as text a URL that fsspec knows, such as s3://bucket/gaussian.parquet. Text without :// is a path."""

URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
# A user's name and password before the host; keys of S3 may hold slashes.
USER_INFO = re.compile(
    r"(?:(?<=\bs3://)|(?<=\bs3a://))[^\s/@:]+:[^\s@]*@|(?<=://)[^\s/?#@]*(?:@[^\s/?#@]*)*@"
)
IN_QUERY = re.compile(r"([?&;#])([^=&;\s#]+)=([^&;\s#'\"]+)")
SIGNS = re.compile(r"^sig$|keyid$", re.IGNORECASE)  # beside what names a secret
HIDDEN = "***"
# Names of secrets, in any part of a name, and as one of its words.
SECRET = re.compile(
    r"token(?!i[sz]|s)|secret|passw|passphrase|credential|api_?key|signature",
    re.IGNORECASE,
)
SECRET_WORDS = {
    *("pwd", "auth", "oauth", "authorization", "pat", "jwt", "bearer"),
    *("sas", "cookie", "cookies"),
}
WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])")

COPIES, UNSENT = "copies", "unsent"  # folders of the cache
WITH_COMPANIONS = (
    ".xml",
    ".onnx",
)  # files that need others beside them, whose names begin alike
LAST = "config.json"  # of a model folder: what is there before it is not yet a model
# Stores of objects: one appears whole when all of it has arrived, and has no folder that must be made first.
OF_OBJECTS = {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "oss", "oci", "memory"}


def is_url(place: object) -> bool:
    """Whether `place` is text with a protocol before it.

    Example:
        >>> is_url("s3://bucket/a.parquet"), is_url("runs/a.parquet"), is_url("C:/runs/a.parquet")
        (True, False, False)
    """
    return isinstance(place, str) and URL.match(place) is not None


def names_a_secret(name: str) -> bool:
    """Whether what is called so is not to be told: a token, a password, a key.

    Example:
        >>> [names_a_secret(name) for name in ("hf_token", "pwd", "authKey", "pat", "path", "keyword", "tokenizer")]
        [True, True, True, True, False, False, False]
    """
    words = [word.lower() for word in WORD.findall(name)]
    return (
        bool(SECRET.search(name))
        or bool(SECRET_WORDS.intersection(words))
        or words[-1:] == ["key"]
    )


def without_credentials(text: str) -> str:
    """`text` with stars in place of what gives access in the URLs in it: names, passwords, tokens, signatures.

    Example:
        >>> without_credentials("https://me:word@host/a.csv?version=3&sig=af31")
        'https://***@host/a.csv?version=3&sig=***'
        >>> without_credentials("runs/me@home?token=1")
        'runs/me@home?token=1'
    """
    if "://" not in text:
        return text

    def told(found: re.Match[str]) -> str:
        mark, name, _ = found.groups()
        hidden = names_a_secret(name) or SIGNS.search(name)
        return f"{mark}{name}={HIDDEN}" if hidden else found[0]

    return IN_QUERY.sub(told, USER_INFO.sub(f"{HIDDEN}@", text))


def place_of(text: Place) -> Place:
    """A URL as it is, and whatever else as a path.

    Example:
        >>> place_of("s3://bucket/a.parquet"), place_of("runs/a.parquet").name
        ('s3://bucket/a.parquet', 'a.parquet')
    """
    return text if is_url(text) else Path(text)


def name_of(place: Place) -> str:
    """The last part of a place.

    Example:
        >>> name_of("s3://bucket/runs/model/"), name_of(Path("runs/model"))
        ('model', 'model')
    """
    return _path_in(str(place)).name if is_url(place) else Path(place).name


def beside(place: Place, name: str) -> Place:
    """The place of a file called `name` in the same folder.

    Example:
        >>> beside("s3://bucket/runs/a.parquet", "a.tsv"), beside(Path("runs/a.parquet"), "a.tsv").as_posix()
        ('s3://bucket/runs/a.tsv', 'runs/a.tsv')
    """
    if is_url(place):
        return f"{str(place).rstrip('/').rpartition('/')[0]}/{name}"
    return Path(place).with_name(name)


def unsent_path(url: str) -> Path:
    """Where what is to be written to `url` is made on this machine, with the journal of its run.

    Example:
        >>> unsent_path("s3://bucket/runs/a.parquet").parts[-5:]
        ('unsent', 's3', 'bucket', 'runs', 'a.parquet')
    """
    return cache_folder(UNSENT) / _protocol(url) / _path_in(url)


def with_urls(text: str) -> str:
    """`text` in which the paths of copies are the URLs that they are copies of."""
    root = re.escape(str(cache_folder(COPIES)))
    return re.sub(
        root + r"[/\\][^/\\\s]+[/\\]([A-Za-z][A-Za-z0-9+.-]+)[/\\]", r"\1://", text
    )


def kind_at(url: str) -> str | None:
    """ "file", "directory", or None where there is nothing. Unreachable where that cannot be known."""
    with _opened(url, "read") as (fs, path):
        try:
            return str(fs.info(path)["type"])
        except FileNotFoundError:
            return None


def check_there(url: str) -> str:
    """The kind of what is at `url`, "file" or "directory". Unreachable where there is nothing.

    Example:
        >>> check_there("memory://bucket/nothing")
        Traceback (most recent call last):
        ...
        randsmooth.errors.Unreachable: there is nothing at memory://bucket/nothing
    """
    if (kind := kind_at(url)) is None:
        raise Unreachable(f"there is nothing at {without_credentials(url)}")
    return kind


def fetched(
    place: Place, wanted: Callable[[PurePosixPath], bool] = lambda path: True
) -> Path:
    """`place` itself if it is a path; of a URL, file or folder, the path of a copy that is up to date.

    Copies are kept in the folder `copies` of $RANDSMOOTH_CACHE or of the user's cache folder; it may be removed at any
    time. A copy is made again when what is at the URL has changed.

    Args:
        place: a path or a URL.
        wanted: which files of a folder are needed, by their paths in it.

    Raises:
        Unreachable: there is nothing at the URL, or it cannot be read.

    Example:
        >>> fetched("runs/a.parquet").as_posix()
        'runs/a.parquet'
        >>> import fsspec
        >>> fsspec.filesystem("memory").pipe("/bucket/a.txt", b"whole")
        >>> fetched("memory://bucket/a.txt").read_bytes()
        b'whole'
    """
    if not is_url(place):
        return Path(place)
    url = str(place).rstrip("/")
    kind = check_there(url)
    if kind == "file" and url.endswith(WITH_COMPANIONS):
        stem = PurePosixPath(url).stem
        return _copy(
            url.rpartition("/")[0], "directory", lambda path: str(path).startswith(stem)
        ) / name_of(url)
    return _copy(url, kind, wanted)


def _copy(url: str, kind: str, wanted: Callable[[PurePosixPath], bool]) -> Path:
    """The path of a copy of the wanted files, which is named by what the store says of them and so never changes."""
    with _opened(url, "read") as (fs, root):
        found = (
            fs.find(root, detail=True) if kind == "directory" else {root: fs.info(root)}
        )
        names = {
            path: PurePosixPath(path).relative_to(root)
            for path in found
            if not path.endswith("/")
        }
        names = {
            path: name for path, name in names.items() if not name.parts or wanted(name)
        }
        facts = f"{url} {[sorted(found[path].items()) for path in names]}"
        version = hashlib.sha256(facts.encode()).hexdigest()[:16]
        copy = cache_folder(COPIES) / version / _protocol(url) / _path_in(url)
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=copy.parent, prefix=".making-") as scrap:
                making = Path(scrap) / copy.name
                for name in names.values():
                    (making / name).parent.mkdir(parents=True, exist_ok=True)
                if kind == "directory":
                    making.mkdir(exist_ok=True)
                fs.get(list(names), [str(making / name) for name in names.values()])
                with suppress(
                    OSError
                ):  # where another process was faster, its copy is as good
                    making.replace(copy)
    return copy


@contextmanager
def delivered(
    out: Place, *, folder: bool = False, resume: bool = False, overwrite: bool = False
) -> Iterator[Path]:
    """The path at which the file or folder `out` is to be made. If `out` is a URL, what is finished is then sent there.

    What is made, and the journal of an unfinished run, wait in the folder `unsent` of $RANDSMOOTH_CACHE or of the
    user's cache folder, under the path that the URL names: there another run with `resume` finds them, or else has a
    copy of what is at the URL. Each file is sent whole, read back and compared by its digest, and all are removed here
    in the end. Whether the URL can be written to is tried first. A model is not complete without its config.json, which
    is sent last.

    Raises:
        Problem: there is a folder in place of a file, or a file in place of a folder; something is at the URL and
            neither flag is given; the URL cannot be written to; or another run on this machine writes to it.
    """
    kind = (
        kind_at(str(out))
        if is_url(out)
        else "directory"
        if Path(out).is_dir()
        else None
    )
    if kind == "directory" and not folder:
        named = without_credentials(str(out))
        raise BadValue(
            f"{named} is a folder: name the file to write, such as {named}/certificates.parquet"
        )
    if kind == "file" and folder:
        raise BadValue(f"{without_credentials(str(out))} is a file: name a folder")
    if not is_url(out):
        yield Path(out)
        return
    url, local = str(out).rstrip("/"), unsent_path(str(out))
    _check_writable(url, kind is not None and not (resume or overwrite))
    with claimed(local, output=without_credentials(url), kind="sending"):
        if (
            resume
            and kind
            and not (
                local.exists() or local.with_name(local.name + ".partial").exists()
            )
        ):
            (shutil.copytree if folder else shutil.copyfile)(fetched(url), local)
        yield local
        made = (
            {
                path.relative_to(local).as_posix()
                for path in local.rglob("*")
                if path.is_file()
            }
            if folder
            else {"."}
        )
        for name in sorted(made, key=lambda name: (name == LAST, name)):
            _send(local / name, f"{url}/{name}" if folder else url)
        if folder:
            _discard_others(url, made)
            shutil.rmtree(local)
        else:
            local.unlink()


def _send(local: Path, url: str) -> None:
    """Write the file `local` to `url`, whole or not at all, and read it back to compare its digest.

    Raises:
        Unreachable: that was refused; the file is still here.
    """
    try:
        with _opened(url, "written") as (fs, path), local.open("rb") as here:
            target = path if _protocol(url) in OF_OBJECTS else f"{path}.sending"
            fs.put_file(str(local), target)
            with fs.open(target, "rb") as there:
                if (
                    hashlib.file_digest(here, "sha256").digest()
                    != hashlib.file_digest(there, "sha256").digest()
                ):
                    raise OSError("what was stored is not what was sent")
            if target != path:
                fs.mv(target, path)
    except Unreachable as error:
        raise Unreachable(
            f"{error}. What is finished is {local}: resume=True sends it"
        ) from error


def _discard_others(url: str, names: set[str]) -> None:
    """Remove the files at `url` that are not among `names`, as far as that is allowed: some too many harm nobody."""
    with suppress(Unreachable), _opened(url, "written") as (fs, root):
        for path in fs.find(root):
            if PurePosixPath(path).relative_to(root).as_posix() not in names:
                fs.rm_file(path)


def _check_writable(url: str, exists: bool) -> None:
    """Write a few bytes beside `url` and remove them. Problem where that is refused, or where something `exists`."""
    if exists:
        raise OutputExists(
            f"{without_credentials(url)} exists",
            fix=GO_ON_OR_BEGIN_ANEW,
            file=without_credentials(url),
        )
    with _opened(url, "written") as (fs, path):
        probe = f"{path}.probe"
        fs.pipe_file(probe, b"May randsmooth write here?\n")
        with suppress(Exception):  # it may be allowed to write and not to remove
            fs.rm_file(probe)


@contextmanager
def _opened(url: str, what: str) -> Iterator[tuple[Any, str]]:
    """The file system of a URL, which remembers no listing, and the path in it, which is to be `what`, read or written.

    The folder of what is to be written is made, where a store has folders. What the store refuses in the block is told
    in a sentence: each protocol has errors of its own.
    """
    named = without_credentials(url)
    with needs(f"{named} (files at URLs)"):
        import fsspec

        if _protocol(url) in ("s3", "s3a"):
            import s3fs  # noqa: F401
    try:
        fs, path = fsspec.core.url_to_fs(url)
        fs.invalidate_cache()
    except Exception as error:
        raise Unreachable(
            f"{shown(named)} cannot be opened: {_said(error)}; fsspec knows s3://, gs://, az://, https://, sftp:// and "
            "others, some by packages of their own"
        ) from error
    try:
        if what == "written" and _protocol(url) not in OF_OBJECTS:
            fs.makedirs(path.rpartition("/")[0], exist_ok=True)
        yield fs, path.rstrip("/")
    except Exception as error:
        asked = "is there such a place, may this user do that, does the store answer?"
        raise Unreachable(
            f"{named} could not be {what}: {_said(error)}; {asked}"
        ) from error


def _said(error: Exception) -> str:
    """What an error says, whose text may hold the URL."""
    return shown(without_credentials(str(error))) or type(error).__name__


def _path_in(url: str) -> PurePosixPath:
    """The path that a URL names below its protocol; bucket or host come first, and nothing leads out of it.

    It says nobody's name nor password, and of a query nothing: it becomes the name of a file.
    """
    plain = USER_INFO.sub("", url)
    if _protocol(url) in ("http", "https"):
        plain = re.split(r"[?#]", plain, maxsplit=1)[0]
    parts = PurePosixPath(URL.sub("", plain, count=1)).parts
    return PurePosixPath(*(part for part in parts if part not in ("/", "..", ".")))


def _protocol(url: str) -> str:
    return url.partition("://")[0].lower()
