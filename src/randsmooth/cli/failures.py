"""What the operating system refused, in a sentence with the way out."""

from __future__ import annotations

import errno

# What happened to the file {at}, and what to do about it before the command is given again.
SENTENCES = {
    errno.ENOSPC: ("the disk is full: {at} could not be written", "make room"),
    errno.EDQUOT: ("your share of the disk is used up: {at} could not be written", "make room"),
    errno.EFBIG: ("{at} would be larger than a file may be here", "raise the limit"),
    errno.EROFS: ("{at} is on a disk that may only be read", "make it writable or use another folder"),
    errno.EACCES: ("this user may not open or write {at}", "change its permissions or use another folder"),
    errno.EPERM: ("this user may not open or write {at}", "change its permissions or use another folder"),
    errno.ENOENT: ("{at} is not there, or its folder was removed", "bring it back"),
    errno.ENOTDIR: ("{at} cannot be there, a file is where its folder should be", "move that file"),
    errno.EEXIST: ("{at} cannot be there, a file is in the way", "move that file"),
    errno.EISDIR: ("{at} is a folder where a file should be", "move it"),
    errno.EIO: ("the disk failed at {at}", "look at the disk, or use another"),
    errno.ESTALE: ("the disk that holds {at} went away", "bring it back"),
    errno.EMFILE: ("too many files are open to open {at}", "raise the limit (ulimit -n)"),
    errno.ENOMEM: ("there is too little memory for {at}", "close other programs"),
}


def explained(error: OSError, *, resumes: bool) -> str:
    """`error` in a sentence; `resumes`: the verb goes on with --resume, so what is finished is not lost."""
    at = error.filename if isinstance(error.filename, str) else "a file"
    if error.errno is None:  # another library's, which says it in its own words
        return f"{type(error).__name__}: {error}"
    what, cure = SENTENCES.get(error.errno, (f"{{at}}: {error.strerror}", "mend that"))
    on = "the same command with --resume goes on: what is finished is kept" if resumes else "run the same command again"
    return f"{what.format(at=at)}; {cure}, then {on}"
