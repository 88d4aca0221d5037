"""Ablation of words: a copy of a text keeps a few of its words, and hides the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import ArrayLike

from randsmooth.errors import BadValue, MissingValue, WrongData
from randsmooth.noise.ablation import (
    Ablation,
    AblationOfShare,
    check_percent,
    mark_seen,
    number_kept,
)
from randsmooth.noise.base import Noise
from randsmooth.noise.radii import Floats
from randsmooth.noise.streams import Stream
from randsmooth.number_text import shortest
from randsmooth.word_codes import HIDDEN

if TYPE_CHECKING:
    from torch import Tensor

# The entry of the facts of a noise that says what is hidden: words, and no pixels.
PARTS = "parts"
WORDS = "words"


@dataclass(frozen=True)
class WordAblation(Noise):
    """k of the d words of a text at random; the others are hidden.

    Each text has a d of its own. A copy shows at which places words are hidden, and
    nothing of them. So it is the same copy after a change of hidden words alone, and
    the certificate is that of `Ablation`, in words: how many may be replaced by others,
    with d the same (Levine & Feizi 2020, theorem 1; for words, Zeng et al. 2021).

    An input is a text as `word_codes.encoded` writes it, (H, L): a column a word. In a
    copy, the column of a hidden word is HIDDEN and then 0.

    Attributes:
        k: words that are kept in a copy; all words of a text with fewer.
        percent: the words that are kept, of each 100, rounded to whole words, halves
            up, and at least one; in place of `k`.
        d: words of a text, which `of_words` tells; None: each text has its own.

    Raises:
        Problem: there is neither k nor percent, or both, or one that is no such number.

    Example:
        >>> noise = WordAblation(percent=10.0).of_words(60)
        >>> noise.kept, noise.radius([0.0, 0.1, 0.3]).tolist()
        (6, [6.0, 4.0, 2.0])
    """

    k: int | None = None
    percent: float | None = None
    d: int | None = None

    name: ClassVar[str] = Ablation.name
    norm: ClassVar[str] = "words"
    usage: ClassVar[str] = Ablation.usage
    summary: ClassVar[str] = (
        "K words of a text, or so many percent of them, drawn at random, all others "
        "hidden: how many words may be replaced."
    )
    tight: ClassVar[bool] = True
    counts_words: ClassVar[bool] = True

    # A word.
    scale = 1.0

    def __post_init__(self) -> None:
        if (self.k is None) == (self.percent is None):
            raise MissingValue(
                "a text keeps so many words, or a share of them",
                field="k",
                fix="give one of k and percent",
            )
        if self.percent is not None:
            check_percent(self.percent)
        for name in ("k", "d"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise BadValue(
                    field=name,
                    value=value,
                    expected="must be a number of words, 1 or more",
                )

    @property
    def ready(self) -> bool:
        return self.d is not None

    @property
    def text(self) -> str:
        kept = str(self.k) if self.percent is None else f"{shortest(self.percent)}%"
        return f"{self.name}={kept}"

    @property
    def title(self) -> str:
        return f"{super().title} of words"

    def facts(self) -> dict[str, Any]:
        kept: dict[str, Any] = {"k": self.k}
        if self.percent is not None:
            kept = {"percent": self.percent}
        return {"name": self.name, PARTS: WORDS, **kept}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> WordAblation:
        if set(facts) not in ({"k"}, {"percent"}):
            given = ", ".join(sorted(facts)) or "nothing"
            raise BadValue(f"ablation of words has k or percent; got {given}")
        return cls(**facts)

    def of(self, shape: Sequence[int]) -> WordAblation:
        if len(shape) != 2:
            raise BadValue(
                field="shape",
                value=tuple(shape),
                expected="must be that of texts, (H, L)",
                fix="read them by rs.data.texts",
            )
        return self

    def of_words(self, d: int) -> WordAblation:
        return replace(self, d=int(d))

    def words_in(self, x: Tensor) -> int:
        return int((x[0] != 0.0).sum())

    @property
    def kept(self) -> int:
        """How many words a copy of a text of d words keeps.

        Raises:
            Problem: d is not known yet.
        """
        d = self._known_words()
        if self.percent is None:
            return min(self.k or 1, d)
        return number_kept(d, self.percent)

    def check(self, x: Tensor) -> None:
        if not self.words_in(x):
            raise WrongData(
                "the text has no words, so nothing can be certified of it",
                fix="leave it out",
            )

    def draw(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        """Draw as `Noise.draw` does: the words of the `kept` smallest numbers are seen.

        These have 53 bits, and there is one for each word of the text: how many columns
        follow the last word does not matter.

        Example:
            >>> import torch
            >>> from randsmooth.noise import Stream
            >>> from randsmooth.word_codes import encoded, read
            >>> text = torch.from_numpy(encoded(["not", "so", "bad"], (1, 5)))
            >>> copies = torch.empty(3, 1, 5)
            >>> WordAblation(k=1).draw(copies, text, Stream(0, "example"))
            >>> read(copies.numpy(), "_")
            ['not _ _', '_ _ bad', '_ so _']
        """
        import torch

        d = self.words_in(x)
        out[:] = x
        # Made-up inputs may have no words.
        kept = self.of_words(max(1, d)).kept
        if kept >= d:
            return
        marks = out.new_empty(len(out), d)
        mark_seen(marks, kept, stream)
        seen = marks[:, None] > 0.0
        column = out.new_zeros(len(x), 1)
        column[0] = HIDDEN
        # Chosen, not multiplied: nothing of a hidden word remains.
        torch.where(seen, x[:, :d].to(out), column, out=out[..., :d])

    def trial(self, numbers: Tensor) -> Tensor:
        """Return a text of short words for made-up numbers (H, L) in [0, 1]."""
        letters = numbers.new_zeros(numbers.shape)
        # One letter in the first byte of three, the others 0.
        letters[0] = (97.0 + (25.0 * numbers[0]).floor()) * 65536.0
        return letters

    def radius(self, q: ArrayLike, q_next: ArrayLike | None = None) -> Floats:
        """Return the largest whole R with 1 - q - D > q_next + D.

        D is the share of copies that show one of R words.

        Raises:
            Problem: d is not known yet.
        """
        return self._of_one_text().radius(q, q_next)

    def tail(self, radius: ArrayLike) -> Floats:
        return self._of_one_text().tail(radius)

    def _of_one_text(self) -> Ablation:
        """Return the ablation of as many pixels as a text has words."""
        return Ablation(self.kept, self._known_words())

    def _known_words(self) -> int:
        """Return d.

        Raises:
            Problem: it is not known yet.
        """
        if self.d is None:
            raise BadValue(
                f"{self.title} proves a radius once the text is known: "
                "noise.of_words(d) takes its number of words"
            )
        return self.d


def on_words(noise: Noise) -> WordAblation:
    """Return the noise on words that a user means by `noise` where inputs are texts.

    Raises:
        Problem: it is for numbers alone.

    Example:
        >>> from randsmooth.noise import make_noise
        >>> on_words(make_noise("ablation=10%"))
        WordAblation(k=None, percent=10.0, d=None)
    """
    if isinstance(noise, WordAblation):
        return noise
    if isinstance(noise, AblationOfShare):
        return WordAblation(percent=noise.percent)
    if isinstance(noise, Ablation) and noise.d is None:
        return WordAblation(k=noise.k)
    raise BadValue(
        field="noise",
        value=noise.text,
        expected="is for numbers, and words are none",
        fix="take ablation=10%, which keeps a tenth of the words, or ablation=K",
    )
