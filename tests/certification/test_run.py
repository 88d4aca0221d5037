"""Certifying a data set, in memory and into a file: resumed runs give the uninterrupted table."""

import itertools
import os
import pickle
import warnings
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import randsmooth as rs
from certification.runs import interrupt, same
from models.refusing import check_refusals, problem_of
from randsmooth import data, models, read
from randsmooth.atomic import claimed
from randsmooth.certificates import Certificates
from randsmooth.certification import OpenRun, RunSpec, attack, certify_into
from randsmooth.certification.run import spread
from randsmooth.data import TensorImages
from randsmooth.errors import (
    Busy,
    Conflict,
    MissingValue,
    ModelFailed,
    OutputExists,
    UnknownName,
    WrongModel,
)
from randsmooth.models import Classifier
from randsmooth.notes import Note
from randsmooth.progress import Silent
from values import Refusal, noted

INDICES = (0, 3, 50, 7, 120)
TEN = [str(i) for i in range(10)]


@pytest.fixture(scope="module")
def images() -> TensorImages:
    loaded = data.load("digits", "test")
    assert isinstance(loaded, TensorImages)
    return loaded


@pytest.fixture(scope="module")
def model() -> Classifier:
    torch.manual_seed(0)
    return Classifier(arch="small-cnn", classes=TEN, shape=[1, 8, 8]).eval()


def run(
    model: nn.Module, images: object, out: Path | None, **more: Any
) -> Certificates:
    """Certify five digits."""
    how: dict[str, Any] = {
        "sigma": 0.5,
        "seed": 0,
        "n0": 20,
        "n": 300,
        "alpha": 0.01,
        "only": (INDICES, "some"),
    }
    return rs.certify(model, images, out=out, **how | more)


def test_a_table_in_memory_is_that_of_the_file(
    model: Classifier, images: TensorImages, tmp_path: Path
) -> None:
    table = run(model, images, tmp_path / "a.parquet")
    assert table.idx.tolist() == [*INDICES]
    assert table.label.tolist() == images.labels_at(torch.tensor(INDICES)).tolist()
    assert same(read(tmp_path / "a.parquet"), table)
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]
    in_memory = run(model, images, None)
    assert same(in_memory, table) and "5 of digits" in str(in_memory)
    files: list[dict[str, Any]] = [
        {"resume": True},
        {"shard": "1/2"},
        {"workers": rs.launch.Processes(1)},
    ]
    check_refusals(
        (lambda how=how: run(model, images, None, **how), Refusal(MissingValue))  # type: ignore[misc]
        for how in files
    )


def test_a_run_is_sent_without_what_it_opened(
    model: Classifier, images: TensorImages
) -> None:
    spec = RunSpec.of(model, "digits", sigma=0.5, n=100, take=4)
    whole = spec.open()
    assert whole.header.selection == "take 4 of 364" and whole.inputs.model is model
    sent = pickle.loads(pickle.dumps(spec))
    assert sent.open().header == whole.header
    part = whole.of_shard(rs.certificates.Shard.parse("2/2"))
    assert part.inputs is whole.inputs and part.smoothed is whole.smoothed
    assert part.indices == whole.indices[1::2]
    assert part.header.shard == "2/2"


