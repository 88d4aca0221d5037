"""Model folders: bit-equal round trips, nothing half-written that loads, every damage named."""

import json
from pathlib import Path

import pytest
import torch
from huggingface_hub import ModelCard

from randsmooth.errors import InputError
from randsmooth.models import Classifier, folder, load, save, weights_hash

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
    assert weights_hash(torch.compile(model, backend="eager")) == expected
    assert weights_hash(model.to(memory_format=torch.channels_last)) == expected


def test_hash_sees_one_changed_number_a_type_and_a_name() -> None:
    linear = torch.nn.Linear(2, 2)
    hashes = {weights_hash(linear), weights_hash(torch.nn.Sequential(linear))}
    with torch.no_grad():
        linear.weight[0, 0] += 1
    hashes |= {weights_hash(linear), weights_hash(linear.double())}
    assert len(hashes) == 4


def test_channels_last_weights_are_saved(tmp_path: Path) -> None:
    save(_model().to(memory_format=torch.channels_last), tmp_path / "model")
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
        "randsmooth.load_model(",
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
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def _only_pickle(path: Path) -> None:
    (path / "model.safetensors").rename(path / "pytorch_model.bin")


def _truncate(path: Path) -> None:
    weights = path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])


DAMAGE = [
    (lambda p: (p / "config.json").unlink(), "config.json is missing"),
    (lambda p: (p / "config.json").write_text('{"arch":'), "config.json is not JSON"),
    (lambda p: (p / "config.json").write_text('{"model_type": "bert"}'), "found model_type"),
    (lambda p: (p / "config.json").write_text("[]"), "found list"),
    (lambda p: _rewrite(p / "config.json", later=1), "not written by this randsmooth.*later"),
    (lambda p: _rewrite(p / "config.json", arch="resnet9"), "config.json: resnet9"),
    (lambda p: _rewrite(p / "config.json", shape="3x32x32"), "config.json: shape='3x32x32'"),
    (lambda p: _rewrite(p / "config.json", arch="resnet14"), "does not fit.*network.layer1.1.*found nothing"),
    (
        lambda p: _rewrite(p / "config.json", classes=["a", "b"]),
        r"does not fit.*network.fc.bias.*\(2,\).*\(3,\)",
    ),
    (lambda p: (p / "model.safetensors").unlink(), "model.safetensors is missing: convert"),
    (_only_pickle, "pytorch_model.bin is pickle, which can run code and is never loaded"),
    (_truncate, "model.safetensors is damaged"),
    (lambda p: (p / "model.safetensors").write_bytes(b""), "model.safetensors is damaged"),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGE)
def test_a_damaged_folder_is_refused(saved: Path, damage, message: str) -> None:
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

    monkeypatch.setattr(folder, "snapshot_download", download)
    assert load("user/name").arch == "resnet8"


def test_a_hub_that_does_not_answer_is_an_input_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def download(*_: object, **__: object) -> str:
        raise OSError("no network\nat all")

    monkeypatch.setattr(folder, "snapshot_download", download)
    with pytest.raises(InputError, match=r"no folder user/name.*\(no network\): check the path"):
        load("user/name")


def test_the_mixins_own_loader_is_as_strict(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert weights_hash(Classifier.from_pretrained(saved)) == weights_hash(_model())
    _rewrite(saved / "config.json", arch="resnet14")
    with pytest.raises(RuntimeError, match="Missing key"):
        Classifier.from_pretrained(saved)
    with pytest.raises(InputError, match="pickle is never loaded"):
        Classifier._load_as_pickle(_model(), "pytorch_model.bin", "cpu", True)
    capsys.readouterr()  # the mixin prints


def test_weights_of_another_type_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"torch.float16; expected float32.*model.float\(\)"):
        save(_model().half(), tmp_path / "model")


@pytest.mark.parametrize("device", ["gpu", "cuda:99"])
def test_a_device_that_is_not_there_is_refused(saved: Path, device: str) -> None:
    with pytest.raises(InputError, match=f"device '{device}' cannot be used"):
        load(saved, device=device)
