"""What a model is tried with first: slower ways are silent where they work, and a failure names its cause."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, fx, nn
from torch.nn.utils import parametrizations

import randsmooth as rs
from models.graphs import WEIGHTS
from models.refusing import check_refusals, problem_of, refusal
from randsmooth.certification import RunSpec, certify_soft, notes_of
from randsmooth.certification.backends import fold_batch_norm
from randsmooth.certification.exporting import export_model
from randsmooth.errors import ModelFailed, UnknownName, WrongModel
from randsmooth.notes import Note
from values import Refusal

X = torch.rand(3, 1, 8, 8, generator=torch.Generator().manual_seed(0))
MASKED = torch.arange(10) > 7


class Linear(nn.Module):
    """Classifies by one matrix, in the way that a function of it and the images says."""

    def __init__(self, answer: Callable[[nn.Module, Tensor], Any]) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(64, 10, bias=False))
        self.net[1].weight.data = torch.from_numpy(WEIGHTS.T.copy())
        self.answer = answer

    def forward(self, x: Tensor) -> Any:
        return self.answer(self.net, x)


def linear(
    answer: Callable[[nn.Module, Tensor], Any] = lambda net, x: net(x),
) -> nn.Module:
    return Linear(answer).eval()


def counts(model: object, **options: Any) -> NDArray[np.int64]:
    return (
        rs.SmoothedClassifier(model, **{"sigma": 0.25, "n": 300, "seed": 0} | options)
        .certify(X)
        .counts
    )


class Viewed(nn.Module):
    """The plainest network: a convolution, its batch normalisation, and a `view`."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.norm, self.out = (
            nn.Conv2d(1, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.Linear(256, 10),
        )

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.norm(self.conv(x)).relu()
        logits: Tensor = self.out(hidden.view(hidden.size(0), -1))
        return logits


def test_a_faster_way_that_fails_says_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    network = Viewed().eval()
    expected = counts(lambda x: network(torch.from_numpy(x)).detach())
    for model in (
        network,
        fx.symbolic_trace(network),
        nn.Sequential(fx.symbolic_trace(network)).eval(),
    ):
        assert np.abs(counts(model) - expected).sum() <= 4
    assert capfd.readouterr() == ("", "")


