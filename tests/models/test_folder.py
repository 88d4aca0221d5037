"""Model folders: bit-equal round trips, nothing half-written that loads, every damage named."""

import json
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import ModelCard
from safetensors.torch import load_file, save_file

from randsmooth.errors import InputError, Note
from randsmooth.models import Classifier, check_folder, load, save, stored, weights_hash

PROVENANCE = {
    "dataset": "cifar10",
    "sigma": 0.25,
    "method": "consistency",
    "hyperparameters": {"lbd": 20, "eta": 0.5},
    "versions": {"randsmooth": "0.1.0", "torch": "2.13.0"},
}


def _model(seed: int = 0, arch: str = "resnet8") -> Classifier:
    torch.manual_seed(seed)
    return Classifier(
        arch=arch,
        classes=["cat", "dog", "owl"],
        shape=[3, 32, 32],
        mean=[0.5, 0.4, 0.3],
        std=[0.2, 0.2, 0.1],
        provenance=PROVENANCE,
    )


def _small() -> Classifier:
    return Classifier(
        arch="small-cnn", classes=["a", "b"], shape=[1, 8, 8], mean=[0.5], std=[0.2], provenance=PROVENANCE
    )


def _trained() -> Classifier:
    """A model whose batch-norm statistics are not the initial ones."""
    model = _model()
    model(torch.rand(8, 3, 32, 32))
    return model


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save(_model(), tmp_path / "model")
    return tmp_path / "model"


def test_round_trip_is_bit_equal(tmp_path: Path) -> None:
    model = _trained()
    save(model, tmp_path / "new" / "model")
    back = load(str(tmp_path / "new" / "model"))
    x = torch.rand(4, 3, 32, 32)
    assert not back.training
    assert torch.equal(back(x), model.eval()(x))
    assert back.config == model.config
    assert weights_hash(back) == weights_hash(model)


def test_a_folder_holds_three_files_and_no_pickle(saved: Path) -> None:
    assert {path.name for path in saved.iterdir()} == {"config.json", "model.safetensors", "README.md"}
    assert len({path.stat().st_mode for path in saved.iterdir()}) == 1


def test_saving_again_replaces_the_model_and_its_card_but_nothing_else(saved: Path) -> None:
    (saved / "log.txt").write_text("kept")
    other = _model(seed=1)
    other.provenance = {"sigma": 1.0}
    save(other, saved)
    assert weights_hash(load(saved)) == weights_hash(other)
    assert "sigma = 1.0" in (saved / "README.md").read_text()
    assert (saved / "log.txt").read_text() == "kept"


def test_loading_leaves_the_global_generator_alone(saved: Path) -> None:
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    load(saved)
    assert torch.equal(torch.rand(3), expected)


def test_a_failure_while_writing_leaves_the_old_model(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Classifier, "generate_model_card", fail)  # the last thing written
    with pytest.raises(OSError, match="disk full"):
        save(_model(seed=1), saved)
    assert weights_hash(load(saved)) == weights_hash(_model())
    assert len(list(saved.iterdir())) == 3


@pytest.mark.parametrize("killed_at", [0, 1, 2])
def test_a_kill_between_the_renames_leaves_nothing_that_loads(
    saved: Path, monkeypatch: pytest.MonkeyPatch, killed_at: int
) -> None:
    moved = 0
    real = Path.replace

    def replace(path: Path, target: Path) -> Path:
        nonlocal moved
        if moved == killed_at:
            raise KeyboardInterrupt
        moved += 1
        return real(path, target)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(KeyboardInterrupt):
        save(_model(seed=1), saved)
    with pytest.raises(InputError, match=r"config.json is missing.*interrupted"):
        load(saved)


def test_hash_ignores_where_and_how_weights_lie() -> None:
    model = _trained()
    expected = weights_hash(model)
    assert expected.startswith("sha256:")
    assert len(expected) == len("sha256:") + 64
    compiled: Any = torch.compile(model, backend="eager")
    assert weights_hash(compiled) == expected
    assert weights_hash(model.to(memory_format=torch.channels_last)) == expected  # type: ignore[call-overload]


def test_hash_sees_one_changed_number_a_type_and_a_name() -> None:
    linear = torch.nn.Linear(2, 2)
    hashes = {weights_hash(linear), weights_hash(torch.nn.Sequential(linear))}
    with torch.no_grad():
        linear.weight[0, 0] += 1
    hashes |= {weights_hash(linear), weights_hash(linear.double())}
    assert len(hashes) == 4


def test_channels_last_weights_are_saved(tmp_path: Path) -> None:
    save(_model().to(memory_format=torch.channels_last), tmp_path / "model")  # type: ignore[call-overload]
    assert weights_hash(load(tmp_path / "model")) == weights_hash(_model())


