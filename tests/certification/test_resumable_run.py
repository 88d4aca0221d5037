"""Certifying a data set into a file: resumed runs give the uninterrupted table."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from certification.runs import StopAfter, same
from randsmooth import data, models, read
from randsmooth.atomic import claimed
from randsmooth.certificates import Certificates, CertificationSettings, Header
from randsmooth.certification import Prepared, SmoothedClassifier, certify_images, check_fit, make_header, pixel_hashes
from randsmooth.certification.order import Order
from randsmooth.certification.run_identity import fingerprint
from randsmooth.data import Images, TensorImages
from randsmooth.errors import InputError, Note
from randsmooth.models import Classifier
from randsmooth.progress import Silent

INDICES = [0, 3, 50, 7, 120]


@pytest.fixture(scope="module")
def images() -> TensorImages:
    loaded = data.load("digits", "test")
    assert isinstance(loaded, TensorImages)
    return loaded


@pytest.fixture(scope="module")
def model() -> Classifier:
    torch.manual_seed(0)
    return Classifier(arch="small-cnn", classes=[str(i) for i in range(10)], shape=[1, 8, 8]).eval()


def run(
    model: Classifier, images: TensorImages, out: Path, *, seed: int = 0, sigma: float = 0.5, **options: Any
) -> Certificates:
    budget = {key: options.pop(key, usual) for key, usual in (("n0", 20), ("n", 300), ("alpha", 0.01))}
    smoothed = SmoothedClassifier(model, sigma=sigma, seed=seed, **budget)
    header, hashes = make_header(smoothed, model, images, INDICES, selection="some"), pixel_hashes(images, INDICES)
    return certify_images(Prepared.of(smoothed, images, header, hashes), out, **options)


def test_the_table_is_what_the_api_gives(model: Classifier, images: TensorImages, tmp_path: Path) -> None:
    table = run(model, images, tmp_path / "a.parquet")
    x, y = images.batch(torch.tensor(INDICES))
    direct = SmoothedClassifier(model, sigma=0.5, seed=0).certify(x, n0=20, n=300, alpha=0.01)
    assert table.idx.tolist() == INDICES
    assert table.label.tolist() == y.tolist()
    assert np.array_equal(table.evidence()[1], direct.counts)
    assert np.array_equal(table.predict, direct.predict)
    assert np.array_equal(table.radius, direct.radius)
    assert same(read(tmp_path / "a.parquet"), table)
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


@pytest.mark.parametrize("stops", [[0], [1], [3], [1, 0, 0], [0, 2]])
def test_interrupted_runs_resume_to_the_same_table(
    stops: list[int], model: Classifier, images: TensorImages, tmp_path: Path
) -> None:
    whole = run(model, images, tmp_path / "whole.parquet")
    for stop in stops:
        with pytest.raises(KeyboardInterrupt):
            run(model, images, tmp_path / "cut.parquet", reporter=StopAfter(stop), resume=True)
    assert not (tmp_path / "cut.parquet").exists()
    assert same(run(model, images, tmp_path / "cut.parquet", resume=True), whole)


def test_images_that_change_on_disk_end_the_run_by_name(
    model: Classifier, images: TensorImages, tmp_path: Path
) -> None:
    """Each file of a run is replaced once the run has begun; put back, the run resumes to the undisturbed table."""
    for place, pixels in enumerate(images.pixels[:6, 0].numpy()):
        Image.fromarray(pixels).save(tmp_path / f"{place}.png")
    pngs = sorted(tmp_path.glob("*.png"))
    streamed = [data.load(str(tmp_path), "test", stream=True)]
    streamed += [data.load([np.array(Image.open(png)) for png in pngs], "test")]

    def prepared(given: Images) -> Prepared:
        order = Order(model=model, dataset=given, settings=CertificationSettings(sigma=0.5, n0=20, n=300, alpha=0.01))
        return order.prepare()

    whole = certify_images(prepared(streamed[0]), tmp_path / "whole.parquet")
    for place, png in enumerate(pngs):
        begun, content = prepared(streamed[0]), png.read_bytes()
        png.write_bytes(pngs[place - 1].read_bytes())
        with pytest.raises(InputError, match=f"{png} has other pixels than when this run began"):
            certify_images(begun, tmp_path / "cut.parquet", resume=True)
        png.write_bytes(content)
    assert same(certify_images(prepared(streamed[0]), tmp_path / "cut.parquet", resume=True), whole)

    begun = prepared(streamed[1])
    streamed[1].source.items[4][:] = 0  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=r"\[4\] has other pixels than when this run began"):
        certify_images(begun, tmp_path / "items.parquet")


def test_the_header_tells_everything(model: Classifier, images: TensorImages, tmp_path: Path) -> None:
    header = run(model, images, tmp_path / "a.parquet").header
    assert header.model is not None
    assert header.model["weights"] == models.weights_hash(model)
    assert (header.sigma, header.n0, header.n, header.alpha, header.seed) == (0.5, 20, 300, 0.01, 0)
    assert (header.dataset, header.split, header.selection) == ("digits", "test", "some")
    assert (header.device or "").startswith("cpu, ") and "float32" in (header.precision or "")
    told = {key for key, value in header.model_dump().items() if value is not None}
    of_other_runs = {"resize", "crop", "source", "shard", "command"}
    assert told == set(Header.model_fields) - of_other_runs


@pytest.mark.parametrize(("change", "named"), [({"n": 301}, "n: "), ({"alpha": 0.05}, "alpha"), ({"seed": 1}, "seed")])
@pytest.mark.parametrize("finished", [False, True])
def test_resuming_another_run_names_the_difference(
    change: dict[str, Any], named: str, finished: bool, model: Classifier, images: TensorImages, tmp_path: Path
) -> None:
    out = tmp_path / "a.parquet"
    if finished:
        run(model, images, out)
    else:
        with pytest.raises(KeyboardInterrupt):
            run(model, images, out, reporter=StopAfter(2))
    with pytest.raises(InputError, match=f"begun differently.*{named}"):
        run(model, images, out, resume=True, **change)


def test_an_output_that_exists(model: Classifier, images: TensorImages, tmp_path: Path) -> None:
    out = tmp_path / "a.parquet"
    first = run(model, images, out)
    with pytest.raises(InputError, match="--resume"):
        run(model, images, out)
    with pytest.raises(InputError, match="one of them"):
        run(model, images, out, resume=True, overwrite=True)
    assert same(run(model, images, out, resume=True), first)
    assert run(model, images, out, overwrite=True, n=400).header.n == 400
    with pytest.raises(KeyboardInterrupt):
        run(model, images, tmp_path / "b.parquet", reporter=StopAfter(1))
    with pytest.raises(InputError, match=r"b.parquet.partial exists"):
        run(model, images, tmp_path / "b.parquet")


def test_a_journal_left_behind_a_finished_table_goes(model: Classifier, images: TensorImages, tmp_path: Path) -> None:
    run(model, images, tmp_path / "a.parquet")
    (tmp_path / "a.parquet.partial").write_text("left by a kill")
    run(model, images, tmp_path / "a.parquet", resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


def test_a_journal_beside_the_table_of_another_run_stays(
    model: Classifier, images: TensorImages, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(model, images, tmp_path / "a.parquet", reporter=StopAfter(2))
    before = (tmp_path / "a.parquet.partial").read_bytes()
    run(model, images, tmp_path / "other.parquet", seed=7)
    (tmp_path / "other.parquet").rename(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="begun differently"):
        run(model, images, tmp_path / "a.parquet", resume=True)
    assert (tmp_path / "a.parquet.partial").read_bytes() == before


def test_what_a_kill_left_of_a_table_goes(model: Classifier, images: TensorImages, tmp_path: Path) -> None:
    (tmp_path / ".a.parquet.77.tmp").write_bytes(b"half")
    run(model, images, tmp_path / "a.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


def test_two_runs_do_not_share_a_journal(model: Classifier, images: TensorImages, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(model, images, tmp_path / "a.parquet", reporter=StopAfter(2))
    before = (tmp_path / "a.parquet.partial").read_bytes()
    with claimed(tmp_path / "a.parquet"), pytest.raises(InputError, match="another run is writing"):
        run(model, images, tmp_path / "a.parquet", resume=True)
    assert (tmp_path / "a.parquet.partial").read_bytes() == before


@pytest.mark.parametrize("wrong", [{"label": 8}, {"idx": 10**6}])
def test_an_old_journal_is_held_against_the_images(
    wrong: dict[str, int], model: Classifier, images: TensorImages, tmp_path: Path
) -> None:
    """It has no checksums; whatever adds up could be read from it."""
    with pytest.raises(KeyboardInterrupt):
        run(model, images, tmp_path / "a.parquet", reporter=StopAfter(1))
    path = tmp_path / "a.parquet.partial"
    header, *lines = (line.partition("\t")[0] for line in path.read_text().splitlines())
    row = json.loads(lines[0])
    assert row["label"] != 8
    header = header.replace('{"version":4,', '{"version":2,', 1)
    path.write_text("\n".join([header, json.dumps(row | wrong), *lines[1:]]) + "\n")
    with (
        pytest.warns(Note),
        pytest.raises(InputError, match=r"a\.parquet\.partial is damaged: it holds image \d+ with"),
    ):
        run(model, images, tmp_path / "a.parquet", resume=True)


def test_done_is_what_is_on_the_disk(
    model: Classifier, images: TensorImages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every report, the lines of all images that were reported are synced; at the end, the table and its name."""
    synced: list[tuple[str, int]] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        real(descriptor)
        synced.append((Path(f"/proc/self/fd/{descriptor}").readlink().name, os.fstat(descriptor).st_size))

    class Watching(Silent):
        done = 0

        def advance(self, steps: int, info: str = "") -> None:
            self.done += steps
            lines = (tmp_path / "a.parquet.partial").read_bytes()[: dict(synced)["a.parquet.partial"]]
            assert lines.count(b"\n") == 1 + self.done

    monkeypatch.setattr(os, "fsync", fsync)
    run(model, images, tmp_path / "a.parquet", reporter=(watching := Watching()))
    assert watching.done == len(INDICES)
    names = [name for name, _ in synced]
    assert names[:2] == ["a.parquet.partial", tmp_path.name]
    assert names[-2].startswith(".a.parquet.") and names[-1] == tmp_path.name  # the table, before it takes its name