def test_settings_are_validated_once_and_again_where_something_is_learned(
    model: Classifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    make = rs.CertificationSettings.__init__

    def counted(settings: rs.CertificationSettings, /, **fields: Any) -> None:
        made.append(fields)
        make(settings, **fields)

    monkeypatch.setattr(rs.CertificationSettings, "__init__", counted)
    rs.certify(model, "digits", sigma=0.5, n=100, take=1, seed=0)
    assert len(made) == 1
    # The seed of a run is 0.
    rs.certify(model, "digits", sigma=0.5, n=100, take=1)
    assert len(made) == 3


def test_images_that_change_on_disk_end_the_run_by_name(
    model: Classifier, images: TensorImages, tmp_path: Path
) -> None:
    """A file is replaced once the run has begun; put back, the run resumes to the undisturbed table."""
    for place, pixels in enumerate(images.pixels[:6, 0].numpy()):
        Image.fromarray(pixels).save(tmp_path / f"{place}.png")
    pngs = sorted(tmp_path.glob("*.png"))
    streamed, arrays = (
        data.load(str(tmp_path), "test", stream=True),
        [np.array(Image.open(png)) for png in pngs],
    )

    def begun(given: object) -> OpenRun:
        return RunSpec.of(model, given, sigma=0.5, n0=20, n=300, alpha=0.01).open()

    whole = certify_into(begun(streamed), tmp_path / "whole.parquet")
    running, content = begun(streamed), pngs[3].read_bytes()
    pngs[3].write_bytes(pngs[2].read_bytes())
    problem = problem_of(certify_into, running, tmp_path / "cut.parquet")
    Refusal(OutputExists, str(pngs[3])).check(problem)
    pngs[3].write_bytes(content)
    assert same(certify_into(begun(streamed), tmp_path / "cut.parquet"), whole)

    in_memory = begun(data.load(arrays, "test"))
    arrays[4][:] = 0
    check_refusals(
        [
            (
                lambda: certify_into(in_memory, tmp_path / "items.parquet"),
                Refusal(OutputExists, "[4]"),
            )
        ]
    )


def test_the_header_tells_everything(model: Classifier, images: TensorImages) -> None:
    header = run(model, images, None).header
    assert header.model is not None and header.model["weights"] == models.weights_hash(
        model
    )
    assert header.behaviour is not None and header.behaviour.keys() == {
        "made-up images",
        "own images",
    }
    assert (header.sigma, header.n0, header.n, header.alpha, header.seed) == (
        0.5,
        20,
        300,
        0.01,
        0,
    )
    assert (header.dataset, header.split, header.selection) == (
        "digits",
        "test",
        "some",
    )
    assert (header.device or "").startswith("cpu, ") and "float32" in (
        header.precision or ""
    )
    facts = header.facts()
    told = {key for key, value in facts.items() if value is not None}
    of_other_runs = {
        "resize",
        "crop",
        "source",
        "shard",
        "command",
        "distribution",
        "routing",
        "refusal",
    }
    assert told == set(facts) - of_other_runs


def test_resuming_another_run_names_the_difference(
    model: Classifier, images: TensorImages, tmp_path: Path
) -> None:
    interrupt(run, model, images, tmp_path / "begun.parquet", stop=2)
    run(model, images, tmp_path / "finished.parquet")
    others = images.subset(torch.arange(len(images)).flip(0))
    table: list[tuple[str, Any, dict[str, Any]]] = [
        ("n: ", images, {"n": 301}),
        ("seed", images, {"seed": 1}),
        ("data: ", others, {}),
        ("data: ", one_pixel_off(images, INDICES[-1]), {}),
    ]
    for name, (named, given, change) in itertools.product(("begun", "finished"), table):
        resume = partial(
            run, model, given, tmp_path / f"{name}.parquet", resume=True, **change
        )
        check_refusals([(resume, Refusal(OutputExists, str(named), "overwrite=True"))])
    not_chosen = one_pixel_off(images, 1)
    assert len(run(model, not_chosen, tmp_path / "begun.parquet", resume=True)) == len(
        INDICES
    )


def one_pixel_off(images: TensorImages, index: int) -> TensorImages:
    pixels = images.pixels.clone()
    pixels[index, 0, 7, 7] ^= 1
    return TensorImages(images.spec, images.split, pixels, images.labels)


def test_an_output_that_exists(
    model: Classifier, images: TensorImages, tmp_path: Path
) -> None:
    out = tmp_path / "a.parquet"
    first = run(model, images, out)
    interrupt(run, model, images, tmp_path / "b.parquet")
    refused: list[tuple[Path, dict[str, Any], Refusal]] = [
        (out, {}, Refusal(OutputExists, "resume=True")),
        (out, {"resume": True, "overwrite": True}, Refusal(Conflict)),
        (tmp_path / "b.parquet", {}, Refusal(OutputExists, "b.parquet.partial")),
    ]
    check_refusals(
        (partial(run, model, images, path, **flags), said)
        for path, flags, said in refused
    )
    assert same(run(model, images, out, resume=True), first)
    assert run(model, images, out, overwrite=True, n=400).header.n == 400


def test_what_a_kill_left_of_a_table_or_behind_one_goes(
    model: Classifier, images: TensorImages, tmp_path: Path
) -> None:
    (tmp_path / ".a.parquet.77.tmp").write_bytes(b"half")
    run(model, images, tmp_path / "a.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]
    (tmp_path / "a.parquet.partial").write_text("left by a kill")
    run(model, images, tmp_path / "a.parquet", resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


def test_a_journal_is_no_other_runs(
    model: Classifier, images: TensorImages, tmp_path: Path
) -> None:
    """Neither of a run that writes it now, nor of one whose table is there."""
    interrupt(run, model, images, tmp_path / "a.parquet", stop=2)
    before = (tmp_path / "a.parquet.partial").read_bytes()
    resume = partial(run, model, images, tmp_path / "a.parquet", resume=True)
    with claimed(tmp_path / "a.parquet"):
        check_refusals([(resume, Refusal(Busy))])
    run(model, images, tmp_path / "other.parquet", seed=7)
    (tmp_path / "other.parquet").rename(tmp_path / "a.parquet")
    check_refusals([(resume, Refusal(OutputExists))])
    assert (tmp_path / "a.parquet.partial").read_bytes() == before


@pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="which names the file of a descriptor"
)
def test_done_is_what_is_on_the_disk(
    model: Classifier,
    images: TensorImages,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At every report, the lines of all images that were reported are synced; at the end, the table and its name."""
    synced: list[tuple[str, int]] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        real(descriptor)
        synced.append(
            (
                Path(f"/proc/self/fd/{descriptor}").readlink().name,
                os.fstat(descriptor).st_size,
            )
        )

    class Watching(Silent):
        done = 0

        def advance(self, steps: int, info: str = "") -> None:
            self.done += steps
            lines = (tmp_path / "a.parquet.partial").read_bytes()[
                : dict(synced)["a.parquet.partial"]
            ]
            assert lines.count(b"\n") == 1 + self.done

    monkeypatch.setattr(os, "fsync", fsync)
    watching = Watching()
    run(
        model, images, tmp_path / "a.parquet", progress=lambda *_: nullcontext(watching)
    )
    assert watching.done == len(INDICES)
    names = [name for name, _ in synced]
    assert names[:2] == ["a.parquet.partial", tmp_path.name]
    assert (
        names[-2].startswith(".a.parquet.") and names[-1] == tmp_path.name
    )  # the table, before it takes its name


class NanOn(torch.nn.Module):
    """Wraps a network so that it breaks on noisy copies of one image, told by their distance: for little noise."""

    def __init__(self, network: torch.nn.Module, image: torch.Tensor) -> None:
        super().__init__()
        self.network = network
        self.image = image

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        near = (x - self.image).abs().mean(dim=(1, 2, 3)) < 0.1
        logits: torch.Tensor = self.network(x).masked_fill(near[:, None], float("nan"))
        return logits


def test_a_nan_names_the_image_and_keeps_those_before(
    images: TensorImages, tmp_path: Path
) -> None:
    broken = Classifier(arch="small-cnn", classes=TEN, shape=[1, 8, 8]).eval()
    broken.network = NanOn(
        broken.network, images.batch(torch.tensor([50]))[0][0]
    ).eval()
    check_refusals(
        [
            (
                partial(run, broken, images, tmp_path / "a.parquet", sigma=0.05),
                Refusal(ModelFailed, "50"),
            )
        ]
    )
    finished = (tmp_path / "a.parquet.partial").read_text().splitlines()[1:]
    assert len(finished) >= INDICES.index(50) and all(
        '"idx": 50,' not in line for line in finished
    )


def test_what_cannot_be_certified_is_refused_and_leaves_nothing(
    model: Classifier, images: TensorImages, tmp_path: Path
) -> None:
    seven, how = (
        nn.Sequential(nn.Flatten(), nn.Linear(64, 7)).eval(),
        {"sigma": 0.5, "n": 100},
    )
    other = Classifier(arch="small-cnn", classes=TEN[:7], shape=[1, 8, 8])
    table: list[tuple[Refusal, object, object, dict[str, Any]]] = [
        (Refusal(MissingValue, field="sigma"), model, "digits", {"sigma": None}),
        (Refusal(MissingValue, field="dataset"), model, None, {}),
        (Refusal(Conflict), model, "digits", {"take": 3, "skip": 3}),
        (
            Refusal(UnknownName, "'image_column'", field="setting"),
            model,
            "digits",
            {"image_colum": "x"},
        ),
        (Refusal(WrongModel, "10"), seven, "digits", {"take": 2}),
        (Refusal(WrongModel, "10"), other.eval(), "digits", {}),
    ]
    out = {"out": tmp_path / "a.parquet"}
    check_refusals(
        (partial(rs.certify, base, to, **out | how | more), said)
        for said, base, to, more in table
    )
    assert not list(tmp_path.iterdir())


def test_every_beginning_of_a_run_is_spread_over_all_classes() -> None:
    """A set that is sorted by class would otherwise show the figure of its first class for hours."""
    images = spread(range(1000, 2000))
    assert sorted(images) == [*range(1000, 2000)]
    for done in (20, 50, 200, 777):
        of_class = np.bincount(
            [(at - 1000) // 100 for at in images[:done]], minlength=10
        )
        assert of_class.max() - of_class.min() <= 2, (done, of_class)


def test_the_table_says_which_split_was_certified(
    model: Classifier, images: TensorImages, tmp_path: Path
) -> None:
    """Validation stands in for a missing test split, and is called so everywhere."""
    pixels = (images.pixels[:200] * 255).round().to(torch.uint8).numpy()
    labels = images.labels[:200].numpy()
    path = tmp_path / "mine.npz"
    arrays: dict[str, Any] = {"x_train": pixels[100:], "y_train": labels[100:]}
    np.savez(path, x_val=pixels[:100], y_val=labels[:100], **arrays)
    ask = partial(rs.certify, model, str(path), sigma=0.5, n0=10, n=100, take=4, seed=0)
    with noted("validation_as_test"):
        table = ask(out=tmp_path / "whole.parquet")
    assert table.header.split == "validation"
    assert "mine.npz validation" in repr(read(tmp_path / "whole.parquet"))
    for asked in ("test", "validation"):  # the same images, however they were asked for
        with warnings.catch_warnings(action="ignore", category=Note):
            again = ask(out=tmp_path / "whole.parquet", split=asked, resume=True)
        assert same(again, table)
    train = partial(ask, out=tmp_path / "whole.parquet", split="train", resume=True)
    check_refusals([(train, Refusal(OutputExists, "'validation'", "'train'"))])
    with warnings.catch_warnings(action="ignore", category=Note):
        parts = [ask(out=tmp_path / "a.parquet", shard=f"{k}/2") for k in (1, 2)]
        merged = rs.certificates.merge(sorted(tmp_path.glob("a-*.parquet")))
        found = attack(model, merged, str(path), steps=2)
    assert {part.header.split for part in parts} == {"validation"}
    assert merged.header.split == "validation" and set(found.idx) <= set(merged.idx)