def test_the_card_tells_what_it_is_and_how_to_certify(saved: Path) -> None:
    card = ModelCard.load(saved / "README.md")
    for phrase in (
        "resnet8 on cifar10",
        "logits are not certified",
        "3x32x32",
        "cat, dog, owl",
        "sigma = 0.25",
        "| method | consistency |",
        "lbd 20, eta 0.5",
        "torch 2.13.0",
        "randsmooth.models.load(",
        "randsmooth.SmoothedClassifier(model, sigma=0.25)",
        ".certify(x)",
        "randsmooth certify FOLDER",
    ):
        assert phrase in card.text
    assert (card.data.library_name, card.data.license) == ("randsmooth", "apache-2.0")
    assert "randomized-smoothing" in card.data.tags


def test_a_card_without_provenance_says_so(tmp_path: Path) -> None:
    model = _model()
    model.provenance = {}
    save(model, tmp_path / "model")
    text = (tmp_path / "model" / "README.md").read_text()
    assert "is not recorded" in text
    assert "Nothing is recorded" in text


def _rewrite(path: Path, **changes: object) -> None:
    """Edit a config.json as someone does who means it: without digests."""
    unsign(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def unsign(config: Path) -> None:
    """Make it one of the folders that were saved before there were digests."""
    told = json.loads(config.read_text())
    config.write_text(json.dumps({key: value for key, value in told.items() if key not in ("weights", "digest")}))


def _rewrite_weights(folder: Path, value: float) -> None:
    unsign(folder / "config.json")
    weights = load_file(folder / "model.safetensors")
    weights["network.fc.bias"][0] = value
    save_file(weights, folder / "model.safetensors")


def _only_pickle(path: Path) -> None:
    (path / "model.safetensors").rename(path / "pytorch_model.bin")


def _truncate(path: Path) -> None:
    unsign(path / "config.json")
    weights = path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])


def _emptied(folder: Path) -> None:
    unsign(folder / "config.json")
    (folder / "model.safetensors").write_bytes(b"")


DAMAGE = [
    (lambda p: (p / "config.json").unlink(), "config.json is missing"),
    (lambda p: (p / "config.json").write_text('{"arch":'), "config.json is not JSON"),
    (lambda p: (p / "config.json").write_text('{"model_type": "bert"}'), "found model_type"),
    (lambda p: (p / "config.json").write_text("[]"), "found list"),
    (lambda p: _rewrite(p / "config.json", later=1), "not written by this randsmooth.*later"),
    (lambda p: _rewrite(p / "config.json", arch="resnet9"), "config.json: resnet9"),
    (lambda p: _rewrite(p / "config.json", shape="3x32x32"), "config.json: shape='3x32x32'"),
    (lambda p: _rewrite(p / "config.json", arch=8), "config.json: arch=8: expected the name"),
    (lambda p: _rewrite(p / "config.json", arch="resnet9998"), "network it describes is far larger than the 78,268"),
    (lambda p: _rewrite(p / "config.json", arch="small-cnn", shape=[3, 9000, 9000]), "far larger than|can be built"),
    (lambda p: _rewrite(p / "config.json", arch="lenet", shape=[3, 16384, 16384]), "far larger than|can be built"),
    (lambda p: _rewrite(p / "config.json", shape=[3, 10**9, 10**9]), "at most 1024 channels and a side of 16384"),
    (lambda p: _rewrite(p / "config.json", std=[1e-300] * 3), "expected positive numbers"),
    (lambda p: _rewrite(p / "config.json", mean=[1e300] * 3), "expected 3 finite numbers"),
    (lambda p: _rewrite(p / "config.json", classes=["a", "b" * 2000, "c"]), "has 2,000 characters"),
    (lambda p: (p / "config.json").write_text("[" * 100_000), "config.json is nested deeper than"),
    (lambda p: (p / "config.json").write_text('{"arch": Infinity}'), "config.json is not JSON"),
    (lambda p: (p / "config.json").write_bytes(b" " * 2**23), "config.json is 8,388,608 bytes long"),
    (lambda p: _rewrite_weights(p, torch.inf), "model.safetensors holds NaN or infinity in 'network.fc.bias'"),
    (lambda p: _rewrite_weights(p, torch.nan), "model.safetensors holds NaN or infinity in 'network.fc.bias'"),
    (lambda p: _rewrite(p / "config.json", arch="resnet14"), "does not fit.*network.layer1.1.*found nothing"),
    (
        lambda p: _rewrite(p / "config.json", classes=["a", "b"]),
        r"does not fit.*network.fc.bias.*\(2,\).*\(3,\)",
    ),
    (lambda p: (p / "model.safetensors").unlink(), "model.safetensors is missing: convert"),
    (_only_pickle, "pytorch_model.bin is pickle, which can run code and is never loaded"),
    (_truncate, "model.safetensors is damaged"),
    (_emptied, "safetensors is damaged"),
]


@pytest.mark.filterwarnings("ignore:.*without digests")
@pytest.mark.parametrize(("damage", "message"), DAMAGE)
def test_a_damaged_folder_is_refused(saved: Path, damage: Callable[[Path], object], message: str) -> None:
    damage(saved)
    with pytest.raises(InputError, match=message):
        load(saved)


def test_a_path_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "none", tmp_path / "file"):
        with pytest.raises(InputError, match="is not a folder"):
            load(path)
    with pytest.raises(InputError, match="a file is in the way"):
        save(_model(), tmp_path / "file")


