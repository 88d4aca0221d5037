from typing import Any

import pytest

from randsmooth.data import skip, take
from randsmooth.errors import InputError


@pytest.mark.parametrize(
    ("total", "n", "expected"),
    [(10, 1, [0]), (10, 3, [0, 3, 6]), (10, 4, [0, 2, 5, 7]), (3, 3, [0, 1, 2]), (10_000, 2, [0, 5000])],
)
def test_take(total: Any, n: int, expected: Any) -> None:
    assert take(total, n).tolist() == expected


@pytest.mark.parametrize(("total", "every", "expected"), [(5, 2, [0, 2, 4]), (4, 9, [0]), (3, 1, [0, 1, 2])])
def test_skip(total: Any, every: Any, expected: Any) -> None:
    assert skip(total, every).tolist() == expected


def test_the_literature_certifies_500_of_cifar10() -> None:
    assert skip(10_000, 20).tolist() == take(10_000, 500).tolist()


@pytest.mark.parametrize("n", [0, -1, 11])
def test_take_refuses(n: int) -> None:
    with pytest.raises(InputError, match=f"cannot take {n} of 10 images: give a number from 1 to 10"):
        take(10, n)


@pytest.mark.parametrize("every", [0, -2])
def test_skip_refuses(every: Any) -> None:
    with pytest.raises(InputError, match="give a step of 1 or more"):
        skip(10, every)
