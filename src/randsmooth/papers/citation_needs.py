"""Which papers are to be cited for each method, rule, data set, network and part.

They are named by their keys in references.bib.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Need:
    """The papers to cite for some things of one kind.

    Attributes:
        kind: the kind of the things, such as "training method".
        names: the names of the things.
        keys: the keys of the papers; empty for things of our own, for which nothing has
            to be cited.
        family: a pattern that matches the whole names of a family of architectures;
            empty where `names` has them all.
        reason: the words for what a part is cited for, since the name of a part does
            not tell; empty for things of other kinds.
    """

    kind: str
    names: tuple[str, ...]
    keys: tuple[str, ...]
    family: str = ""
    reason: str = ""

    def covers(self, name: str) -> bool:
        """Return whether the thing of this kind with this name is among them."""
        if self.family and re.fullmatch(self.family, name):
            return True
        return name in self.names


NEEDS: tuple[Need, ...] = (
    Need("training method", ("gaussian",), ("cohen2019certified",)),
    Need("training method", ("stability",), ("li2019certified",)),
    Need("training method", ("smoothadv",), ("salman2019provably",)),
    Need("training method", ("macer",), ("zhai2020macer",)),
    Need("training method", ("consistency",), ("jeong2020consistency",)),
    Need("training method", ("smoothmix",), ("jeong2021smoothmix",)),
    Need("training method", ("cat-rs",), ("jeong2023catrs",)),
    Need("training method", ("amplify",), ("sun2025acr",)),
    Need("settings of", ("acr",), ("sun2025acr",)),
    Need("settings of", ("cat-rs",), ("jeong2023catrs",)),
    Need("settings of", ("macer",), ("zhai2020macer",)),
    Need("settings of", ("consistency",), ("jeong2020consistency",)),
    Need("settings of", ("smoothmix",), ("jeong2021smoothmix",)),
    Need("rule", ("fixed",), ("cohen2019certified",)),
    Need(
        "rule",
        ("radius", "screen", "grid", "upto", "dense"),
        ("lan1983discrete", "armitage1969repeated"),
    ),
    Need("rule", ("anytime",), ()),
    Need("rule", ("exact",), ("levine2021improved",)),
    Need("noise", ("gaussian-per-coordinate",), ("eiras2022ancer",)),
    Need("noise", ("uniform",), ("yang2020randomized",)),
    Need("noise", ("laplace",), ("teng2020l1",)),
    Need("noise", ("splitting",), ("levine2021improved",)),
    Need("noise", ("ablation",), ("levine2020robustness",)),
    Need(
        "bound",
        ("clopper-pearson", "two-sided", "pairwise", "any-class"),
        ("clopper1934use",),
    ),
    Need("bound", ("randomised",), ("voracek2024treatment",)),
    Need("data set", ("digits",), ("alpaydin1998optical",)),
    Need("data set", ("mnist",), ("lecun1998gradient",)),
    Need("data set", ("fashion-mnist",), ("xiao2017fashion",)),
    Need(
        "data set", ("cifar10", "cifar10-jpeg", "cifar100"), ("krizhevsky2009learning",)
    ),
    Need("data set", ("svhn",), ("netzer2011reading",)),
    Need("data set", ("imagenet",), ("russakovsky2015imagenet",)),
    Need(
        "data set",
        ("imagenet32",),
        ("chrabaszcz2017downsampled", "russakovsky2015imagenet"),
    ),
    Need(
        "part",
        ("certify",),
        ("cohen2019certified",),
        reason="the certificate and its radius (CERTIFY)",
    ),
    Need(
        "part",
        ("acr",),
        ("zhai2020macer", "sun2025acr"),
        reason="the average certified radius (ACR), and why not to rank by it, where you report one",
    ),
    Need(
        "part",
        ("p_a",),
        ("sun2025acr",),
        reason="the distribution of p_A, where you report one",
    ),
    Need(
        "part",
        ("sound",),
        ("voracek2023sound", "salmon2011parallel"),
        reason="certificates that no floating-point error touches, and their noise (sound)",
    ),
    Need(
        "part",
        ("routed",),
        ("sun2026dual",),
        reason="one noise for each input, by a smoothed router",
    ),
    Need(
        "part",
        ("denoised",),
        ("salman2020denoised",),
        reason="a classifier behind a denoiser",
    ),
    Need(
        "part",
        ("diffusion",),
        ("carlini2023free",),
        reason="a diffusion model as the denoiser, in one step",
    ),
    Need(
        "part",
        ("ensemble",),
        ("horvath2022boosting",),
        reason="an ensemble as the base classifier",
    ),
    Need(
        "part",
        ("soft",),
        ("zhai2020macer", "maurer2009empirical"),
        reason="soft certificates",
    ),
    Need("part", ("top-k",), ("jia2020topk",), reason="top-k certificates"),
    Need(
        "part",
        ("accuracy",),
        ("buonaccorsi1987note",),
        reason="the interval of a whole data set's certified accuracy",
    ),
    Need(
        "part",
        ("attack",),
        ("salman2019provably",),
        reason="attacks on the smoothed classifier",
    ),
    Need("part", ("ddn",), ("rony2019decoupling",), reason="the attack DDN"),
    Need(
        "part",
        ("hopskipjump",),
        ("chen2020hopskipjump",),
        reason="attacks that ask for labels alone (HopSkipJump)",
    ),
    Need("architecture", ("lenet",), ("lecun1998gradient",)),
    Need("architecture", (), ("he2016deep",), family=r"(cifar-)?resnet\d+"),
    Need("architecture", (), ("huang2017densely",), family=r"densenet\d+"),
    Need("architecture", (), ("zagoruyko2016wide",), family=r"wrn\d+-\d+"),
    Need("architecture", (), ("zhang2017beyond",), family=r"dncnn-\d+x\d+"),
    Need("architecture", ("small-cnn",), ()),
)
# Each kind once, in the order of their first needs.
KINDS = tuple(dict.fromkeys(need.kind for need in NEEDS))


class Use(NamedTuple):
    """Something that was used.

    Attributes:
        kind: one of KINDS.
        name: the name of the thing. It may be one of another package or of a user, for
            which NEEDS has no entry.
    """

    kind: str
    name: str

    @property
    def need(self) -> Need | None:
        """Return the entry of NEEDS for the thing; None where there is none."""
        for need in NEEDS:
            if need.kind == self.kind and need.covers(self.name):
                return need
        return None

    @property
    def known(self) -> bool:
        """Return whether NEEDS has an entry for the thing."""
        return self.need is not None

    def __str__(self) -> str:
        """Return the thing in words, as what a paper is cited for."""
        need = self.need
        if need is not None and need.reason:
            return need.reason
        return f"the {self.kind} {self.name}"


def names_to_cite() -> Iterator[str]:
    """Yield the names that a message may suggest for a misspelt one.

    Architectures are left out: most have no names here but patterns.
    """
    for need in NEEDS:
        if need.kind != "architecture":
            yield from need.names
