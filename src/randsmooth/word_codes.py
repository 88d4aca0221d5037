"""Words as numbers: a text is an array with one column a word, which no other text has.

A word is the bytes of its UTF-8, three in a number, since float32 holds whole numbers
below 2^24 exactly. So the numbers of a text depend on the text alone, and can be read
back.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

BYTES_A_NUMBER = 3

# The first number of a hidden word; its others are 0. No word has it.
HIDDEN = -1.0

# Lone surrogates are no characters, but Python's texts may hold them.
LONE_SURROGATES = "surrogatepass"

Floats32 = NDArray[np.float32]


def words_of(text: str) -> list[str]:
    """Return the words of a text: what stands between whitespace.

    A zero byte counts as whitespace, as no word can end with one.

    Example:
        >>> words_of("Well, it's  fine.")
        ['Well,', "it's", 'fine.']
    """
    return text.replace("\0", " ").split()


def height_for(words: Sequence[str]) -> int:
    """Return how many numbers the longest of the words takes; 1 without words.

    Example:
        >>> height_for(["it", "was", "good"])
        2
    """
    longest = max((len(_bytes_of(word)) for word in words), default=1)
    return -(-longest // BYTES_A_NUMBER)


def encoded(words: Sequence[str], shape: Sequence[int]) -> Floats32:
    """Return the words as an array of `shape` (H, L), a column of H numbers a word.

    Columns beyond the last word are 0.

    Args:
        words: at most L words, none of which takes more than H numbers.
        shape: (H, L).

    Example:
        >>> encoded(["ab", "c"], (1, 3)).tolist()  # 97 * 256^2 + 98 * 256
        [[6382080.0, 6488064.0, 0.0]]
    """
    height, _length = shape
    array = np.zeros(tuple(shape), np.float32)
    if not words:
        return array
    size = height * BYTES_A_NUMBER
    padded = b"".join(_bytes_of(word).ljust(size, b"\0") for word in words)
    digits = np.frombuffer(padded, np.uint8).reshape(len(words), height, BYTES_A_NUMBER)
    weights = 256 ** np.arange(BYTES_A_NUMBER)[::-1]
    array[:, : len(words)] = (digits @ weights).T
    return array


def decoded(columns: NDArray[Any]) -> list[str]:
    """Return the words whose columns these are, the inverse of `encoded`.

    Bytes that no text has become question marks, as those of made-up inputs do.

    Args:
        columns: (n, H), whole numbers from 0 below 2^24.

    Example:
        >>> decoded(encoded(["naïve", "c"], (2, 2)).T)
        ['naïve', 'c']
    """
    numbers = columns.astype(np.int64)
    digits = [numbers >> shift & 255 for shift in (16, 8, 0)]
    content = np.ascontiguousarray(np.stack(digits, axis=-1).astype(np.uint8))
    size = columns.shape[1] * BYTES_A_NUMBER
    # NumPy leaves out zero bytes at the end.
    words = content.reshape(len(columns), size).view(f"S{size}")[:, 0].tolist()
    return [_text_of(word) for word in words]


def read(x: NDArray[Any], mask: str) -> list[str]:
    """Return the texts that copies (B, H, L) show, with single spaces between words.

    Args:
        x: copies of texts.
        mask: stands for each hidden word; empty: hidden words are left out.

    Example:
        >>> copies = encoded(["a", "b", "c"], (1, 4))[None].copy()
        >>> copies[0, 0, 1] = HIDDEN
        >>> read(copies, "[MASK]"), read(copies, "")
        (['a [MASK] c'], ['a c'])
    """
    first = x[:, 0]
    seen = first > 0.0
    words = iter(decoded(x.transpose(0, 2, 1)[seen]))
    # Of each copy, in the order of its words: whether it shows a word, or hides one.
    shown = seen if not mask else first != 0.0
    texts = []
    for of_copy, is_shown in zip(seen.tolist(), shown.tolist(), strict=True):
        parts = [
            next(words) if is_seen else mask
            for is_seen, counts in zip(of_copy, is_shown, strict=True)
            if counts
        ]
        texts.append(" ".join(parts))
    return texts


def _bytes_of(word: str) -> bytes:
    """Return the bytes of a word."""
    return word.encode("utf-8", LONE_SURROGATES)


def _text_of(word: bytes) -> str:
    """Return the word of some bytes."""
    try:
        return word.decode("utf-8", LONE_SURROGATES)
    except UnicodeDecodeError:
        return word.decode("utf-8", "replace")
