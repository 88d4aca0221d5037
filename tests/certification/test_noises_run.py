"""Every rule under every noise, on digits: certified or refused in a sentence, resumed, sharded; and the rule exact."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import randsmooth as rs
from certification.runs import interrupt
from models.refusing import problem_of
from randsmooth import Problem, SmoothedClassifier
from randsmooth.certification import RunSpec, notes_of
from randsmooth.models import Classifier
from randsmooth.noise import Noise, Splitting, make_noise

NOISES = (
    "gaussian=0.5",
    "uniform=0.6",
    "laplace=0.3",
    "splitting=0.5",
    "splitting=0.1",
    "ablation=10",
    "each",
)
ALPHA, TAKE = 0.001, 4
RULES: list[dict[str, Any]] = [
    {"rule": "fixed"},
    {"bound": "two-sided"},
    {"bound": "pairwise"},
    {"bound": "randomised"},
    {"n0": 0},
    {"rule": "radius=1", "n0": 0},
    {"rule": "radius=1"},
    {"rule": "grid"},
    {"rule": "dense=1"},
    {"rule": "anytime"},
    {"rule": "anytime", "label_aware": True, "n0": 0},
    {"rule": "grid", "label_aware": True},
    {"rule": "exact"},
    {"sound": True},
]
FAR, WHOLE, COPIES, GRID = (
    "a radius of at most",
    "take rule grid",
    "splitting=0.5",
    "Gaussian noise alone",
)
REFUSED = {
    (text, "radius=1"): FAR
    for text in ("uniform=0.6", "splitting=0.5", "splitting=0.1")
}
REFUSED |= {("ablation=10", "dense=1"): WHOLE}


class Linear(nn.Module):
    """Prefers class 3 by so much that noise seldom changes it; for images with as many channels as a noise shows."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layer = nn.Linear(64 * channels, 10)
        with torch.no_grad():
            self.layer.weight.copy_(
                torch.randn(
                    10, 64 * channels, generator=torch.Generator().manual_seed(0)
                )
                * 0.3
            )
            self.layer.bias.copy_(8.0 * torch.eye(10)[3])

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.layer(x.flatten(1))
        return logits


def under(text: str) -> tuple[Noise, nn.Module]:
    """A noise, and a network that takes what it shows."""
    noise = (
        rs.noise.GaussianPerCoordinate(np.full((1, 8, 8), 0.5))
        if text == "each"
        else make_noise(text)
    )
    return noise, Linear(noise.shape((1, 8, 8))[0]).eval()


def certified(text: str, **how: Any) -> rs.Certificates:
    noise, model = under(text)
    budget = {} if how.get("rule") == "exact" else {"n": 500}
    return rs.certify(model, "digits", noise=noise, take=TAKE, **budget | how)


@pytest.mark.slow
def test_every_rule_certifies_under_every_noise_or_says_why_not() -> None:
    for text in NOISES:
        for how in RULES:
            name = (text, how.get("rule", ""))
            way_out = REFUSED.get(name)
            if how.get("rule") == "exact" and not text.startswith("splitting"):
                way_out = COPIES
            if how.get("sound") and text != "gaussian=0.5":
                way_out = GRID
            if way_out is not None:
                with pytest.raises(Problem) as refused:
                    certified(text, **how)
                assert way_out in str(refused.value), name
                continue
            table = certified(text, seed=2, **how)
            right = table.label == 3 if how.get("label_aware") else np.ones(TAKE, bool)
            assert (table.predict[right] == 3).all() and (
                table.predict[~right] == -1
            ).all(), (text, how)
            largest = (
                table.rule.farthest
                if how.get("bound") != "randomised"
                else 1.1 * table.rule.farthest
            )
            assert (table.radius <= largest).all() and (
                table.radius[right] > 0
            ).all(), (text, how)
            assert table.header.norm == table.rule.noise.norm, (text, how)


