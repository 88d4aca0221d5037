"""Certificate tables made of seeded counts."""

from collections.abc import Callable

import pytest

from certificates.walks import HEADER, table_of
from randsmooth.certificates import Certificates

FACTS = {
    **{
        "n": 200,
        "alpha": 0.01,
        "bound": "clopper-pearson",
        "dataset": "digits",
        "split": "test",
    },
    **{"model": {"method": "gaussian", "lr": 0.1}, "versions": {"numpy": "2"}},
}


@pytest.fixture
def make() -> Callable[..., Certificates]:
    """A table of `images` images with counts drawn from `seed`; `facts` replace those of HEADER and FACTS."""
    return lambda images=25, seed=0, **facts: table_of(
        HEADER.replace(**FACTS | facts), images, seed
    )
