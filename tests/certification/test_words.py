"""Texts are certified by their own words: the level, the evidence, runs that go on or are shared out, and attacks."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import randsmooth as rs
from certification.runs import COLUMNS
from models.refusing import check_refusals
from models.text_networks import counting_words, made_texts
from randsmooth.certificates import Certificates, from_counts
from randsmooth.errors import BadValue, MissingValue, WrongData, WrongModel
from randsmooth.noise import WordAblation
from values import Refusal

NOISE = "ablation=20%"
OPTIONS: dict[str, Any] = {"noise": NOISE, "n": 400, "n0": 50, "seed": 3}


@pytest.fixture(scope="module")
def pipeline() -> Any:
    return counting_words()


@pytest.fixture(scope="module")
def texts() -> rs.data.Texts:
    return rs.data.texts(*made_texts(12, seed=1), name="made")


@pytest.fixture(scope="module")
def table(pipeline: Any, texts: rs.data.Texts) -> Certificates:
    return rs.certify(pipeline, texts, **OPTIONS)


def counts_of(table: Certificates) -> Any:
    assert table.counts is not None
    return table.counts


def equal(a: Certificates, b: Certificates) -> bool:
    columns = (*COLUMNS, "words")
    return all(np.array_equal(getattr(a, c), getattr(b, c)) for c in columns)


def test_words_are_counted_and_radii_follow_from_them(
    table: Certificates, texts: rs.data.Texts
) -> None:
    d = [len(text.split()) for text in texts.texts]
    assert table.words is not None and table.words.tolist() == d
    assert table.header.noise == WordAblation(percent=20.0) and table.norm == "words"
    assert table.q is not None
    for words, q, radius in zip(d, table.q, table.radius, strict=True):
        assert radius == float(WordAblation(percent=20.0).of_words(words).radius(q))
    assert float(table.radius.max()) >= 2.0


def test_counts_of_a_text_do_not_depend_on_the_texts_beside_it(
    pipeline: Any, texts: rs.data.Texts, table: Certificates
) -> None:
    for place in (0, 5, 11):
        alone = rs.certify(pipeline, texts, **OPTIONS, only=((place,), "one"))
        row = table.rows(np.array([place]))
        assert (
            np.array_equal(counts_of(alone), counts_of(row))
            and alone.words == row.words
        )
        assert np.array_equal(alone.radius, row.radius)


def test_one_text_at_a_time_has_the_certificates_of_the_table(
    pipeline: Any, texts: rs.data.Texts, table: Certificates
) -> None:
    smoothed = rs.SmoothedClassifier(
        rs.words(pipeline),
        **OPTIONS | {"noise": WordAblation(percent=20.0)},
        shape=texts.spec.shape,
    )
    x, _ = texts.batch(range(12))
    certified = smoothed.certify(x)
    assert np.array_equal(certified.counts, counts_of(table))
    assert np.array_equal(certified.radius, table.radius)
    answers = smoothed.predict(x, n=500)
    clear = answers != rs.ABSTAIN
    assert clear.any()
    most = counts_of(table).argmax(axis=1)
    assert np.array_equal(answers[clear], most[clear])


def test_the_level_is_kept_just_outside_the_radius_but_not_by_another_length() -> None:
    # Of texts with d words, p_A is as large as a radius of R does not allow by a hair: so R
    # is claimed wrongly whenever it is claimed.
    rng = np.random.default_rng(0)
    n, alpha, runs, R = 500, 0.05, 3000, 2
    words = rng.integers(12, 60, runs)
    noise = WordAblation(percent=20.0)
    p_A = np.array([1.0 - float(noise.of_words(int(d)).tail(R)) for d in words])
    n_A = rng.binomial(n, p_A)
    label = np.zeros(runs, np.int64)
    counts = np.stack([n_A, n - n_A], axis=1)

    def wrong(judged_words: Any) -> float:
        table = from_counts(
            counts,
            picked=label,
            label=label,
            noise=noise,
            words=judged_words,
            alpha=alpha,
        )
        return float((table.radius >= R).mean())

    share = wrong(words)
    deviation = (alpha * (1.0 - alpha) / runs) ** 0.5
    assert share <= alpha + 3.0 * deviation
    # As many copies keep a word as of a text with 60 words: k of the text's own d.
    assert share > 0.0
    kept = WordAblation(k=4)
    p_A = np.array([1.0 - float(kept.of_words(int(d)).tail(R)) for d in words])
    n_A = rng.binomial(n, np.minimum(p_A, 1.0))
    counts = np.stack([n_A, n - n_A], axis=1)
    noise = kept
    assert wrong(words) <= alpha + 3.0 * deviation
    # The control: all are judged by the padded length.
    assert wrong(np.full(runs, 60)) > 0.3


def test_no_replacement_within_the_radius_changes_a_short_text() -> None:
    # All replacements by words of the classifier: the smoothed class is computed, not sampled.
    words = ["good", "good", "good", "good", "good", "good", "film"]
    texts = rs.data.texts([" ".join(words), "bad film"], [1, 0])

    def likes(batch: list[str]) -> list[int]:
        return [
            int(text.split().count("good") > text.split().count("bad"))
            for text in batch
        ]

    likes_or_not = rs.words(likes, num_classes=2)
    table = rs.certify(
        likes_or_not, texts, noise="ablation=1", n=2000, identity="likes", seed=0
    )
    radius = int(table.radius[0])
    assert table.predict[0] == 1 and radius == 2

    def share(of: Sequence[str]) -> float:
        return sum(likes([word])[0] for word in of) / len(of)

    for places in itertools.combinations(range(len(words)), radius):
        for others in itertools.product(["bad", "film", "good"], repeat=radius):
            changed = list(words)
            for place, word in zip(places, others, strict=True):
                changed[place] = word
            assert share(changed) > 0.5
    beyond = ["bad"] * (radius + 1) + words[radius + 1 :]
    assert share(beyond) < 0.5


def test_declined_answers_are_a_class_of_their_own() -> None:
    made, names = made_texts(6)
    texts = rs.data.texts(made, [int(name == "good") for name in names])

    def guard(batch: list[str]) -> list[int | None]:
        answers: list[int | None] = []
        for text in batch:
            if "awful" in text.split():
                answers.append(None)
            else:
                answers.append(int("dull" not in text.split()))
        return answers

    table = rs.certify(
        rs.words(guard, num_classes=2),
        texts,
        **OPTIONS,
        identity="guard",
        refusal="class",
    )
    assert table.header.refusal == 2 and table.counts is not None
    assert int(table.counts[:, 2].sum()) > 0 and bool((table.radius > 0.0).any())


def test_attacks_replace_words_and_respect_the_radius(
    pipeline: Any, texts: rs.data.Texts, table: Certificates
) -> None:
    # A search that looks for words is deterministic by its seed.
    within = rs.certification.attack(
        pipeline, table, texts, take=4, n=2000, steps=8, m=200
    )
    beyond = rs.certification.attack(
        pipeline, table, texts, take=4, n=2000, steps=8, m=200, scale=4.0
    )
    assert not within.failed.any() and not within.changed.any()
    assert beyond.changed.sum() >= 2 and not beyond.failed.any()
    for attacks, scale in ((within, 1.0), (beyond, 4.0)):
        for row, text in enumerate(attacks.texts):
            before = texts.texts[attacks.idx[row]].split()
            after = text.split()
            different = sum(a != b for a, b in zip(before, after, strict=True))
            assert attacks.distance[row] == different <= scale * attacks.radius[row]
            assert set(after) <= set(texts.vocabulary())


def test_what_is_refused(pipeline: Any, texts: rs.data.Texts) -> None:
    numbers = ([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    check_refusals(
        [
            (
                lambda: rs.certify(pipeline, texts, sigma=0.5, n=100),
                Refusal(BadValue, "gaussian", field="noise"),
            ),
            (
                lambda: rs.certify(
                    pipeline, texts, noise=NOISE, n=100, rule="radius=2"
                ),
                Refusal(BadValue, field="rule"),
            ),
            (
                lambda: rs.certify(
                    rs.words(pipeline), numbers, noise="ablation=1", n=100
                ),
                Refusal(WrongModel, field="text_column"),
            ),
            (
                lambda: rs.certify(rs.load_model("demo"), texts, noise=NOISE, n=100),
                Refusal(WrongModel),
            ),
            (
                lambda: rs.words(rs.load_model("demo")),
                Refusal(MissingValue, field="tokenizer"),
            ),
            (lambda: rs.data.texts(["a b", "  "]), Refusal(WrongData, "text 1")),
            (lambda: rs.data.texts(["a b", None]), Refusal(WrongData, "text 1")),  # type: ignore[list-item]
            (lambda: rs.data.texts(["a b"], [0, 1]), Refusal(WrongData)),
        ]
    )
