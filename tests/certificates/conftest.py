"""Certificate tables made of seeded counts."""

from collections.abc import Callable

import numpy as np
import pytest

from randsmooth.certificates import Certificates, Header, from_evidence

FACTS = Header(
    sigma=0.5,
    n0=20,
    n=200,
    alpha=0.01,
    bound="clopper-pearson",
    seed=7,
    dataset="digits",
    split="test",
    classes=("zero", "one", "two"),
    model={"method": "gaussian", "lr": 0.1},
    versions={"numpy": "2"},
)


@pytest.fixture
def make() -> Callable[..., Certificates]:
    """A table of `images` images with counts drawn from `seed`; `facts` replace those of FACTS."""

    def table(images: int = 25, seed: int = 0, **facts: object) -> Certificates:
        header = FACTS.model_copy(update=facts)
        rng = np.random.default_rng(seed)
        p = rng.dirichlet([0.3, 0.3, 0.3], size=images)
        return from_evidence(
            header,
            idx=np.arange(images, dtype=np.int64) * 3,
            label=rng.integers(0, 3, images),
            counts0=rng.multinomial(header.n0 or 0, p),
            counts=rng.multinomial(header.n or 0, p),
            seconds=rng.uniform(0.0, 5.0, images).round(6),
            name="made",
        )

    return table
