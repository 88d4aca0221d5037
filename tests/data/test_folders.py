"""Data sets on disk: both layouts, both forms in memory, known and inferred specs."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from data.making import (
    pixels_of,
    random_images,
    refuses,
    seeded,
    write_folder,
    write_parquet,
)
from randsmooth import data
from randsmooth.data.augmentation import Draws
from randsmooth.data.images import StreamedImages
from randsmooth.data.parquet_images import read_parquet
from randsmooth.errors import WrongData
from values import Refusal, noted

LABELS = [3, 0, 2, 1, 2, 3, 0, 1, 2, 2]
NAMES = ["ant", "bee", "cat", "dog"]
PIXELS = random_images(len(LABELS), (3, 12, 10))


def test_parquet(tmp_path: Path) -> None:
    for image, label in (("image", "label"), ("img", "fine_label")):
        write_parquet(
            tmp_path / "train.parquet",
            PIXELS,
            LABELS,
            image=image,
            label=label,
            classes=NAMES,
        )
        images = data.load(str(tmp_path), "train")
        x, y = images.batch(torch.arange(10))
        assert torch.equal(x, torch.from_numpy(PIXELS).float() / 255)
        assert y.tolist() == images.labels.tolist() == LABELS
        assert images.spec.classes == tuple(NAMES) and not images.streams
    for place in ("shards", "shards/data"):
        for part, rows in enumerate((slice(0, 4), slice(4, 10))):
            write_parquet(
                tmp_path / place / f"train-0000{part}-of-00002.parquet",
                PIXELS[rows],
                LABELS[rows],
            )
        images = data.load(str(tmp_path / "shards"), "train")
        assert images.labels.tolist() == LABELS and np.array_equal(
            pixels_of(images).numpy(), PIXELS
        )


def test_image_folder(tmp_path: Path) -> None:
    write_folder(tmp_path / "train", PIXELS, [NAMES[label] for label in LABELS])
    write_folder(
        tmp_path / "test", PIXELS[:2], ["dog", "ant"]
    )  # a test split may lack classes
    train, test = data.load(str(tmp_path), "train"), data.load(str(tmp_path), "test")
    assert np.array_equal(
        pixels_of(train).numpy(), PIXELS[np.argsort(LABELS, kind="stable")]
    )
    assert (
        train.labels.tolist() == sorted(LABELS)
        and test.labels.tolist() == [0, 3]
        and test.spec == train.spec
    )
    assert train.spec.classes == tuple(NAMES) and train.spec.sizes == {
        "train": 10,
        "test": 2,
    }


def test_inferred_facts(tmp_path: Path) -> None:
    write_parquet(tmp_path / "toy" / "train.parquet", PIXELS, LABELS)
    spec = data.describe(str(tmp_path / "toy"))
    assert (spec.name, spec.shape, spec.augment, spec.hub) == (
        "toy",
        (3, 12, 10),
        "none",
        None,
    )
    assert spec.classes == ("0", "1", "2", "3")
    np.testing.assert_allclose(
        spec.mean or (), (PIXELS / 255).mean((0, 2, 3)), atol=5.1e-5
    )
    np.testing.assert_allclose(
        spec.std or (), (PIXELS / 255).std((0, 2, 3)), atol=5.1e-5
    )
    sizes = {
        (1, 28, 28): "lenet",
        (3, 32, 32): "resnet110",
        (1, 20, 27): "small-cnn",
        (3, 28, 28): "resnet50",
    }
    for shape, arch in sizes.items():
        write_parquet(
            tmp_path / "train.parquet", np.full((3, *shape), 51, np.uint8), [0, 1, 2]
        )
        spec = data.describe(str(tmp_path))
        assert (spec.shape, spec.arch) == (shape, arch)
        assert (spec.mean, spec.std) == (
            (0.2,) * shape[0],
            (1.0,) * shape[0],
        )  # a constant channel is not scaled
    write_parquet(tmp_path / "test.parquet", PIXELS, LABELS)
    (tmp_path / "train.parquet").unlink()
    assert data.describe(str(tmp_path)).sizes == {"test": 10}


def test_named_sets_are_read_from_their_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pixels = random_images(6, (3, 32, 32))
    write_parquet(
        tmp_path / "svhn" / "cropped_digits" / "test-00000-of-00001.parquet",
        pixels,
        [0] * 6,
    )
    monkeypatch.setenv("RANDSMOOTH_DATA", str(tmp_path))
    spec = data.load("svhn", "test").spec
    assert (spec.augment, spec.mean, spec.num_classes) == (
        "crop",
        data.DATASETS["svhn"].mean,
        10,
    )
    assert spec.sizes == {"train": 73_257, "test": 6}
    # Fashion-MNIST's own order is not the alphabetical one; of a path, it is.
    write_folder(
        tmp_path / "fashion-mnist" / "train",
        random_images(2, (1, 28, 28)),
        ["Bag", "Dress"],
    )
    assert data.load("fashion-mnist").labels.tolist() == [3, 8]
    assert data.load(str(tmp_path / "fashion-mnist")).spec.classes == ("Bag", "Dress")
    # ImageNet: class folders named by WordNet ids, 1000 of them, numbered in alphabetical order; tested on `val`.
    ids = [f"n{k:08d}" for k in range(1000)]
    for name in ids:
        (tmp_path / "imagenet" / "train" / name).mkdir(parents=True)
    write_folder(
        tmp_path / "imagenet" / "val", random_images(2, (3, 60, 50)), [ids[998], ids[7]]
    )
    images = data.load("imagenet", "test")
    assert (
        images.streams
        and images.labels.tolist() == [7, 998]
        and images.spec.classes == tuple(ids)
    )


def test_the_streamed_form_equals_the_tensor_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cifar10" / "train.parquet"
    write_parquet(
        file, random_images(40, (3, 32, 32)), [k % 10 for k in range(40)], image="img"
    )
    monkeypatch.setenv("RANDSMOOTH_DATA", str(tmp_path))
    tensor = data.load("cifar10")
    streamed = StreamedImages(tensor.spec, "train", read_parquet([file]))
    assert (tensor.streams, streamed.streams) == (False, True)
    some = torch.tensor([7, 3, 3, 30, 11])
    for a, b in ((tensor, streamed), (tensor.subset(some), streamed.subset(some))):
        assert len(a) == len(b) and torch.equal(a.labels, b.labels)
        chosen = [torch.tensor([4, 0]), torch.tensor([1]), torch.tensor([2, 2, 3])] * 3
        for augment_for in (None, lambda k: Draws(seeded(k))):
            both = list(
                zip(
                    a.batches(chosen, augment_for),
                    b.batches(chosen, augment_for),
                    strict=True,
                )
            )
            assert len(both) == 9
            assert all(
                torch.equal(x, u) and torch.equal(y, v) for (x, y), (u, v) in both
            )


def test_images_of_several_sizes_are_brought_to_one_on_request(tmp_path: Path) -> None:
    shapes: list[Any] = [(1, 300, 260), (3, 256, 400), (3, 90, 70)]
    grey, wide, tall = (random_images(1, shape)[0] for shape in shapes)
    write_folder(tmp_path / "train", [grey, wide, tall], ["a", "b", "b"])
    refuses(
        Refusal(WrongData, "3 sizes (90x70, 256x400, 300x260)", "resize='32x32'"),
        tmp_path,
    )
    refuses(Refusal(WrongData), tmp_path, resize=256)
    refuses(Refusal(WrongData, "90x70", "224x224"), tmp_path, crop=224)
    images = data.load(str(tmp_path), resize=256, crop=224)
    assert (images.spec.shape, images.spec.arch) == ((3, 224, 224), "resnet50")
    x, y = images.batch(torch.arange(3))
    assert x.shape == (3, 3, 224, 224) and y.tolist() == [0, 1, 1]
    # 256 x 400 keeps its height, so its central square is the original's.
    assert torch.equal(
        (x[1] * 255).round().byte(), torch.from_numpy(wide[:, 16:240, 88:312].copy())
    )
    streamed = data.load(str(tmp_path), resize=256, crop=224, stream=True)
    first, second, third = (
        streamed.batch(torch.arange(3), augment=Draws(seeded(k)))[0] for k in (1, 1, 2)
    )
    assert torch.equal(first, second) and not torch.equal(first, third)
    assert first.min() >= 0 and first.max() <= 1


def test_proportions_that_a_size_changes_are_told_once(tmp_path: Path) -> None:
    """Not where they are kept, to a pixel."""
    write_folder(tmp_path / "train", [*random_images(3, (3, 30, 41))], ["a", "b", "b"])
    with warnings.catch_warnings(action="error"):
        for resize, crop in (("15x21", None), ("60x82", None), (16, "16x12")):
            data.load(str(tmp_path), resize=resize, crop=crop)
    with noted("proportions_lost", size="17x17", sides="30x41", side=17) as notes:
        for _ in range(2):
            data.load(str(tmp_path), resize="17x17").batch(torch.arange(3))
    assert len(notes) == 1