def test_data_sets_of_one_name_are_told_apart(model: Classifier, images: TensorImages, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(model, images, tmp_path / "a.parquet", reporter=StopAfter(2))
    others = images.subset(torch.arange(len(images)).flip(0))
    with pytest.raises(InputError, match=r"begun differently.*data"):
        run(model, others, tmp_path / "a.parquet", resume=True)


def one_pixel_off(images: TensorImages, index: int) -> TensorImages:
    pixels = images.pixels.clone()
    pixels[index, 0, 7, 7] ^= 1
    return TensorImages(images.spec, images.split, pixels, images.labels)


@pytest.mark.parametrize("index", INDICES)
def test_one_pixel_of_any_chosen_image_tells_data_sets_apart(
    index: int, model: Classifier, images: TensorImages, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(model, images, tmp_path / "a.parquet", reporter=StopAfter(2))
    with pytest.raises(
        InputError, match=r"begun differently \(data: .*with the images and labels that it was begun with.*--overwrite"
    ):
        run(model, one_pixel_off(images, index), tmp_path / "a.parquet", resume=True)
    assert len(run(model, one_pixel_off(images, 1), tmp_path / "a.parquet", resume=True)) == len(INDICES)  # not chosen


def test_the_fingerprint_is_of_labels_and_pixels_in_their_order(images: TensorImages) -> None:
    usual, labels = fingerprint(images, INDICES), images.labels.clone()
    labels[INDICES[-1]] = (labels[INDICES[-1]] + 1) % 10
    told = TensorImages(images.spec, images.split, images.pixels, labels)
    many = list(range(200))  # of several pieces
    assert len({usual, fingerprint(told, INDICES), fingerprint(images, INDICES[::-1]), fingerprint(images, many)}) == 4
    assert usual == fingerprint(images, INDICES)
    assert fingerprint(one_pixel_off(images, 199), many) != fingerprint(images, many)


@pytest.mark.parametrize(
    ("classes", "shape", "message"),
    [(7, [1, 8, 8], "7 classes and digits has 10"), (10, [1, 28, 28], r"\(1, 28, 28\)")],
)
def test_a_model_for_other_images(classes: int, shape: list[int], message: str, images: TensorImages) -> None:
    other = Classifier(arch="small-cnn", classes=[str(i) for i in range(classes)], shape=shape)
    with pytest.raises(InputError, match=message):
        check_fit(other, images.spec)


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


def test_a_nan_names_the_image_and_keeps_those_before(images: TensorImages, tmp_path: Path) -> None:
    broken = Classifier(arch="small-cnn", classes=[str(i) for i in range(10)], shape=[1, 8, 8]).eval()
    broken.network = NanOn(broken.network, images.batch(torch.tensor([50]))[0][0]).eval()
    with pytest.raises(InputError, match="image 50"):
        run(broken, images, tmp_path / "a.parquet", sigma=0.05)
    finished = (tmp_path / "a.parquet.partial").read_text().splitlines()[1:]
    assert len(finished) >= INDICES.index(50) and all('"idx": 50,' not in line for line in finished)
