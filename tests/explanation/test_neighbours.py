"""The nearest images, against NumPy in float64."""

import numpy as np
import pytest
import torch

from randsmooth import InputError, data
from randsmooth.explanation import nearest


def test_the_nearest_of_both_kinds_are_those_of_numpy() -> None:
    train, test = data.load("digits", "train"), data.load("digits", "test")
    x, y = train.batch(torch.arange(len(train)))
    all_pixels, labels = x.numpy().astype(np.float64).reshape(len(train), -1), y.numpy()
    for index in (0, 5, 17):
        (image,), (label,) = test.batch(torch.tensor([index]))
        found = nearest(image, int(label), train)
        distances = np.linalg.norm(all_pixels - image.numpy().astype(np.float64).ravel(), axis=1)
        for neighbour, among in ((found.same, labels == int(label)), (found.other, labels != int(label))):
            assert neighbour is not None
            best = int(np.where(among, distances, np.inf).argmin())
            assert (neighbour.index, neighbour.label) == (best, int(labels[best]))
            assert neighbour.distance == pytest.approx(distances[best], abs=1e-6)
            assert np.linalg.norm(neighbour.pixels - image.numpy()) == pytest.approx(neighbour.distance, abs=1e-5)
        assert found.compared == found.total == len(train)


def test_an_equal_image_is_passed_over_and_so_is_a_missing_class() -> None:
    x = np.zeros((3, 1, 8, 8), np.float32)
    x[2] += 0.5
    found = nearest(torch.zeros(1, 8, 8), 0, data.load((x, np.array([0, 0, 0])), "train"))
    assert found.other is None and found.same is not None and found.same.index == 2
    assert found.same.distance == pytest.approx(4.0)


def test_what_is_usual_is_the_median_distance_of_images_of_the_class() -> None:
    levels = np.array([0.0, 0.1, 0.9, 0.3, 0.7, 0.9])
    x = np.broadcast_to(levels[:, None, None, None], (6, 1, 8, 8)).astype(np.float32)
    found = nearest(torch.full((1, 8, 8), 0.5), 0, data.load((x, np.array([0, 0, 1, 0, 0, 1])), "train"))
    assert found.typical == pytest.approx(8 * 0.2)  # of 0.1, 0.2 and 0.4 times the side of 8


def test_images_of_another_shape_or_without_labels_are_refused() -> None:
    with pytest.raises(InputError, match=r"shape \(1, 8, 8\), and this one \(1, 9, 9\)"):
        nearest(torch.zeros(1, 9, 9), 0, data.load("digits", "train"))
    with pytest.raises(InputError, match="no labels"):
        nearest(torch.zeros(1, 8, 8), 0, data.load(np.zeros((3, 1, 8, 8), np.float32), "train"))
