"""What a file or a folder is comes before what it lacks, by whatever name and at whatever door it is given."""

import json
import pickle
import struct
import tarfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pytest
import safetensors.torch
import torch
from torch import nn

import randsmooth as rs
from models.graphs import linear
from models.refusing import check_refusals, problem_of, refusal
from randsmooth.errors import NotFound, WrongFile
from randsmooth.models import Classifier, check_folder, import_checkpoint, save
from randsmooth.models.sources import form_of
from values import Refusal

STATE = nn.Linear(4, 2).state_dict()
PAGE = (
    "<!DOCTYPE html><html><head><title>Drive - Virus scan warning</title></head></html>"
)
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
STORED = (
    "<?xml version='1.0' encoding='UTF-8'?><Error><Code>AccessDenied</Code></Error>"
)

# What lies there in place of a file, and what every door says of it.
INSTEAD = {
    PAGE: "is a web page (Drive - Virus scan warning)",
    POINTER: "is a pointer of Git LFS | `git lfs pull`",
    "/annex/objects/SHA256E-s3--ab.pth\n": "is a pointer of git-annex | `git annex get",
    STORED: "is the error message of a server",
    "": "is empty",
}
DOORS = (
    "pth",
    "pth.tar",
    "ckpt",
    "bin",
    "safetensors",
    "pkl",
    "joblib",
    "pt",
    "pt2",
    "onnx",
    "xml",
    "py:make",
    "npz",
)


def test_what_lies_there_in_place_of_a_file_is_named_at_every_door(
    tmp_path: Path,
) -> None:
    for content, said in INSTEAD.items():
        for door in DOORS:
            path = tmp_path / f"net.{door.partition(':')[0]}"
            path.write_text(content)
            given = f"{path}:make" if door.endswith(":make") else str(path)
            doors: list[Callable[[], object]] = [lambda: rs.load_model(given)]  # noqa: B023
            if door in ("pth", "safetensors", "pt"):
                doors.append(lambda: import_checkpoint(path, "digits"))  # noqa: B023
            for ask in doors:
                message = refusal(ask)
                assert str(path) in message
                assert [
                    word for word in said.split(" | ") if word not in message
                ] == [], message


