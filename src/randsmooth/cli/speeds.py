"""How fast each backend counts on this machine, for `randsmooth doctor`: a few batches of a small network."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import torch

from randsmooth import models
from randsmooth.certificates import ARITHMETICS, Precision
from randsmooth.certification.backends import BACKENDS, Way, fastest, usual_backend, weighed
from randsmooth.certification.engine import Engine
from randsmooth.models import BaseClassifier, Classifier

SHAPE, ARCH, SIGMA = (1, 28, 28), "lenet", 0.5
UNTIMED = {
    "compile": "installed; not timed, since it compiles first",
    "python": "runs functions and estimators, at their speed",
    "mixed": "runs modules with parts that are none of torch, at their speed",
}


def speed(name: str) -> str:
    """Noisy images that are drawn and answered a second, in each precision that it takes.

    Example:
        >>> speed("python")
        'runs functions and estimators, at their speed'
    """
    if name in UNTIMED:
        return UNTIMED[name]
    device = models.pick_device("auto")
    if BACKENDS[name].accepts(_lenet()):
        if not BACKENDS[name].tried_by_auto(device) and name != usual_backend(_lenet()):
            return f"installed; not for {device}"
        rates = [f"{_rate(name, _lenet(), device, each):,.0f} in {ARITHMETICS[each]}" for each in weighed(device)]
    elif name == "onnx":
        device, rates = torch.device("cpu"), [f"{_rate_of_file():,.0f} in {ARITHMETICS['32']}"]
    else:
        return "installed; not timed, since it does not run a LeNet"
    return f"LeNet images a second on {device}: {', '.join(rates)}"


@cache
def _lenet() -> Classifier:
    with torch.random.fork_rng(devices=[]):
        return Classifier(arch=ARCH, classes=[str(i) for i in range(10)], shape=list(SHAPE)).eval()


def _rate_of_file() -> float:
    """That of ONNX Runtime on the same network as a file."""
    from randsmooth.certification import export_model, load_model

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lenet.onnx"
        export_model(_lenet(), onnx=path)
        return _rate("onnx", load_model(path), torch.device("cpu"), "32")


def _rate(name: str, model: BaseClassifier, device: torch.device, precision: Precision) -> float:
    engine = Engine(model, sigma=SIGMA, backend=name, precision=precision, device=device)
    engine.prepare(SHAPE)
    way = Way(name, precision)
    return fastest({way: engine.samples_a_second})[1][way]