@pytest.mark.slow
def test_counts_depend_neither_on_shards_nor_on_where_a_run_was_killed(
    tmp_path: Path,
) -> None:
    for text, rule in [
        *((each, "grid") for each in NOISES[1:]),
        ("splitting=0.5", "exact"),
    ]:
        whole, out = certified(text, rule=rule), tmp_path / f"{text}-{rule}.parquet"
        for shard in ("1/2", "2/2"):
            certified(text, rule=rule, out=out, shard=shard)
        parts = [out.with_name(f"{out.stem}-{k}-of-2.parquet") for k in (1, 2)]
        merged = rs.merge(parts, out=out)
        killed = out.with_name("killed.parquet")
        interrupt(certified, text, stop=2, rule=rule, out=killed)
        resumed = certified(text, rule=rule, out=killed, resume=True)
        for other in (merged, resumed, rs.certificates.read(out)):
            assert np.array_equal(other.evidence(), whole.evidence()), text
            assert np.array_equal(other.radius, whole.radius), text
            assert (
                other.header.noise == whole.header.noise
                and other.header.norm == whole.header.norm
            ), text
        killed.unlink()


class Brighter(nn.Module):
    """Class 1 where the first pixel is above one half, else 0: its smoothed probabilities are known."""

    def forward(self, x: Tensor) -> Tensor:
        first = x.flatten(1)[:, 0]
        return torch.stack([0.5 - first, first - 0.5], dim=1)


def test_certificates_of_a_known_classifier_are_wrong_no_more_often_than_alpha() -> (
    None
):
    """P(class 1) is exactly 0.7, so that radius(0.3) is the true one; 200 images, which differ in other pixels."""
    alpha, images = 0.05, 200
    x = torch.rand(images, 1, 4, 4, generator=torch.Generator().manual_seed(0))
    for text, at in (
        ("uniform=0.5", 0.7),
        ("splitting=0.5", 0.7),
        ("laplace=0.5", 0.5 + 0.5 * np.log(1 / 0.6)),
    ):
        noise = make_noise(text)
        x[:, 0, 0, 0] = at
        for rule in ("fixed", "anytime", "grid"):
            smoothed = SmoothedClassifier(
                Brighter().eval(), noise=noise, n=400, alpha=alpha, seed=0
            )
            found = smoothed.certify(x, rule=rule)
            wrong = float(
                np.mean(
                    (found.predict == 0) | (found.radius > noise.radius(0.3 - 1e-6))
                )
            )
            assert wrong <= alpha + 4 * np.sqrt(alpha * (1 - alpha) / images), (
                text,
                rule,
            )
            assert (found.radius > 0).mean() > 0.9, (text, rule)


def test_exact_shares_are_those_of_all_thresholds_and_no_image_on_the_grid_is_missed() -> (
    None
):
    """Class 1 of the first pixel k/255 has k of 255 copies: the radius is its distance from where it has half."""
    x = torch.zeros(256, 1, 2, 2)
    x[:, 0, 0, 0] = torch.arange(256) / 255
    found = SmoothedClassifier(
        Brighter().eval(), noise="splitting=0.5", rule="exact"
    ).certify(x)
    ones = found.counts[:, 1]
    assert (
        np.array_equal(ones, np.arange(256))
        and (found.predict == (np.arange(256) > 127)).all()
    )
    steps = np.where(np.arange(256) > 127, np.arange(256) - 128, 127 - np.arange(256))
    assert np.array_equal((found.radius * 255).round().astype(int), steps)