def packed(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("checkpoint.pth.tar", b"tensors")


def taped(path: Path) -> None:
    inner = path.with_name("checkpoint.pth.tar")
    torch.save(STATE, inner)
    with tarfile.open(path, "w") as archive:
        archive.add(inner, "checkpoint.pth.tar")


def halved(path: Path) -> None:
    torch.save(STATE, path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def spanning(path: Path) -> None:
    """An archive whose end says that it lies on several disks, of which Python's reader raises an error of its own."""
    packed(path)
    whole = path.read_bytes()
    end = whole.rindex(b"PK\5\6")
    path.write_bytes(
        whole[:end] + b"PK\6\7" + struct.pack("<LQL", 1, 0, 7) + whole[end:]
    )


def arrays(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, w=np.zeros(3))


# How a file is made that is no checkpoint of torch, and what `import` says of it.
OTHERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "zip": (packed, "is a zip archive of checkpoint.pth.tar | unpack it"),
    "tar": (taped, "is a tar archive | unpack it"),
    "cut": (halved, "is cut short"),
    "spanning": (spanning, "is a damaged zip archive"),
    "npz": (arrays, "is a file of arrays of NumPy"),
    "pickle": (
        lambda path: path.write_bytes(pickle.dumps(STATE)),
        "is a plain pickle | torch.save(",
    ),
    "gzip": (
        lambda path: path.write_bytes(b"\x1f\x8b\x08"),
        "is packed by gzip | gunzip",
    ),
    "safetensors": (
        lambda path: safetensors.torch.save_file(STATE, path),
        "of safetensors | .safetensors",
    ),
    "json": (lambda path: path.write_text('{"message": "Not Found"}'), "is JSON"),
}


def test_a_checkpoint_of_another_kind_is_called_what_it_is(tmp_path: Path) -> None:
    for name, (make, said) in OTHERS.items():
        path = tmp_path / f"{name}.pth"
        make(path)
        message = refusal(import_checkpoint, path, "digits")
        assert [word for word in said.split(" | ") if word not in message] == [], (
            message
        )
        assert "weights_only" not in message


def test_no_door_repeats_the_advice_to_run_what_a_file_says(tmp_path: Path) -> None:
    for suffix in ("pth", "pt", "pt2", "ckpt", "onnx", "pkl"):
        for name, (make, _) in OTHERS.items():
            path = tmp_path / f"{name}.{suffix}"
            make(path)
            for ask in (
                lambda: rs.load_model(path),  # noqa: B023
                lambda: import_checkpoint(path, "digits"),  # noqa: B023
            ):
                assert "weights_only=False" not in refusal(ask)
                assert "Re-running" not in refusal(ask)


def test_a_file_of_tensors_named_as_a_program_prints_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    torch.save(STATE, tmp_path / "net.pt2")
    arrays(tmp_path / "arrays.pt2")
    check_refusals(
        [
            (
                lambda: rs.load_model(tmp_path / "net.pt2"),
                Refusal(WrongFile),
            ),
            (lambda: rs.load_model(tmp_path / "arrays.pt2"), Refusal(WrongFile)),
        ]
    )
    assert capfd.readouterr() == ("", "")


def test_lines_that_open_a_file_read_what_is_in_it(tmp_path: Path) -> None:
    safetensors.torch.save_file(STATE, tmp_path / "net.safetensors")
    torch.save(STATE, tmp_path / "net.pth")
    joblib.dump({"a": 1}, tmp_path / "forest.joblib")
    (tmp_path / "forest.pkl").write_bytes(pickle.dumps({"a": 1}))
    for name, call in {
        "net.safetensors": "safetensors.torch.load_file(",
        "net.pth": "torch.load(",
        "forest.joblib": "joblib.load(",
        "forest.pkl": "joblib.load(",
    }.items():
        message = refusal(rs.load_model, tmp_path / name)
        assert f"{call}{str(tmp_path / name)!r}" in message
        compile(message.partition("# open_model.py\n")[2], "open_model.py", "exec")


def test_a_checkpoint_in_a_folder_is_no_model_of_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    torch.save(STATE, "runs/net.pth.tar")
    check_refusals(
        [
            (lambda: rs.load_model("runs/net.pth.tar"), Refusal(WrongFile)),
            (
                lambda: rs.load_model("runs/none.pth"),
                Refusal(NotFound, "runs/none.pth"),
            ),
        ]
    )


def test_names_of_hubs_and_code_may_end_as_files_that_are_no_models() -> None:
    table = {
        "hf:user/x.bin": "hf:user/name or hf:FOLDER",
        "timm:x.pth": "timm:NAME",
        "zoo.py:net.th": "file.py:NAME",
        "zoo:net.h5": "package.module:NAME",
    }
    for source, written in table.items():
        assert form_of(source).written == written, source
    for source in ("user/x.bin", "x.pth"):
        check_refusals([(partial(form_of, source), Refusal(NotFound, source))])


def test_folders_of_other_programs_are_called_what_they_are(tmp_path: Path) -> None:
    table = {
        "vit": (
            {"model_type": "vit", "architectures": ["ViTForImageClassification"]},
            Refusal(WrongFile, "transformers"),
        ),
        "resnet": (
            {"architecture": "resnet18", "pretrained_cfg": {}},
            Refusal(WrongFile, "timm"),
        ),
        "other": ({"layers": 3}, Refusal(WrongFile)),
    }
    for name, (config, said) in table.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(config))
        for read in (rs.load_model, check_folder):
            problem = problem_of(read, folder)
            said.check(problem)
            assert str(folder) in str(problem)
    linear(tmp_path / "vit" / "model.onnx")
    check_refusals(
        [
            (
                lambda: rs.load_model(tmp_path / "vit"),
                Refusal(WrongFile, "vit/model.onnx"),
            )
        ]
    )
    (tmp_path / "ddpm").mkdir()
    (tmp_path / "ddpm" / "model_index.json").write_text("{}")
    (tmp_path / "graphs").mkdir()
    linear(tmp_path / "graphs" / "net.onnx")
    check_refusals(
        [
            (
                lambda: rs.load_model(tmp_path / "ddpm"),
                Refusal(NotFound, "diffusers", "denoiser="),
            ),
            (
                lambda: rs.load_model(tmp_path / "graphs"),
                Refusal(NotFound, "config.json", "graphs/net.onnx"),
            ),
        ]
    )


def test_pointers_in_a_model_folder_are_named(tmp_path: Path) -> None:
    save(
        Classifier(arch="small-cnn", classes=["cat", "dog"], shape=(1, 8, 8)), tmp_path
    )
    (tmp_path / "model.safetensors").write_text(POINTER)
    check_refusals(
        [(lambda: rs.load_model(tmp_path), Refusal(WrongFile, "model.safetensors"))]
    )
    (tmp_path / "config.json").write_text(PAGE)
    check_refusals(
        [(lambda: rs.load_model(tmp_path), Refusal(WrongFile, "config.json"))]
    )
    theirs = tmp_path / "vit"
    theirs.mkdir()
    (theirs / "config.json").write_text('{"model_type": "vit"}')
    (theirs / "model.safetensors").write_text(POINTER)
    check_refusals(
        [
            (
                lambda: rs.load_model(f"hf:{theirs}"),
                Refusal(WrongFile, "model.safetensors"),
            )
        ]
    )
