"""A rule that another package brings: judged, stored and read like ours, and missed by name where it is absent."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from certificates.walks import HEADER, table_of
from randsmooth import bounds, metrics
from randsmooth.certificates import read, write_parquet
from randsmooth.certificates.header import parse_header
from randsmooth.errors import InputError
from randsmooth.noise import Gaussian
from randsmooth.rules import RULES, Claim, Rule, RuleEntry, make_rule, rule_origin


@dataclass(frozen=True)
class Halves(Rule):
    """Half of the samples; the other half if the first one holds a failure."""

    name: ClassVar[str] = "halves"
    sequential: ClassVar[bool] = False
    share: float = 0.5

    def guarantee(self) -> str:
        return f"Each certificate is wrong with probability at most {self.alpha:g}: two looks, half of alpha each."

    def next_look(self, path: Sequence[int]) -> int | None:
        first = int(self.share * self.n)
        if len(path) == 1 and path[0] < first:
            return self.n
        return None if path else first

    def claim(self, path: Sequence[int]) -> Claim:
        return self.by_q(float(bounds.q_upper(path[-1], self.samples(path), self.alpha / 2.0)))


ENTRY = RuleEntry(
    kind=f"{__name__}:Halves",
    usage="halves[=SHARE]",
    help="half of the samples, and the rest if needed.",
    value="share",
)


def forget() -> None:
    """What was found of other packages, and made with it."""
    vars(RULES).pop("_others", None)
    vars(RULES)["_loaded"].pop("halves", None)
    make_rule.cache_clear()


@pytest.fixture
def halves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The rule as an installed package announces it."""
    about = tmp_path / "site" / "two_halves-1.2.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: two-halves\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text(f"[randsmooth.rules]\nhalves = {__name__}:ENTRY\n")
    monkeypatch.syspath_prepend(str(about.parent))
    forget()
    yield
    forget()


def header(**facts: Any) -> Any:
    versions = {"python": "3.11"} | rule_origin("halves=0.25")
    return HEADER.replace(rule="halves=0.25", versions=versions, **facts)


@pytest.mark.usefixtures("halves")
def test_it_is_judged_stored_and_compared_like_ours(tmp_path: Path) -> None:
    assert "halves" in RULES and RULES.source("halves") == "two-halves" and RULES["halves"].usage == "halves[=SHARE]"
    made = make_rule("halves=0.25", noise=Gaussian(0.5), n=2000, alpha=0.05)
    assert isinstance(made, Halves) and made.share == 0.25
    assert made.farthest == pytest.approx(made.claim([500]).radius) and made.asked_radii is None
    table = table_of(header(guarantee=made.guarantee()))
    write_parquet(table, tmp_path / "halves.parquet")
    back = read(tmp_path / "halves.parquet")
    assert isinstance(back.rule, Halves) and back.rule == made
    assert np.array_equal(back.radius, table.radius) and back.radius.max() > 0
    assert back.header.guarantee == made.guarantee()
    assert metrics.farthest(back) == made.farthest
    assert metrics.compare([(back, table)])[0].curve is not None


def test_a_table_without_its_package_names_the_package(
    halves: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_parquet(table_of(header()), tmp_path / "halves.parquet")
    monkeypatch.undo()
    forget()
    with pytest.raises(InputError, match=r"the rule 'halves', which 'two-halves 1.2' brings: install that package"):
        read(tmp_path / "halves.parquet")
    with pytest.raises(InputError, match="unknown rule 'halves'"):
        make_rule("halves", noise=Gaussian(0.5), n=2000, alpha=0.05)


def test_a_table_of_a_noise_that_is_not_installed_is_not_called_damaged() -> None:
    text = '{"version": 1, "distribution": {"name": "triangular", "lam": 1.0}, "n0": 100, "n": 1000, "alpha": 0.001}'
    with pytest.raises(InputError, match=r"^a.parquet: noise 'triangular' .* install the package") as refused:
        parse_header(text, Path("a.parquet"))
    assert "damaged" not in str(refused.value)
