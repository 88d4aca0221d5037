"""Ablation of words: radii against enumerated copies and exact fractions, what copies show, and how it is written."""

import itertools
from collections import Counter
from fractions import Fraction
from math import comb

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from models.refusing import check_refusals
from randsmooth.errors import BadValue, MissingValue, WrongData
from randsmooth.noise import (
    Ablation,
    Gaussian,
    Stream,
    Uniform,
    WordAblation,
    make_noise,
    noise_from,
    on_words,
)
from randsmooth.word_codes import HIDDEN, encoded, height_for, read, words_of
from values import Refusal

STREAM = Stream(11, "words")
SMALL = [(d, k) for d in range(2, 7) for k in range(1, d)]


def text_of(words: list[str], length: int = 8) -> Tensor:
    return torch.from_numpy(encoded(words, (3, length)))


def delta(d: int, k: int, r: int) -> Fraction:
    """The share of copies that show one of r words (Levine & Feizi 2020, theorem 1)."""
    return 1 - Fraction(comb(d - r, k), comb(d, k))


def every_copy(words: list[str], k: int, mask: str = "_") -> list[str]:
    """All copies as a classifier reads them, each once."""
    copies = []
    for kept in itertools.combinations(range(len(words)), k):
        copy = text_of(words).clone()
        hidden = [place for place in range(len(words)) if place not in kept]
        copy[:, hidden] = 0.0
        copy[0, hidden] = HIDDEN
        copies.append(copy)
    return read(torch.stack(copies).numpy(), mask)


def replaced(words: list[str], places: tuple[int, ...]) -> list[str]:
    """The words with others, of other lengths, at these places."""
    return [
        f"another{place}" if place in places else word
        for place, word in enumerate(words)
    ]


def share_that_can_be_lost(d: int, k: int, r: int, mask: str = "_") -> Fraction:
    """The largest total variation between all copies of a text and of one with r words replaced."""
    words = [f"w{place}" for place in range(d)]
    before = Counter(every_copy(words, k, mask))
    largest = 0
    for places in itertools.combinations(range(d), r):
        after = Counter(every_copy(replaced(words, places), k, mask))
        largest = max(largest, (before - after).total())
    return Fraction(largest, comb(d, k))


def test_the_closed_form_is_what_all_copies_of_short_texts_lose() -> None:
    for d, k in SMALL:
        for r in range(1, d + 1):
            for mask in ("_", ""):
                lost = share_that_can_be_lost(d, k, r, mask)
                assert lost == delta(d, k, r), (d, k, r, mask)


