"""What a header says in words, made from its rule and its numbers and never copied from a file; and reading one."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

from randsmooth.certificates.header import CLOPPER_PEARSON, VERSION, Header
from randsmooth.certificates.limits import HEADER
from randsmooth.documents import parse_json, shown
from randsmooth.errors import InputError, Note
from randsmooth.noise import Gaussian
from randsmooth.rules import Rule, make_rule, missing_rule

LABEL_AWARE = " For evaluation only: images whose picked class is not the label were given up."
LABEL_TESTED = " For evaluation only: no class was picked, the samples test each image's label."
FOREIGN = (
    " That holds if the counts, which another program made, are of independent samples of Gaussian noise of this sigma"
)
BATCH_MATTERS = (
    "the base classifier's answer for a noisy image depends, if little, on the others in its batch (a layer that "
    "scales by the batch, or rounds by the place in it?), which no certificate allows for"
)
PICKED = ", and the class was picked without them"

_NUMBER = r"\d{1,20}(?:\.\d{1,20})?(?:e-\d{1,2})?"
_NOTE = re.compile(
    rf"n {_NUMBER} thinned to {_NUMBER}, seed -?\d{{1,20}}|alpha {_NUMBER} recomputed as {_NUMBER}", re.ASCII
)


def rule_of(header: Header) -> Rule:
    """The rule that `header` names.

    Raises:
        InputError: sigma, n or alpha is unknown, or there is no such rule or bound.

    Example:
        >>> rule_of(Header(sigma=0.5, n=1000, alpha=0.001)).name
        'fixed'
    """
    if header.sigma is None or header.n is None or header.alpha is None:
        raise InputError("judging counts needs sigma, n and alpha in the header")
    bound = header.bound or CLOPPER_PEARSON
    return make_rule(header.rule, noise=Gaussian(header.sigma), n=header.n, alpha=header.alpha, bound=bound)


def guarantee_of(header: Header) -> str:
    """What a certificate under `header` guarantees, and a second sentence where that depends on more than its rule.

    Errors as `rule_of`.

    Example:
        >>> print(guarantee_of(Header(sigma=0.5, n=1000, alpha=0.001)))
        Each certificate is wrong with probability at most 0.001: 1000 samples per image, p_A is bounded by ...
    """
    aware = (LABEL_AWARE if header.n0 != 0 else LABEL_TESTED) if header.label_aware else ""
    picked = "" if header.bound == "any-class" else PICKED
    return rule_of(header).guarantee() + aware + (f"{FOREIGN}{picked}." if header.source else "")


def parse_header(text: str | bytes, path: Path) -> Header:
    """The header in `text`, which was read from `path`, with its guarantee and notes made anew.

    Raises:
        InputError: it is damaged, in another format, beyond the limits of a header, or names a rule of a package that
            is not installed.

    Example:
        >>> text = Header(sigma=0.5, n0=100, n=1000, alpha=0.001).model_dump_json()
        >>> parse_header(text, Path("run.parquet")).n
        1000
        >>> parse_header('{"version": 99}', Path("run.parquet"))
        Traceback (most recent call last):
            ...
        randsmooth.errors.InputError: run.parquet is in format 99; this randsmooth reads format 1: upgrade it
    """
    where = f"{path} has a damaged header: it"
    if len(text) > HEADER:
        raise InputError(f"{where} takes {len(text):,} bytes; expected at most {HEADER:,}")
    raw = parse_json(text, where)
    if not isinstance(raw, dict):
        raise InputError(f"{where} is no mapping of names to facts")
    version = raw.get("version")
    if type(version) is not int or version != VERSION:
        found = shown(repr(version))
        raise InputError(f"{path} is in format {found}; this randsmooth reads format {VERSION}: upgrade it")
    try:
        header = Header(**raw)
        missing = missing_rule(header.rule, header.versions)
        if missing is None:
            return _in_own_words(header, path)
    except InputError as error:
        raise InputError(f"{path} has a damaged header: {error}") from error
    raise InputError(f"{path}: {missing}")


def _in_own_words(header: Header, path: Path) -> Header:
    """`header` with its guarantee made anew and the notes that randsmooth writes; a `Note` counts those left out."""
    if header.guarantee is None and not header.notes:
        return header
    own = (BATCH_MATTERS, *rule_of(header).notes)
    notes = tuple(note for note in header.notes if note in own or _NOTE.fullmatch(note))
    if left := len(header.notes) - len(notes):
        warnings.warn(f"{path}: left out {left} of the header's notes, which randsmooth did not write", Note, 4)
    return header.replace(guarantee=None if header.guarantee is None else guarantee_of(header), notes=notes)
