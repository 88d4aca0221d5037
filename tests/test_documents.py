"""Documents of a stranger: a sentence for whatever they hold, before anything is built of it."""

import json
import os
from pathlib import Path

from models.refusing import problem_of, refusal
from randsmooth.documents import (
    MOST_BYTES,
    MOST_DEPTH,
    MOST_VALUES,
    MOST_YAML_BYTES,
    parse_json,
    parse_yaml,
    read_file,
)
from randsmooth.errors import WrongFile
from values import Refusal

JSON: list[tuple[str | bytes, str]] = [
    ("[" * 100_000, "nested deeper"),
    ('{"a":' * 100_000, "nested deeper"),
    ("[" * (MOST_DEPTH + 1) + "]" * (MOST_DEPTH + 1), "nested deeper"),
    ('{"a": 1, "a": 2}', "twice"),
    ("[-Infinity]", "not JSON"),
    ("[1e999]", "not JSON"),
    ("9" * 5000, "300 digits"),
    ("9" * 400, "300 digits"),
    ('{"\\uDE00": 1}', "not JSON"),
    ("", "not JSON"),
    ("\ud800", "not JSON"),
    (b" " * (MOST_BYTES + 1), "bytes long"),
    ("[" + "0," * MOST_VALUES + "0]", f"at most {MOST_VALUES:,}"),
    # Whoever looks for the one key among all, for each of them, takes minutes.
    (
        "{" + "".join(f'"{k}": 0, ' for k in range(100_000)) + '"99999": 0}',
        "'99999' is given twice",
    ),
]

YAML: list[tuple[str | bytes, str]] = [
    ("[" * 3000, "nested deeper"),
    ("\n".join("  " * i + "a:" for i in range(300)), "nested deeper"),
    ("a: 1\na: 2", "twice"),
    ("a: &x [1]\nb: *x", "anchors"),
    ("? [a]\n: 1", "plain word"),
    ("a: !!int ''", "not YAML"),
    ("a: !!python/object:os.system {}", "not YAML"),
    ("a: " + "1:" * 50_000 + "1", "too long a number"),
    ("a: 0x" + "f" * 5000, "too long a number"),
    ('a: "\\uD800"', "not YAML"),
    (b"\xff\xfe\xfd", "not YAML"),
    ("- a\n" * MOST_YAML_BYTES, f"at most {MOST_YAML_BYTES:,}"),
    ("".join(f"k{k}: \n" for k in range(8000)) + "k7999:", "'k7999' is given twice"),
    ("a: !!set {b}", "plain value"),
    ("a: !!binary aGk=", "plain value"),
    ("a: !!omap [b: 1]", "plain value"),
]


def test_what_is_damaged_or_malicious_is_refused_in_a_sentence() -> None:
    for parse, cases in ((parse_json, JSON), (parse_yaml, YAML)):
        for text, says in cases:
            said = refusal(parse, text, "a file")
            assert says in said and said.startswith("a file") and len(said) < 400, text[
                :40
            ]


def test_documents_mean_what_they_say() -> None:
    document = {
        "a": [1, 2.5, None, True, "[[[[{{{{" * 100 + '\\"'],
        "b": {"c": [[[]]] * 50},
    }
    assert (
        parse_json(json.dumps(document), "x")
        == document
        == parse_json(json.dumps(document).encode(), "x")
    )
    assert parse_json(r'{"\ud83d\ude00": ["\uD83D\uDE00"]}', "x") == {
        "\U0001f600": ["\U0001f600"]
    }
    assert parse_json(f"[{','.join('[]' for _ in range(1000))}]", "x") == [[]] * 1000
    parse_json("[" * MOST_DEPTH + "]" * MOST_DEPTH, "x")
    text = "verb: train\nset: {lr: 0.1, lr_milestones: [50, 100]}\nclasses:\n  - a\n  - b\nseed: 0\n"
    settings = {"lr": 0.1, "lr_milestones": [50, 100]}
    assert parse_yaml(text, "x") == {
        "verb": "train",
        "set": settings,
        "classes": ["a", "b"],
        "seed": 0,
    }
    assert parse_yaml("", "x") is None
    for date in (
        "2024-05-01",
        "2024-05-01 10:00:00",
        "0000-00-00",
    ):  # the name of a folder, say, and no date of ours
        assert parse_yaml(f"out: {date}", "x") == {"out": date}


def test_only_files_of_a_size_are_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1234")
    assert read_file(tmp_path / "a", most=4) == b"1234"
    problem = problem_of(read_file, tmp_path / "a", most=3)
    Refusal(WrongFile).check(problem)
    others = [tmp_path, tmp_path / "none"]
    if os.name == "posix":
        os.mkfifo(tmp_path / "pipe")
        others += [tmp_path / "pipe", Path("/dev/zero")]
    for path in others:
        assert f"no file at {path}" in refusal(read_file, path)