def test_the_plainest_network_prints_nothing_but_its_result(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\nfrom torch import nn\n"
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.conv, self.bn, self.last = nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.Linear(288, 10)\n"
        "    def forward(self, x):\n"
        "        h = self.bn(self.conv(x))\n"
        "        return self.last(h.view(h.size(0), -1))\n"
        "def make():\n    return Net().eval()\n"
    )
    words = [
        "certify",
        "net.py:make",
        "--dataset",
        "digits",
        "--sigma",
        "0.25",
        "--n",
        "100",
        "--take",
        "1",
        "--quiet",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "randsmooth", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_model_with_hooks_is_certified_with_them() -> None:
    """Folding batch normalisation traces a network, and a trace has none of the hooks around it."""
    network = Viewed().eval()
    network.register_forward_pre_hook(lambda _, given: (0.5 - given[0],))
    network.register_forward_hook(lambda _, given, answer: answer.flip(1))
    with torch.inference_mode():
        assert torch.allclose(fold_batch_norm(network)(X), network(X), atol=1e-6)
    expected = counts(lambda x: network(torch.from_numpy(x)).detach())
    assert np.abs(counts(network) - expected).sum() <= 4


def test_weights_that_are_computed_from_others_are_not_folded() -> None:
    for computed in (parametrizations.weight_norm, parametrizations.spectral_norm):
        network = Viewed()
        computed(network.conv)
        network.eval()
        with torch.no_grad():
            assert torch.allclose(fold_batch_norm(network)(X), network(X), atol=1e-6)


def ascent(net: nn.Module, x: Tensor) -> Tensor:
    """One step of gradient ascent before the answer, as purifiers take them."""
    at = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(net(at).logsumexp(dim=1).sum(), at)
    answer: Tensor = net((at - 0.01 * gradient).detach())
    return answer


def asking(net: nn.Module, x: Tensor) -> Tensor:
    with torch.enable_grad():
        return ascent(net, x)


def by_hand(net: nn.Module, x: Tensor) -> Tensor:
    """The same, with the gradient worked out: that of logsumexp is a softmax."""
    gradient = net(x).softmax(dim=1) @ net[1].weight  # type: ignore[index]
    answer: Tensor = net(x - 0.01 * gradient.view_as(x))
    return answer


def test_a_model_that_takes_a_gradient_is_run() -> None:
    net, expected = linear().get_submodule("net"), counts(linear(by_hand))
    for answer in (ascent, asking):
        assert np.abs(counts(linear(answer)) - expected).sum() <= 4, answer
        assert (
            np.abs(counts(lambda x: answer(net, torch.as_tensor(x))) - expected).sum()  # noqa: B023
            <= 4
        )


def test_a_model_of_one_image_at_a_time_is_asked_image_by_image() -> None:
    expected = counts(linear())
    alone = linear(lambda net, x: net(x.view(1, 1, 8, 8)))
    assert np.abs(counts(alone) - expected).sum() <= 4
    run = RunSpec.of(alone, "digits", sigma=0.25, n=100, take=1).open()
    assert Note("one_image_at_a_time") in notes_of(run).notes
    table = rs.certify(alone, "digits", sigma=0.25, n=100, take=6, seed=0)
    assert rs.certification.attack(
        alone, table, steps=1, m=10, restarts=1, n=50, take=1
    ).gradient_free


def test_minus_infinity_is_a_logit_like_any_other() -> None:
    masked = linear(lambda net, x: net(x).masked_fill(MASKED, -torch.inf))
    low = linear(lambda net, x: net(x).masked_fill(MASKED, -1e9))
    shares = linear(
        lambda net, x: net(x).masked_fill(MASKED, -1e9).softmax(dim=1).log()
    )
    for model in (
        masked,
        shares,
        rs.Ensemble([masked, low], rule="vote"),
        rs.Ensemble([masked, low]),
    ):
        assert np.array_equal(counts(model), counts(low))
    soft = [
        certify_soft(rs.SmoothedClassifier(each, sigma=0.25, seed=0), X, n0=64, n=200)
        for each in (masked, low)
    ]
    assert np.allclose(soft[0].lower, soft[1].lower)
    for wrong in (torch.inf, torch.nan):
        broken = linear(lambda net, x: net(x).masked_fill(MASKED, wrong))  # noqa: B023
        check_refusals([(lambda: counts(broken), Refusal(ModelFailed))])  # noqa: B023
    check_refusals(
        [
            (
                lambda: counts(linear(lambda net, x: net(x) - torch.inf)),
                Refusal(ModelFailed),
            )
        ]
    )


def test_a_model_that_openvino_cannot_convert_is_not_asked_about_its_size() -> None:
    pytest.importorskip("openvino")
    message = refusal(counts, linear(asking), backend="openvino")
    assert "OpenVINO cannot convert" in message
    assert "another size" not in message
    narrow = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(144, 10)).eval()
    Refusal(ModelFailed).check(problem_of(counts, narrow, backend="openvino"))


def test_an_export_of_masked_classes_is_kept(tmp_path: Path) -> None:
    masked = linear(lambda net, x: net(x).masked_fill(MASKED, -torch.inf))
    assert (
        max(
            export_model(
                masked, torch_export=tmp_path / "net.pt2", shape=(1, 8, 8)
            ).values()
        )
        < 1e-6
    )


def test_answers_that_are_no_logits_name_what_makes_logits_of_them() -> None:
    table: list[tuple[Callable[[nn.Module, Tensor], Any], Refusal]] = [
        (
            lambda net, x: {"features": x, "logits": net(x)},
            Refusal(WrongModel, "'features'", "'logits'", "answer='logits'"),
        ),
        (lambda net, x: (x, net(x)), Refusal(WrongModel, "answer=1)")),
        (lambda net, x: [net(x), net(x)], Refusal(WrongModel, "answer=0", "answer=1")),
        (
            lambda net, x: net(x)[:, 0],
            Refusal(
                WrongModel,
                "torch.float32",
                "(256,)",
                "binary='logit'",
                "binary='probability'",
            ),
        ),
        (
            lambda net, x: net(x)[:, :1],
            Refusal(
                WrongModel,
                "torch.float32",
                "(256, 1)",
                "binary='logit'",
                "binary='probability'",
            ),
        ),
        (lambda net, x: net(x).argmax(1), Refusal(WrongModel, "torch.int64", "(256,)")),
        (
            lambda net, x: net(x)[:, :, None, None],
            Refusal(WrongModel, "(256, 10, 1, 1)", "torch.nn.Flatten()"),
        ),
        (lambda net, x: net(x).T, Refusal(WrongModel, "(10, 256)")),
        (
            lambda net, x: net(x) + 0j,
            Refusal(WrongModel, "torch.complex64", "(256, 10)", ".abs()"),
        ),
        (
            lambda net, x: net(x).numpy(),
            Refusal(WrongModel, "32", "(256, 10)", "torch.from_numpy"),
        ),
        (lambda net, x: None, Refusal(WrongModel, "NoneType", "return")),
        (lambda net, x: net(x)[:1], Refusal(WrongModel, "(1, 10)", "(256, K)")),
    ]
    for answer, said in table:
        check_refusals([(lambda: counts(linear(answer)), said)])  # noqa: B023
    check_refusals(
        [
            (
                lambda: counts(rs.Ensemble([linear(table[0][0]), linear()])),
                Refusal(WrongModel, "a member", "answer='logits'"),
            )
        ]
    )