def test_the_radius_is_the_last_one_that_the_worst_classifier_keeps() -> None:
    for d, k in SMALL:
        noise = WordAblation(k=k).of_words(d)
        copies = comb(d, k)
        for votes in range(copies // 2 + 1, copies + 1):
            claimed = int(noise.radius((copies - votes) / copies))
            touched = [comb(d, k) - comb(d - r, k) for r in range(d + 1)]
            # The worst one answers for the class where it sees words that will be replaced,
            # and for the other class whenever it sees one that was.
            kept = [votes - min(votes, lost) for lost in touched]
            wins = [2 * left > copies for left in kept]
            largest = max(r for r in range(d + 1) if all(wins[: r + 1]))
            assert claimed == largest, (d, k, votes)


def test_radii_and_tails_agree_with_exact_fractions() -> None:
    for d, k in ((12, 1), (60, 6), (200, 20), (500, 25)):
        noise = WordAblation(k=k).of_words(d)
        tails = noise.tail(np.arange(d + 1.0))
        for r in range(d + 1):
            exact = max(Fraction(0), Fraction(1, 2) - delta(d, k, r))
            assert abs(Fraction(float(tails[r])) - exact) < Fraction(1, 10**12)
            assert Fraction(float(tails[r])) <= exact
        q = Fraction(3, 20)
        exact_radius = max(
            r for r in range(d + 1) if q < Fraction(1, 2) - delta(d, k, r)
        )
        assert int(noise.radius(float(q))) == exact_radius


def test_a_mean_of_beta_over_all_words_would_claim_too_much() -> None:
    # RanMASK (Zeng et al. 2021) sharpens p - D > 1/2 to p - beta D > 1/2. beta is the share
    # of the class among the copies that show a changed word, which depends on the words that
    # an adversary will choose: its mean over all choices is no bound.
    d, k, r = 4, 1, 1
    # Each copy shows one word; three of the four have the class.
    votes = [1, 1, 1, 0]
    p = beta = Fraction(sum(votes), d)
    assert p - beta * delta(d, k, r) > Fraction(1, 2)
    # One of the three words is replaced.
    assert not p - Fraction(1, 4) > Fraction(1, 2)
    assert int(WordAblation(k=k).of_words(d).radius(float(1 - p))) == 0


def test_claims_by_the_padded_length_are_broken_by_enumeration() -> None:
    # The control: a text of 5 words judged as one of the 40 columns that it is padded to.
    d, k = 5, 2
    padded = int(WordAblation(k=k).of_words(40).radius(0.0))
    own = int(WordAblation(k=k).of_words(d).radius(0.0))
    assert share_that_can_be_lost(d, k, own) < Fraction(1, 2)
    assert share_that_can_be_lost(d, k, min(d, padded)) > Fraction(1, 2)
    assert padded > own


def test_a_mask_for_each_letter_tells_of_the_hidden_word() -> None:
    # The control: as many masks as a word has letters; copies that hide a changed word differ.
    def letters(words: list[str], k: int) -> Counter[str]:
        copies = Counter[str]()
        for kept in itertools.combinations(range(len(words)), k):
            parts = [
                word if place in kept else "_" * len(word)
                for place, word in enumerate(words)
            ]
            copies[" ".join(parts)] += 1
        return copies

    words = ["a", "good", "film"]
    changed = replaced(words, (1,))
    lost = Fraction((letters(words, 1) - letters(changed, 1)).total(), 3)
    assert lost > delta(3, 1, 1)
    assert share_that_can_be_lost(3, 1, 1) == delta(3, 1, 1)


def test_copies_keep_every_choice_of_words_alike_often() -> None:
    words, n = ["a", "bb", "ccc", "dddd", "e"], 20_000
    noise = WordAblation(k=2)
    copies = torch.empty(n, 3, 8)
    noise.draw(copies, text_of(words), STREAM)
    frequency = Counter(read(copies.numpy(), "_"))
    assert set(frequency) == set(every_copy(words, 2))
    assert stats.chisquare(list(frequency.values())).pvalue > 1e-3


def test_words_that_stay_are_the_same_whatever_follows_the_text() -> None:
    words = ["a", "bb", "ccc", "dddd", "e"]
    noise = WordAblation(k=2)
    texts = []
    for length in (5, 8, 30):
        copies = torch.empty(200, 3, length)
        noise.draw(copies, text_of(words, length), STREAM)
        texts.append(read(copies.numpy(), "_"))
        assert not bool(copies[..., 5:].any())
    assert texts[0] == texts[1] == texts[2]
    # A shorter run has the first copies of a longer one.
    few = torch.empty(20, 3, 8)
    noise.draw(few, text_of(words), STREAM)
    assert read(few.numpy(), "_") == texts[0][:20]


def test_how_many_words_are_kept() -> None:
    table = [
        (WordAblation(percent=10.0), {1: 1, 4: 1, 14: 1, 15: 2, 25: 3, 1000: 100}),
        (WordAblation(percent=0.1), {1: 1, 999: 1, 1500: 2}),
        (WordAblation(k=5), {1: 1, 4: 4, 5: 5, 6: 5, 1000: 5}),
    ]
    for noise, kept in table:
        for d, k in kept.items():
            assert noise.of_words(d).kept == k, (noise, d)
    # Nothing is proved where all words are seen.
    assert float(WordAblation(k=5).of_words(4).radius(0.0)) == 0.0


def test_a_text_is_read_back_as_it_was_written() -> None:
    for text in (
        "It was good.",
        "naïve  café\t日本語 \U0001f600",
        "a\ud800b c",
        "x" * 50,
    ):
        words = words_of(text)
        shape = (height_for(words), len(words) + 3)
        assert read(encoded(words, shape)[None], "_") == [" ".join(words)]


def test_the_spellings_of_the_noise() -> None:
    table = [
        ("ablation=5", WordAblation(k=5)),
        ("ablation=10%", WordAblation(percent=10.0)),
    ]
    for text, noise in table:
        assert on_words(make_noise(text)) == noise
        assert noise.text == text
        assert noise_from(noise.facts()) == noise
        assert on_words(noise) is noise
    # Of images, a share is a number of pixels.
    assert make_noise("ablation=10%").of((1, 8, 8)) == Ablation(6, d=64)
    assert noise_from(make_noise("ablation=10%").facts()) == make_noise("ablation=10%")


def test_what_is_refused() -> None:
    check_refusals(
        [
            (lambda: WordAblation(), Refusal(MissingValue, field="k")),
            (lambda: WordAblation(k=2, percent=1.0), Refusal(MissingValue, field="k")),
            (lambda: WordAblation(k=0), Refusal(BadValue, field="k")),
            (lambda: make_noise("ablation=0%"), Refusal(BadValue, "0")),
            (lambda: make_noise("ablation=101%"), Refusal(BadValue, "101")),
            (lambda: on_words(Gaussian(0.5)), Refusal(BadValue, field="noise")),
            (lambda: on_words(Uniform(0.5)), Refusal(BadValue, field="noise")),
            (lambda: WordAblation(k=2).of((3, 8, 8)), Refusal(BadValue, field="shape")),
            (lambda: WordAblation(k=2).radius(0.1), Refusal(BadValue)),
            (lambda: WordAblation(k=2).check(torch.zeros(1, 4)), Refusal(WrongData)),
            (
                lambda: noise_from({"name": "ablation", "parts": "words", "d": 4}),
                Refusal(BadValue),
            ),
        ]
    )
