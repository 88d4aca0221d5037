"""Notes: kinds and facts as values, and a sentence for each kind."""

import ast
import json
import pickle
import string
from pathlib import Path

import pytest

import randsmooth
from randsmooth.notes import WORDING, Note

# Names of constants that hold kinds, where the code chooses between two.
KINDS_BY_NAME = {
    "slow_bfloat16",
    "slow_bfloat16_on_gpu",
    "gpus_share_batches",
    "processes_share_batches",
}


def given_kinds() -> set[str]:
    """The kinds that the code of the package gives."""
    kinds = set(KINDS_BY_NAME)
    for path in Path(randsmooth.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            kind = node.args[0]
            is_note = isinstance(node.func, ast.Name) and node.func.id == "Note"
            if is_note and isinstance(kind, ast.Constant):
                kinds.add(str(kind.value))
    return kinds - {"unheard_of"}


def test_every_kind_is_given_somewhere_and_has_a_sentence() -> None:
    assert given_kinds() == {*WORDING}


def test_a_template_says_its_facts() -> None:
    """Each fact that a template names is in its sentence; settings stand between the parts."""
    for kind, wording in WORDING.items():
        if callable(wording):
            continue
        parts = wording if isinstance(wording, tuple) else (wording,)
        templates = [part for part in parts if isinstance(part, str)]
        names = {
            name
            for template in templates
            for _, name, form, _ in string.Formatter().parse(template)
            if name is not None
        }
        facts = dict.fromkeys(names, 7001)
        assert str(Note(kind, **facts)).count("7") >= len(names), kind


def test_a_note_survives_pickle_and_json() -> None:
    note = Note("files_left_out", root="a", number=3, suffixes={".txt": 2}, first="b")
    assert pickle.loads(pickle.dumps(note)) == note
    assert Note.from_dict(json.loads(json.dumps(note.to_dict()))) == note
    assert note != Note("unlabelled") and str(note) == str(
        pickle.loads(pickle.dumps(note))
    )


def test_names_with_braces_are_no_templates() -> None:
    note = Note("files_left_out", root="{a}", number=2, suffixes={".{x}": 2}, first="b")
    assert "{a}" in str(note) and ".{x}" in str(note)
    note = Note("unlike_preset", changes={"set": ({"a": 1}, {})})
    assert "{'a': 1}" in str(note)


def test_a_note_without_its_facts_is_refused() -> None:
    """As pytest-xdist copies warnings: of their class and `args`, or else as text."""
    for note in (
        Note("usual_sigma", sigma=0.25),
        Note("backend_tried", backend="torch", batch=8, rates={}),
    ):
        with pytest.raises(TypeError, match=note.kind):
            Note(*note.args)


def test_a_note_of_no_kind_is_refused() -> None:
    with pytest.raises(KeyError, match="unheard_of"):
        Note("unheard_of")
