"""A transformer of texts: what it sees of hidden words, that texts stand alone, its identity, and `hf:` folders."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import randsmooth as rs
from models.refusing import check_refusals
from models.text_networks import made_texts, saved, tokenizer_of, transformer
from randsmooth.errors import BadValue, NotFound, WrongModel
from randsmooth.models import TextNetwork
from randsmooth.models.adapters import text_network
from randsmooth.word_codes import HIDDEN, encoded
from values import Refusal


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return tokenizer_of(made_texts(50)[0])


@pytest.fixture(scope="module")
def network(tokenizer: Any) -> Any:
    return transformer(tokenizer)


def counts_of(table: rs.Certificates) -> Any:
    assert table.counts is not None
    return table.counts


def copies_of(texts: list[str], hidden: list[list[int]]) -> torch.Tensor:
    arrays = np.stack([encoded(text.split(), (4, 60)) for text in texts])
    for row, places in enumerate(hidden):
        arrays[row, :, places] = 0.0
        arrays[row, 0, places] = HIDDEN
    return torch.from_numpy(arrays)


def test_a_hidden_word_is_one_mask_however_many_pieces_it_has(
    network: Any, tokenizer: Any
) -> None:
    model = TextNetwork(network, tokenizer)
    seen = copies_of(["the lovely film", "the dull film"], [[], []])
    hidden = copies_of(["the lovely film", "the dull film"], [[1], [1]])
    pieces = [len(ids) for ids in model.tokens_of(model.texts(seen))]
    assert pieces == [7, 5]
    assert model.texts(hidden) == ["the [MASK] film"] * 2
    assert model.tokens_of(model.texts(hidden))[0].count(tokenizer.mask_token_id) == 1
    logits = model.answer(hidden)
    assert torch.equal(logits[0], logits[1])
    left_out = TextNetwork(network, tokenizer, mask="")
    assert left_out.texts(hidden) == ["the film"] * 2
    assert left_out.notes[0] != model.notes[0]


def test_answers_are_those_of_the_network_and_stand_alone(
    network: Any, tokenizer: Any
) -> None:
    model = TextNetwork(network, tokenizer)
    texts, _ = made_texts(70, seed=4)
    copies = copies_of(texts, [[] for _ in texts])
    logits = model.answer(copies)
    for row in (0, 33, 69):
        ids = tokenizer(texts[row], return_tensors="pt", truncation=True, max_length=40)
        with torch.inference_mode():
            expected = network(
                input_ids=ids["input_ids"], attention_mask=ids["attention_mask"]
            ).logits
        torch.testing.assert_close(
            logits[row : row + 1], expected, atol=1e-5, rtol=1e-5
        )
        # Bit by bit the same beside other texts, and by itself.
        assert torch.equal(model.answer(copies[row : row + 1])[0], logits[row])
    order = torch.randperm(70)
    assert torch.equal(model.answer(copies[order]), logits[order])


def test_a_text_that_is_too_long_is_cut_and_its_end_may_be_replaced(
    network: Any, tokenizer: Any
) -> None:
    model = TextNetwork(network, tokenizer)
    long = " ".join(["film"] * 50)
    assert model.limit == 40 and model.is_cut(long) and not model.is_cut("a film")
    other = " ".join(["film"] * 45 + ["awful"] * 5)
    logits = model.answer(copies_of([long, other], [[], []]))
    assert torch.equal(logits[0], logits[1])


def test_what_it_is_known_by(network: Any, tokenizer: Any) -> None:
    model = TextNetwork(network, tokenizer)
    assert model.weights_hash() == TextNetwork(network, tokenizer).weights_hash()
    # Calls leave settings of padding in a tokenizer, which are none of the model.
    tokenizer(["a film", "a"], padding=True, truncation=True, max_length=7)
    assert model.weights_hash() == TextNetwork(network, tokenizer).weights_hash()
    others = [
        TextNetwork(transformer(tokenizer, limit=30), tokenizer),
        TextNetwork(network, tokenizer_of(["a film of people"])),
    ]
    hashes = {model.weights_hash(), *(other.weights_hash() for other in others)}
    assert len(hashes) == 3
    turned = model.for_classes(["good", "bad"])
    copies = copies_of(["a dull film"], [[]])
    assert torch.equal(turned.answer(copies), model.answer(copies).flip(1))


def test_folders_of_transformers_are_certified(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    texts = rs.data.texts(*made_texts(4, seed=2))
    options: dict[str, Any] = {"noise": "ablation=30%", "n": 120, "n0": 20, "seed": 1}
    table = rs.certify(f"hf:{folder}", texts, **options)
    assert table.header.classes == ("bad", "good")
    assert table.header.model is not None
    assert table.header.model["notes"] == [
        "a hidden word is '[MASK]'",
        "a text is cut to 40 tokens",
    ]
    model = rs.load_model(f"hf:{folder}")
    assert isinstance(model, TextNetwork)
    again = rs.certify(model, texts, **options)
    assert np.array_equal(counts_of(again), counts_of(table))
    left_out = rs.certify(f"hf:{folder}", texts, **options, model_args={"mask": ""})
    assert left_out.header.model is not None
    assert left_out.header.model["notes"][0] == "hidden words are left out"
    # What declines is one of its classes.
    guard = rs.certify(f"hf:{folder}", texts, **options, refusal="bad")
    assert guard.header.refusal == 0
    assert np.array_equal(counts_of(guard), counts_of(table))


def test_what_is_refused(network: Any, tokenizer: Any, tmp_path: Path) -> None:
    unpadded = tokenizer_of(["a film"])
    unpadded.pad_token = None
    folder = saved(tmp_path / "model")
    for file in folder.glob("tokenizer*"):
        file.unlink()
    check_refusals(
        [
            (lambda: rs.words(network.train(), tokenizer), Refusal(WrongModel)),
            (lambda: rs.words(network.eval(), unpadded), Refusal(WrongModel)),
            (
                lambda: rs.words(network, tokenizer, classes=["a", "b", "c"]),
                Refusal(BadValue, field="classes"),
            ),
            (lambda: rs.words(len, tokenizer), Refusal(WrongModel, field="tokenizer")),
            (
                lambda: rs.load_model(f"hf:{folder}"),
                Refusal(NotFound, "tokenizer.json"),
            ),
        ]
    )


def test_texts_are_filled_up_to_few_shapes(network: Any, tokenizer: Any) -> None:
    # Of any lengths: a batch has one of the lengths 16, 32 and the limit.
    groups = text_network._by_length([[1] * n for n in (1, 16, 17, 32, 33, 40)], 40)
    assert groups == [(16, [0, 1]), (32, [2, 3]), (40, [4, 5])]
