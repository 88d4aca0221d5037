"""Documents of a stranger: a sentence for whatever they hold, before anything is built of it."""

import json
import os
from pathlib import Path

import pytest

from randsmooth.documents import MOST_BYTES, MOST_DEPTH, parse_json, parse_yaml, read_file, shown
from randsmooth.errors import InputError

JSON = [
    pytest.param("[" * 100_000, "nested deeper", id="deep"),
    pytest.param('{"a":' * 100_000, "nested deeper", id="deep mapping"),
    pytest.param('{"a": 1, "a": 2}', "twice", id="key twice"),
    pytest.param("[NaN]", "no number", id="NaN"),
    pytest.param("[-Infinity]", "no number", id="infinity"),
    pytest.param("[1e999]", "too large", id="overflow"),
    pytest.param("9" * 5000, "not JSON", id="digits without end"),
    pytest.param(b'"\xff"', "not JSON", id="not UTF-8"),
    pytest.param("9" * 400, "too large", id="no float"),
    pytest.param('["\\ud83d"]', "not JSON", id="half an escaped character"),
    pytest.param('{"\\uDE00": 1}', "not JSON", id="half an escaped character as key"),
    pytest.param("", "not JSON", id="empty"),
    pytest.param("\ud800", "not JSON", id="half a character"),
    pytest.param(b" " * (MOST_BYTES + 1), "bytes long", id="long"),
]

YAML = [
    pytest.param("[" * 3000, "nested deeper", id="deep"),
    pytest.param("\n".join("  " * i + "a:" for i in range(500)), "nested deeper", id="deep mapping"),
    pytest.param("a: 1\na: 2", "twice", id="key twice"),
    pytest.param("a: &x [1]\nb: *x", "anchors", id="anchor"),
    pytest.param("a: &x 1", "anchors", id="unused anchor"),
    pytest.param("? [a]\n: 1", "plain word", id="list as key"),
    pytest.param("a: !!int ''", "not YAML", id="empty integer"),
    pytest.param("a: 2026-99-99", "not YAML", id="impossible date"),
    pytest.param("a: !!timestamp b", "not YAML", id="no time"),
    pytest.param("a: !!python/object:os.system {}", "not YAML", id="object"),
    pytest.param("a: " + "1:" * 100_000 + "1", "too long a number", id="base 60"),
    pytest.param("a: 0x" + "f" * 5000, "too long a number", id="hexadecimal without end"),
    pytest.param('a: "\\uD800"', "not YAML", id="half a character"),
    pytest.param("a: 1\n---\nb: 1", "not YAML", id="two documents"),
    pytest.param(b"\xff\xfe\xfd", "not YAML", id="not UTF-8"),
    pytest.param("a: \x00", "not YAML", id="control character"),
]


@pytest.mark.parametrize(("text", "says"), JSON)
def test_refuses_json_in_a_sentence(text: str | bytes, says: str) -> None:
    with pytest.raises(InputError, match=says) as told:
        parse_json(text, "header of t.parquet")
    assert str(told.value).startswith("header of t.parquet") and len(str(told.value)) < 400


@pytest.mark.parametrize(("text", "says"), YAML)
def test_refuses_yaml_in_a_sentence(text: str | bytes, says: str) -> None:
    with pytest.raises(InputError, match=says) as told:
        parse_yaml(text, "run.yaml")
    assert str(told.value).startswith("run.yaml") and len(str(told.value)) < 400


def test_json_means_what_it_says() -> None:
    document = {"a": [1, 2.5, None, True, "[[[[{{{{" * 100 + '\\"'], "b": {"c": [[[]]] * 50}}
    assert parse_json(json.dumps(document), "x") == document
    assert parse_json(json.dumps(document).encode(), "x") == document


def test_escaped_pairs_are_one_character() -> None:
    assert parse_json(r'{"\ud83d\ude00": ["\uD83D\uDE00"]}', "x") == {"\U0001f600": ["\U0001f600"]}


def test_reads_files_of_a_size(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1234")
    assert read_file(tmp_path / "a", most=4) == b"1234"
    with pytest.raises(InputError, match="a is 4 bytes long; expected at most 3"):
        read_file(tmp_path / "a", most=3)


def test_reads_nothing_but_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "none", tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InputError, match=f"no file at {path}"):
            read_file(path)


def test_json_as_deep_as_allowed() -> None:
    text = "[" * MOST_DEPTH + "]" * MOST_DEPTH
    assert parse_json(f"[{','.join('[]' for _ in range(1000))}]", "x") == [[]] * 1000
    parse_json(text, "x")
    with pytest.raises(InputError, match="nested"):
        parse_json(f"[{text}]", "x")


def test_yaml_means_what_it_says() -> None:
    text = "verb: train\nset: {lr: 0.1, lr_milestones: [50, 100]}\nclasses:\n  - a\n  - b\nseed: 0\n"
    assert parse_yaml(text, "x") == {
        "verb": "train",
        "set": {"lr": 0.1, "lr_milestones": [50, 100]},
        "classes": ["a", "b"],
        "seed": 0,
    }
    assert parse_yaml("", "x") is None


def test_words_of_a_parser_are_one_short_line() -> None:
    assert shown("a\n\x1b[31mb\t c") == "a [31mb c"
    assert len(shown("x" * 10_000)) == 200