def test_the_wrapper_that_is_named_makes_logits() -> None:
    expected = counts(linear())
    parts: list[tuple[Callable[[nn.Module, Tensor], Any], str | int]] = [
        (lambda net, x: {"features": x, "logits": net(x)}, "logits"),
        (lambda net, x: (x, net(x)), 1),
        (lambda net, x: [net(x), x], 0),
    ]
    for answer, name in parts:
        model = rs.wrap(linear(answer), answer=name)
        assert np.array_equal(counts(model), expected)
        assert model.notes == (f"after the model: the part {name!r} of its answer",)
    two = counts(linear(lambda net, x: net(x)[:, [1, 0]]))

    def margin(net: nn.Module, x: Tensor) -> Any:
        return net(x)[:, :1] - net(x)[:, 1:2]

    assert np.array_equal(counts(rs.wrap(linear(margin), binary="logit")), two)
    share = linear(lambda net, x: margin(net, x).flatten().sigmoid())
    assert np.abs(counts(rs.wrap(share, binary="probability")) - two).sum() <= 4
    check_refusals(
        [
            (
                lambda: counts(rs.wrap(linear(margin), binary="probability")),
                Refusal(ModelFailed),
            ),
            (
                lambda: counts(rs.wrap(linear(), binary="logit")),
                Refusal(WrongModel, "binary='logit'", "torch.float32", "(256, 10)"),
            ),
            (
                lambda: counts(rs.wrap(linear(), answer="logits")),
                Refusal(WrongModel, "answer='logits'"),
            ),
            (
                lambda: counts(rs.wrap(linear(parts[1][0]), answer=2)),
                Refusal(WrongModel, "answer=2"),
            ),
            (
                lambda: rs.wrap(linear(), binary="shares"),
                Refusal(UnknownName, "'shares'", field="binary"),
            ),
        ]
    )


def test_numbers_of_every_kind_are_counted() -> None:
    expected = counts(linear())
    for change in (Tensor.to_sparse, Tensor.double, Tensor.half):
        assert (
            np.abs(counts(linear(lambda net, x: change(net(x)))) - expected).sum() <= 6  # noqa: B023
        ), change
    one_hot = linear(lambda net, x: net(x) == net(x).amax(dim=1, keepdim=True))
    assert np.array_equal(counts(one_hot), expected)


def test_only_shapes_are_asked_about_as_shapes() -> None:
    question = "another size (resize)?"
    shapes = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(144, 10)).eval()
    assert question in refusal(counts, shapes)

    def needs_time(net: nn.Module, x: Tensor) -> Any:
        return (lambda x, t: net(x))(x)  # type: ignore[call-arg]

    table: list[tuple[Callable[[nn.Module, Tensor], Any], str]] = [
        (needs_time, "images alone | 't' | lambda x: model(x, t)"),
        (
            lambda net, x: {"x": x}["mask"],
            "KeyError: 'mask' | model(torch.rand(2, 1, 8, 8))",
        ),
        (
            lambda net, x: torch.autograd.grad(x.detach().sum(), x),
            "takes a gradient | torch.enable_grad()",
        ),
    ]
    for answer, said in table:
        message = refusal(counts, linear(answer))
        assert question not in message
        assert [word for word in said.split(" | ") if word not in message] == [], (
            message
        )
    rows = nn.Linear(5, 2).eval()
    message = refusal(
        rs.certify, rows, (torch.randn(4, 6), [0, 1, 0, 1]), sigma=0.25, n=100
    )
    assert "inputs of another shape" in message
    assert question not in message


def test_weights_without_numbers_are_named_before_anything_runs() -> None:
    empty = nn.Sequential(nn.Flatten(), nn.Linear(64, 10, device="meta")).eval()
    lazy = nn.Sequential(nn.Flatten(), nn.LazyLinear(10)).eval()
    for model in (empty, lazy, rs.Ensemble([linear(), empty]), rs.wrap(empty)):
        for door in (
            counts,
            lambda model: rs.certify(model, "digits", sigma=0.25, n=100, take=1),
        ):
            problem = problem_of(door, model)
            Refusal(WrongModel).check(problem)
