"""The text in a file that another program or an editor wrote."""

from pathlib import Path

from randsmooth.contents import HEAD_BYTES, stands_for
from randsmooth.documents import read_file, shown
from randsmooth.errors import WrongFile

# The most bytes that a log may have: 256 MiB.
MOST_BYTES = 2**28

# ImageNet has 1.28 million training images, a line each.
MOST_LINES = 2 * 10**6

# The first bytes of text in UTF-16, and of what gzip compressed.
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
GZIP = b"\x1f\x8b"


def read_text(path: Path) -> str:
    """Return the text in the file at `path`, with one kind of line break.

    Raises:
        WrongFile: it is too large, or no text in UTF-8.
    """
    content = read_file(path, MOST_BYTES)
    # A server or Git may have sent something else, such as a web page, in its place.
    # Who asked for the text says what an empty file lacks.
    in_its_place = stands_for(content[:HEAD_BYTES]) if content else ""
    if in_its_place:
        raise WrongFile(f"{path} {in_its_place}", file=path)
    if content.startswith(UTF_16):
        raise WrongFile(
            f"{path} is text in UTF-16, which spreadsheets write: save it as UTF-8",
            file=path,
        )
    if content.startswith(GZIP):
        raise WrongFile(
            f"{path} is compressed by gzip: unpack it first (gunzip)", file=path
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WrongFile(
            f"{path} is not text in UTF-8 ({shown(error)})", file=path
        ) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.count("\n") > MOST_LINES:
        raise WrongFile(
            f"{path} has more than {MOST_LINES:,} lines, the most that is read",
            file=path,
        )
    return text