def test_exact_certificates_hold_at_every_image_of_a_small_grid() -> None:
    """All images of two pixels within the radius are certified too: none has another class."""
    torch.manual_seed(1)
    model, noise = (
        nn.Sequential(
            nn.Flatten(), nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 3)
        ).eval(),
        Splitting(4 / 255),
    )
    smoothed = SmoothedClassifier(model, noise=noise, rule="exact")
    a, b = (
        each.flatten()
        for each in torch.meshgrid(torch.arange(256), torch.arange(256), indexing="ij")
    )
    near = (a - 128).abs() + (b - 128).abs() <= 8
    x = torch.stack([a[near], b[near]], dim=1).view(-1, 1, 1, 2) / 255
    found = smoothed.certify(x)
    k = (x.flatten(1) * 255).round().numpy()
    apart = np.abs(k[:, None] - k[None]).sum(axis=2)
    within = (apart <= np.rint(found.radius * 255)[:, None]) & (found.predict >= 0)[
        :, None
    ]
    assert (
        within.sum() > len(x)
        and (found.predict[:, None] == found.predict[None])[within].all()
    )
    assert (
        SmoothedClassifier(model, noise=noise, rule="exact").predict(x) == found.predict
    ).all()  # seed 0, unasked


def test_what_exact_leaves_nothing_to_choose_of_is_refused() -> None:
    for asked in (
        {"n0": 50},
        {"n": 1000},
        {"alpha": 0.01},
        {"label_aware": True},
        {"bound": "two-sided"},
    ):
        with pytest.raises(Problem, match="exact"):
            certified("splitting=0.5", rule="exact", **asked)
    header = certified("splitting=0.5", rule="exact").header
    assert (header.n0, header.n, header.alpha, header.seed) == (0, 255, 0.0, 0)
    assert (
        "certainty" in (header.guarantee or "")
        and header.settings.replace(rule="fixed").n == 100_000
    )
    unseeded = SmoothedClassifier(under("splitting=0.5")[1], noise="splitting=0.5")
    exact = SmoothedClassifier(unseeded.model, noise="splitting=0.5", rule="exact")
    with pytest.raises(Problem, match="grid k/255"):
        exact.certify(torch.full((1, 8, 8), 0.5))
    with pytest.raises(Problem, match="seed"):  # each call has another classifier
        unseeded.certify(torch.zeros(1, 8, 8), rule="exact")


def test_another_noise_than_in_training_is_noted_and_other_channels_are_refused() -> (
    None
):
    def trained(**said: Any) -> Classifier:
        own: dict[str, Any] = {
            "arch": "small-cnn",
            "classes": list("0123456789"),
            "shape": [1, 8, 8],
        }
        hidden = (said.get("noise") or {}).get("name") == "ablation"
        return Classifier(
            **own, extra_channels=int(hidden), provenance={"dataset": "digits"} | said
        ).eval()

    uniform, ablation = (
        {"noise": make_noise(text).of((1, 8, 8)).facts()}
        for text in ("uniform=0.6", "ablation=10")
    )
    for said, noise, expected in (
        ({"sigma": 0.5}, "uniform=0.6", ("noise", "gaussian=0.5", "uniform=0.6")),
        (uniform, "gaussian=0.5", ("noise", "uniform=0.6", "gaussian=0.5")),
        (uniform, "uniform=0.3", ("noise", "uniform=0.6", "uniform=0.3")),
        (ablation, "ablation=5", ("noise", "ablation=10", "ablation=5")),
        (uniform, None, None),
        (ablation, "ablation=10", None),
        ({"sigma": 0.5}, "gaussian=0.25", ("sigma", "0.5", "0.25")),
    ):
        run = RunSpec.of(trained(**said), noise=noise, n=100, take=2).open()
        told = [
            (note.facts["fact"], str(note.facts["before"]), str(note.facts["now"]))
            for note in notes_of(run).notes
            if note.kind == "other_training"
        ]
        assert told[:1] == ([expected] if expected else []), (said, noise)
    for said, noise, named in (
        ({}, "ablation=10", ("(2, 8, 8)", "ablation=10")),
        ({"sigma": 0.5}, "ablation=10", ("noise='ablation=10'",)),
        (ablation, "gaussian=0.5", ("ablation=10",)),
    ):
        problem = problem_of(
            rs.certify, trained(**said), "digits", noise=noise, n=100, take=2
        )
        assert all(name in str(problem) for name in named), (said, noise)
