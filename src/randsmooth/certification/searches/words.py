"""The search that replaces words of a text, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from randsmooth.certification.searches.base import CHOOSE, START, BallSearch
from randsmooth.noise import Stream, address_of
from randsmooth.word_codes import HIDDEN

# How many places are tried in each step, those first whose words speak most for the class.
PLACES_TRIED = 3

# An answer with less than this probability is as good as impossible.
SMALLEST_PROBABILITY = 1e-12


@dataclass(frozen=True, kw_only=True)
class WordSearch(BallSearch):
    """Greedy replacement: each step changes the word that costs the class most votes.

    Among m noisy copies, the search finds the places whose words, where a copy shows
    them, come with the class. It tries the words that speak most against the class by
    themselves at some of these places, on the copies that show the place; the answers to
    all others stay as they are. The best replacement is kept.

    Args:
        steps: how many words are tried at a place.
        m: noisy copies of each step.
        candidates: (V, H) the columns of the words that may be put in.

    Source: Jin et al. 2020 (TextFooler), its order of words by importance, here of the
        smoothed classifier and without a limit on meaning.
    """

    gradient_free: ClassVar[bool] = True

    candidates: Tensor

    def find(self, x: Tensor, y: int, eps: float) -> Tensor:
        self.engine.prepare(x.shape)
        text = x.to(self.engine.device).clone()
        d = self.noise.words_in(text)
        words = self._words_against(text, d, y)
        changed: list[int] = []
        for step in range(min(int(eps), d)):
            copies = self.copies_of(
                text, Stream(self.seed, CHOOSE).at(address_of(x), step)
            )
            place, word = self._best_change(copies, d, words, y, changed)
            text[:, place] = word
            changed.append(place)
        return text.cpu()

    def distance(self, point: Tensor, x: Tensor) -> float:
        """Return how many words differ."""
        return float((point != x).any(dim=0).sum())

    def _words_against(self, text: Tensor, d: int, y: int) -> Tensor:
        """Return (S, H) the candidates that speak most against the class `y`.

        Each is asked about as the only word that a copy shows.
        """
        words = self.candidates.to(text)
        alone = torch.zeros(len(words), *text.shape, device=text.device)
        alone[:, 0, :d] = HIDDEN
        # The same place for all: which one is left to chance.
        stream = Stream(self.seed, START).at(address_of(text))
        alone[:, :, int(stream.uniform() * d)] = words
        order = self._for_class(alone, y).argsort(stable=True)
        return words[order[: self.steps]]

    def _best_change(
        self, copies: Tensor, d: int, words: Tensor, y: int, changed: list[int]
    ) -> tuple[int, Tensor]:
        """Return the place and the word (H,) whose change costs the class most.

        Args:
            copies: (m, H, L) noisy copies of the text.
            d: the words of the text.
            words: (S, H) what may be put in.
            y: the class.
            changed: places that were changed before, which stay.
        """
        shows = copies[:, 0, :d] > 0.0
        for_class = self._for_class(copies, y)
        support = (for_class[:, None] * shows).sum(dim=0)
        support[changed] = -1.0
        best_gain = -torch.inf
        best = (int(support.argmax()), words[0])
        for place in support.argsort(descending=True)[:PLACES_TRIED].tolist():
            showing = copies[shows[:, place]]
            if not len(showing) or place in changed:
                continue
            before = float(for_class[shows[:, place]].sum())
            tried = showing.repeat(len(words), 1, 1)
            tried[:, :, place] = words.repeat_interleave(len(showing), dim=0)
            after = self._for_class(tried, y).view(len(words), -1).sum(dim=1)
            gain = before - float(after.min())
            if gain > best_gain:
                best_gain = gain
                best = (place, words[after.argmin()])
        return best

    def _for_class(self, copies: Tensor, y: int) -> Tensor:
        """Return (n,) how much the answers to copies are for the class `y`.

        It is 1 for a vote, and else a little more or less, by the probability of the
        class: so the search has a direction where no vote changes. Where one class is
        looked for, it is how little they are for that one.
        """
        logits = self.engine.logits(copies)
        shares = logits.softmax(dim=1).clamp_min(SMALLEST_PROBABILITY)
        of_class = y if self.toward is None else self.toward
        is_vote = (logits.argmax(dim=1) == of_class).to(shares)
        support: Tensor = (is_vote + shares[:, of_class]) / 2.0
        if self.toward is not None:
            support = 1.0 - support
        return support


def different_words(texts: Tensor) -> Tensor:
    """Return (V, H) the columns of all words in texts (P, H, L), each once.

    Example:
        >>> from randsmooth.word_codes import encoded
        >>> texts = torch.from_numpy(encoded(["a", "b", "a"], (1, 4)))[None]
        >>> len(different_words(texts))
        2
    """
    columns = texts.transpose(1, 2).flatten(0, 1)
    different: Tensor = columns[columns[:, 0] > 0.0].unique(dim=0)
    return different
