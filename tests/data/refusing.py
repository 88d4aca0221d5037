"""Loading that must fail."""

import pytest

from randsmooth import data
from randsmooth.errors import InputError


def refuses(match, dataset, split="train"):
    with pytest.raises(InputError, match=match):
        data.load(str(dataset), split)