def test_a_hub_id_is_downloaded_without_any_pickle(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def download(repo_id: str, *, allow_patterns: list[str]) -> str:
        assert (repo_id, allow_patterns) == ("user/name", ["config.json", "model.safetensors"])
        return str(saved)

    monkeypatch.setattr(stored, "snapshot_download", download)
    assert load("user/name").arch == "resnet8"


def test_a_hub_that_does_not_answer_is_an_input_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def download(*_: object, **__: object) -> str:
        raise OSError("no network\nat all")

    monkeypatch.setattr(stored, "snapshot_download", download)
    with pytest.raises(InputError, match=r"no folder user/name.*\(no network\): check the path"):
        load("user/name")


@pytest.mark.filterwarnings("ignore:.*without digests")
def test_the_mixins_own_loader_is_as_strict(saved: Path) -> None:
    assert weights_hash(Classifier.from_pretrained(saved)) == weights_hash(_model())
    _rewrite(saved / "config.json", arch="resnet14")
    with pytest.raises(InputError, match="does not fit"):
        Classifier.from_pretrained(saved)
    (saved / "config.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match="nested deeper"):
        Classifier.from_pretrained(saved)


EDITS = {  # of values that fit, and mean something else
    "mean": [0.5, 0.4, 0.31],
    "std": [0.2, 0.1, 0.1],
    "classes": ["dog", "cat", "owl"],
    "provenance": PROVENANCE | {"sigma": 0.5},
    "weights": "sha256:" + "0" * 64,
    "digest": "sha256:" + "0" * 64,
}


@pytest.mark.parametrize("key", EDITS)
def test_a_config_that_is_not_as_it_was_written_is_refused(saved: Path, key: str) -> None:
    config = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps(config | {key: EDITS[key]}))
    with pytest.raises(InputError, match=r"config.json is not as it was written.*edited on purpose, delete.*'digest'"):
        load(saved)


def test_layout_and_order_of_a_config_do_not_matter(saved: Path) -> None:
    config = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps(dict(reversed(config.items()))))
    assert load(saved).config == _model().config


@pytest.mark.parametrize("lost", ["weights", "digest"])
def test_half_a_signature_is_none(saved: Path, lost: str) -> None:
    config = json.loads((saved / "config.json").read_text())
    del config[lost]
    (saved / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match="not written by this randsmooth"):
        load(saved)


def test_weights_of_another_model_are_refused(saved: Path, tmp_path: Path) -> None:
    save(_model(seed=1), tmp_path / "other")
    (tmp_path / "other" / "model.safetensors").replace(saved / "model.safetensors")
    with pytest.raises(InputError, match=r"model.safetensors is not the file that config.json was written with"):
        load(saved)


def test_a_folder_without_digests_is_read_with_a_note_and_signed_by_saving(saved: Path, tmp_path: Path) -> None:
    unsign(saved / "config.json")
    with pytest.warns(Note, match="saved without digests"):
        model = load(saved)
    assert model.config == _model().config and weights_hash(model) == weights_hash(_model())
    save(model, tmp_path / "again")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(tmp_path / "again")


def test_what_was_checked_is_said(saved: Path) -> None:
    assert check_folder(saved) == (
        "model folder: resnet8 for 3 classes, 78,268 finite numbers that fit it; configuration and weights are as they "
        "were saved"
    )
    unsign(saved / "config.json")
    with pytest.warns(Note):
        assert check_folder(saved).endswith("; it has no digests")
    (saved / "model.safetensors").write_bytes(b"")
    with pytest.raises(InputError, match="damaged"):
        check_folder(saved)


def flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def _flips(folder: Path, count: int, seed: int) -> int:
    """How many of `count` single flipped bits in a model folder load, all of which must leave the same model."""
    rng = random.Random(seed)
    right, loaded = load(folder), 0
    for _ in range(count):
        path = folder / rng.choice(["config.json", "model.safetensors"])
        content = path.read_bytes()
        path.write_bytes(flipped(content, rng.randrange(8 * len(content))))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = load(folder)
        except InputError as error:
            assert str(folder) in str(error)
        else:
            loaded += 1
            assert found.config == right.config and weights_hash(found) == weights_hash(right)
        path.write_bytes(content)
    return loaded


def test_no_flipped_bit_loads_another_model(tmp_path: Path) -> None:
    save(_small(), tmp_path / "m")
    assert _flips(tmp_path / "m", 200, seed=0) < 20  # which are among the blanks of config.json


@pytest.mark.slow
def test_no_flipped_bit_of_thousands_loads_another_model(tmp_path: Path) -> None:
    save(_small(), tmp_path / "m")
    assert _flips(tmp_path / "m", 4000, seed=1) < 400


def test_weights_of_another_type_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"torch.float16; expected float32.*model.float\(\)"):
        save(_model().half(), tmp_path / "model")


@pytest.mark.parametrize("device", ["gpu", "cuda:99"])
def test_a_device_that_is_not_there_is_refused(saved: Path, device: str) -> None:
    with pytest.raises(InputError, match=f"device '{device}' cannot be used"):
        load(saved, device=device)
