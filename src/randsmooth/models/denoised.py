"""Denoised smoothing: a classifier that never saw noise behind a denoiser, a trained one or one step of a diffusion."""

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from randsmooth.documents import shown
from randsmooth.errors import (
    BadValue,
    MissingValue,
    Setting,
    WrongFile,
    WrongModel,
    article,
)
from randsmooth.extras import needs
from randsmooth.models.base_classifier import (
    Around,
    as_module,
    is_traced,
    notes_of,
    pick_device,
)
from randsmooth.models.folder import StoredModel
from randsmooth.models.library_folders import (
    FEWEST_TENSORS,
    check_loaded,
    check_settings,
    checked_weights,
    no_larger_than,
    read_settings,
    silent,
)
from randsmooth.models.weights import weights_hash
from randsmooth.urls import fetched, is_url

MOST_CHANNELS = 2**10
USUAL = "dncnn-17x64"  # of Salman et al. 2020, for CIFAR-10 and ImageNet
DEPTHS, WIDTHS = range(3, 201), range(1, 2049)

Prediction = Literal["epsilon", "v_prediction", "sample"]
PREDICTIONS: tuple[Prediction, ...] = get_args(Prediction)
PIPELINE, SCHEDULER, CONFIG = "model_index.json", "scheduler_config.json", "config.json"
NETWORK = "UNet2DModel"  # the class of diffusers that predicts from an image and a timestep alone


class DnCNN(nn.Module):
    """image = noisy - R(noisy): R predicts the noise (Zhang et al., IEEE TIP 2017).

    R is a 3x3 convolution with ReLU, `depth` - 2 times convolution, batch normalisation and ReLU, and a convolution.
    Only the first convolution has a bias. Layers are named and numbered as in the weights that Salman et al. released.
    R starts at 0, so an untrained network returns its input.

    Args:
        channels: of the images.
        depth: convolutions, 3 or more.
        width: channels between them.
    """

    def __init__(self, *, channels: int, depth: int, width: int) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
        for _ in range(depth - 2):
            # eps as released. Their momentum, 0.95, would keep little more than the last batch: torch counts the share
            # of the new batch, the framework that the number comes from that of the old ones.
            normalised = nn.BatchNorm2d(width, eps=1e-4, momentum=0.05)
            layers += [
                nn.Conv2d(width, width, 3, padding=1, bias=False),
                normalised,
                nn.ReLU(),
            ]
        self.dncnn = nn.Sequential(
            *layers, nn.Conv2d(width, channels, 3, padding=1, bias=False)
        )
        for layer in layers:
            if isinstance(layer, nn.Conv2d):
                nn.init.orthogonal_(layer.weight)
        nn.init.zeros_(self.dncnn[0].bias)  # type: ignore[arg-type]
        nn.init.zeros_(self.dncnn[-1].weight)  # type: ignore[arg-type]

    def forward(self, noisy: Tensor) -> Tensor:
        """Images (B, C, H, W) of noisy ones, not limited to [0, 1]."""
        return noisy - self.dncnn(noisy)  # type: ignore[no-any-return]


class Denoiser(StoredModel):
    """A denoiser, images (B, C, H, W) of noisy ones of any size (Salman et al., NeurIPS 2020). See `Denoised`.

    Args:
        channels: of the images.
        arch: "dncnn-DEPTHxWIDTH"; Salman et al. use dncnn-17x64, for which "dncnn" alone stands.
        provenance: how it was trained, as plain JSON: dataset, sigma, objective, ... It is copied; {} if unknown.

    Raises:
        Problem: any of these cannot be used.

    Example:
        >>> denoiser = Denoiser(channels=1, arch="dncnn-5x16", provenance={"sigma": 0.25}).eval()
        >>> noisy = torch.randn(2, 1, 8, 8)
        >>> torch.equal(denoiser(noisy), noisy), denoiser.sigma  # untrained, it leaves the noise where it is
        (True, 0.25)
    """

    kind = "denoiser"

    def __init__(
        self,
        *,
        channels: int,
        arch: str = USUAL,
        provenance: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if type(channels) is not int or not 1 <= channels <= MOST_CHANNELS:
            raise BadValue(
                field="channels",
                value=channels,
                fix=f"expected 1 (grey) to {MOST_CHANNELS}, usually 3 (RGB)",
            )
        match = re.fullmatch(
            r"dncnn-(\d{1,4})x(\d{1,4})", USUAL if arch == "dncnn" else str(arch)
        )
        depth, width = (int(match[1]), int(match[2])) if match else (0, 0)
        if depth not in DEPTHS or width not in WIDTHS:
            limits = f"depth from {DEPTHS[0]} to {DEPTHS[-1]}, width from {WIDTHS[0]} to {WIDTHS[-1]:,}"
            raise BadValue(
                field="arch",
                value=arch,
                fix=f"expected dncnn-DEPTHxWIDTH, such as {USUAL}, {limits}",
            )
        self.arch, self.channels = f"dncnn-{depth}x{width}", channels
        self.network = DnCNN(channels=channels, depth=depth, width=width)
        self.config = {"arch": self.arch, "channels": channels}
        self.provenance = {} if provenance is None else provenance

    @property
    def sigma(self) -> float | None:
        """The noise that it was trained for, in units of pixels in [0, 1]; None where that is not recorded."""
        sigma: object = self.provenance.get("sigma")
        return float(sigma) if type(sigma) in (int, float) else None  # type: ignore[arg-type]

    def forward(self, noisy: Tensor) -> Tensor:
        """Images (B, C, H, W), not limited to [0, 1]."""
        return self.network(noisy)  # type: ignore[no-any-return]


class DiffusionDenoiser(nn.Module):
    """One step of a diffusion model: images (B, C, H, W) in [0, 1] of images under Gaussian noise of one `sigma`.

    A diffusion model knows images in [-1, 1], twice as wide, as x_t = sqrt(abar_t) x + sqrt(1 - abar_t) noise. So a
    noisy image in [0, 1] is one of its x_t, once scaled, where (1 - abar) / abar = (2 sigma)^2: with
    abar = 1 / (1 + 4 sigma^2), x_t = sqrt(abar) (2 noisy - 1). From x_t the network's prediction gives the image, which
    is clipped and shifted back to [0, 1] (Carlini et al., "(Certified!!) Adversarial Robustness for Free!", ICLR 2023,
    algorithm 1). The step is deterministic, as a base classifier must be.

    A schedule has only some noise levels. Scale and image are computed for the exact sigma, and only the timestep that
    the network is told is the nearest of the schedule, by ratio of the levels: `mismatch` says how near. Whatever it
    is, no guarantee depends on it: the noise of a certificate is added to the image, before this.

    Args:
        network: gives its prediction (B, C, H, W) for x_t (B, C, H, W) and timesteps (B,), whole numbers from 0: a
            `diffusers` UNet, or any callable. Of 2C channels, as models with a learned variance give, the first C
            count.
        sigma: of the noise to remove, in units of pixels in [0, 1].
        alphas_cumprod: abar_t by timestep, falling: `scheduler.alphas_cumprod`.
        prediction: what the network predicts: "epsilon", the noise; "v_prediction"; or "sample", the image.

    Raises:
        Problem: one of these cannot be used, or sigma lies outside the noise levels of the schedule.

    Attributes:
        sigma: as given.
        timestep: that the network is told.
        alpha_bar: 1 / (1 + 4 sigma^2).
        mismatch: the schedule's noise level at `timestep` over the exact one, minus 1.

    Example:
        >>> abar = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000), 0)
        >>> denoiser = DiffusionDenoiser(lambda x_t, t: torch.zeros_like(x_t), sigma=0.25, alphas_cumprod=abar)
        >>> denoiser.timestep, denoiser.alpha_bar, abs(denoiser.mismatch) < 0.01
        (144, 0.8, True)
        >>> denoiser(torch.full((2, 1, 8, 8), 0.75)).unique()  # this network never sees any noise in it
        tensor([0.7500])
    """

    def __init__(
        self,
        network: Callable[[Tensor, Tensor], Any],
        *,
        sigma: float,
        alphas_cumprod: Tensor | Sequence[float],
        prediction: Prediction = "epsilon",
    ) -> None:
        super().__init__()
        if prediction not in PREDICTIONS:
            raise BadValue(
                field="prediction",
                value=prediction,
                fix=f"expected one of {', '.join(PREDICTIONS)}",
            )
        self.network, self.prediction = network, prediction
        self.training = isinstance(network, nn.Module) and network.training
        levels = _noise_levels(alphas_cumprod) / 2.0  # for images in [0, 1]
        least, most = float(levels[0]), float(levels[-1])
        if (
            not isinstance(sigma, int | float)
            or not sigma > 0.0
            or not least <= sigma <= most
        ):
            known = f"from {least:.3g} to {most:.3g}, for pixels in [0, 1]"
            raise BadValue(
                field="sigma",
                value=sigma,
                fix=f"the noise levels of this diffusion model are {known}",
            )
        self.sigma = float(sigma)
        self.alpha_bar = 1.0 / (1.0 + 4.0 * self.sigma**2)
        self.timestep = int((levels / self.sigma).log().abs().argmin())
        self.mismatch = float(levels[self.timestep]) / self.sigma - 1.0
        name = getattr(network, "__qualname__", type(network).__qualname__)
        self.arch = (
            f"one step of the diffusion model {name}"  # in a certificate, as are these:
        )
        said = ("sigma", "timestep", "alpha_bar", "mismatch", "prediction")
        self.provenance = {fact: getattr(self, fact) for fact in said}

    def forward(self, noisy: Tensor) -> Tensor:
        """Images (B, C, H, W) in [0, 1] of noisy ones."""
        signal, noise = math.sqrt(self.alpha_bar), math.sqrt(1.0 - self.alpha_bar)
        x_t = signal * (2.0 * noisy - 1.0)
        predicted = self._prediction(x_t)
        if self.prediction == "epsilon":
            x = (x_t - noise * predicted) / signal
        else:
            x = (
                signal * x_t - noise * predicted
                if self.prediction == "v_prediction"
                else predicted
            )
        return (x.clamp(-1.0, 1.0) + 1.0) / 2.0

    def _prediction(self, x_t: Tensor) -> Tensor:
        """(B, C, H, W) what the network predicts. Problem where it answers with something else."""
        answer = self.network(
            x_t,
            torch.full(
                (x_t.shape[0],), self.timestep, dtype=torch.int64, device=x_t.device
            ),
        )
        if not isinstance(answer, Tensor):  # what `diffusers` returns
            answer = (
                answer[0]
                if isinstance(answer, tuple)
                else getattr(answer, "sample", answer)
            )
        shape = tuple(getattr(answer, "shape", ()))
        if shape == (len(x_t), 2 * x_t.shape[1], *x_t.shape[2:]):
            answer = answer[:, : x_t.shape[1]]  # the others are a learned variance
        elif shape != x_t.shape:
            got = f"{tuple(x_t.shape)} with {shape or type(answer).__name__}"
            raise WrongModel(
                f"the diffusion model answers {got}; expected the same shape, or twice the channels"
            )
        return answer  # type: ignore[no-any-return]


def _noise_levels(alphas_cumprod: Tensor | Sequence[float]) -> Tensor:
    """(T,) sqrt((1 - abar_t) / abar_t), the noise in images in [-1, 1]. Problem for what is no schedule."""
    abar = torch.as_tensor(alphas_cumprod, dtype=torch.float64).detach().cpu()
    if (
        abar.dim() != 1
        or not bool((abar.diff() < 0).all())
        or not 1 >= abar[0] >= abar[-1] >= 0
    ):
        raise WrongModel(
            "alphas_cumprod must be the abar_t of every timestep, from 1 down to 0, and not the betas"
        )
    return ((1.0 - abar) / abar).sqrt()


def load_denoiser(
    source: Path | str,
    *,
    sigma: float | None = None,
    device: torch.device | str = "cpu",
) -> Denoiser | DiffusionDenoiser:
    """The denoiser in a folder, in eval mode on `device`.

    Args:
        source: a folder of `train-denoiser`, or the hub's "user/name" of one; or the folder of an unconditional
            diffusion model as the DDPMPipeline of `diffusers` saves it.
        sigma: of the noise to remove, which a diffusion model must know.
        device: where to load it to.

    Raises:
        Problem: there is no such denoiser, it is damaged, or a diffusion model is not told sigma.

    Example:
        >>> import tempfile
        >>> from randsmooth import models
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     models.save(Denoiser(channels=1, arch="dncnn-5x16"), folder)
        ...     load_denoiser(folder).arch
        'dncnn-5x16'
    """
    folder = fetched(source) if is_url(source) else source
    if (Path(folder) / PIPELINE).is_file():
        return _from_diffusers(Path(folder), sigma).to(pick_device(device))
    return Denoiser.load(folder, device)


def _from_diffusers(folder: Path, sigma: float | None) -> DiffusionDenoiser:
    """The unconditional diffusion model in a `folder` of diffusers, in eval mode; Problem where it is another."""
    if sigma is None:
        raise MissingValue(
            f"{folder} is a diffusion model, which must know the noise to remove",
            field="sigma",
            fix=("give ", Setting("sigma")),
            file=folder,
        )
    network, scheduler = folder / "unet", folder / "scheduler" / SCHEDULER
    said = read_settings(network / CONFIG)
    if (kind := said.get("_class_name")) != NETWORK:
        way = "pass others as a function of x_t and timesteps to randsmooth.DiffusionDenoiser"
        raise WrongFile(
            f"{network} holds a {shown(repr(kind))}; expected a {NETWORK} (no text or class): {way}",
            file=network,
        )
    levels = read_settings(scheduler)
    check_settings(levels, str(scheduler), FEWEST_TENSORS)
    held = checked_weights(network, said, CONFIG, "diffusion_pytorch_model")
    with needs("a diffusion model of diffusers"):
        from diffusers import DDPMScheduler, UNet2DModel
    how: dict[str, Any] = {
        "local_files_only": True,
        "use_safetensors": True,
        "output_loading_info": True,
    }
    try:
        with silent("diffusers"), torch.random.fork_rng(devices=[]):
            with (
                no_larger_than(held),
                torch.device("meta"),
            ):  # before any memory is taken
                UNet2DModel.from_config(said)
            unet, loaded = UNet2DModel.from_pretrained(str(network), **how)
            schedule = DDPMScheduler.from_config(levels)
            steps, prediction = schedule.alphas_cumprod, schedule.config.prediction_type
    except (
        Exception
    ) as error:  # of a configuration that nobody wrote, diffusers raises whatever comes
        raise WrongModel(
            f"{network} cannot be loaded by diffusers ({shown(error) or type(error).__name__})",
            file=network,
        ) from error
    check_loaded(loaded, network, "the diffusion model", "save the whole network")
    return DiffusionDenoiser(
        unet.eval(), sigma=sigma, alphas_cumprod=steps, prediction=prediction
    )


class Denoised(Around):
    """The base classifier x -> classifier(denoiser(x)) (Salman et al., "Denoised Smoothing", NeurIPS 2020).

    Noise is added to the image, before the denoiser: both parts together are what a certificate is about, so it holds
    whatever the denoiser does. Of a poor one the radii are small, none is wrong.

    Args:
        denoiser: images (B, C, H, W) of noisy ones: a module, such as `Denoiser` or `DiffusionDenoiser`; a folder that
            `load_denoiser` reads; or a function of tensors.
        classifier: logits (B, K) of images (B, C, H, W) in [0, 1], or nearly: a denoiser may leave that range a little.
            Any model that `adapt` takes, or its name, as in `load_model`.

    Raises:
        Problem: one of the two cannot be loaded or called.

    Attributes:
        denoiser, classifier: the two, as modules.

    Example:
        >>> import torch
        >>> classifier = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> base = Denoised(lambda noisy: noisy.clamp(0, 1), classifier)
        >>> base(torch.randn(3, 1, 8, 8)).shape
        torch.Size([3, 10])
    """

    answering = "classifier"

    def __init__(
        self,
        denoiser: nn.Module | Callable[[Tensor], Tensor] | Path | str,
        classifier: object,
    ) -> None:
        super().__init__()
        loaded = (
            load_denoiser(denoiser) if isinstance(denoiser, str | Path) else denoiser
        )
        self.denoiser = loaded if isinstance(loaded, nn.Module) else Called(loaded)
        self.classifier = as_module(classifier)
        self.training = self.denoiser.training or self.classifier.training

    shape = property(
        lambda self: _said(self.classifier, "shape"),
        doc="(C, H, W) of an image, where it is known.",
    )
    classes = property(
        lambda self: _said(self.classifier, "classes"),
        doc="Their names, where they are known.",
    )

    @property
    def provenance(self) -> dict[str, Any]:
        """The classifier's data set and the denoiser's sigma, as far as they say them."""
        return self._facts(self.classifier)

    @property
    def denoiser_is_for(self) -> dict[str, Any]:
        """The data set and the sigma that the denoiser is for, as far as it says them."""
        return self._facts(self.denoiser)

    def _facts(self, part: nn.Module) -> dict[str, Any]:
        facts = {
            "dataset": _provenance(part).get("dataset"),
            "sigma": _said(self.denoiser, "sigma"),
        }
        return {name: value for name, value in facts.items() if value is not None}

    @property
    def arch(self) -> str:
        """What the two parts are, in a few words."""
        return f"{_arch(self.classifier)} behind {_arch(self.denoiser)}"

    @property
    def notes(self) -> tuple[str, ...]:
        """The denoiser, and what lies between its images and their labels besides a network."""
        return (
            f"after noise: denoised by {_arch(self.denoiser)}",
            *notes_of(self.classifier),
        )

    def facts(self) -> dict[str, Any]:
        """What a certificate says of the two parts: what each is, its weights and how it was trained."""
        parts = {"classifier": self.classifier, "denoiser": self.denoiser}
        known = {
            name: {"weights": weights_hash(part), "arch": _arch(part)}
            for name, part in parts.items()
        }
        return {"arch": self.arch} | {
            name: _provenance(part) | known[name] for name, part in parts.items()
        }

    def forward(self, noisy: Tensor) -> Tensor:
        """Logits (B, K) of noisy images (B, C, H, W)."""
        return self.classifier(self.denoiser(noisy))  # type: ignore[no-any-return]


class Called(nn.Module):
    """A function of tensors as a module. Problem where it cannot be called."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        if not callable(function):
            got = f"{article(type(function).__name__)}, {shown(repr(function))}"
            raise WrongModel(
                f"the denoiser is {got}; expected a torch.nn.Module, a folder or a function of tensors"
            )
        self.function = function
        self.training = False

    def forward(self, x: Tensor) -> Tensor:
        if is_traced():  # a trace would keep what a function computes outside of torch
            raise RuntimeError("a function cannot be traced; use the torch backend")
        return self.function(x)  # type: ignore[no-any-return]


def _said(part: nn.Module, name: str) -> Any:
    """What a part of ours says of itself; an attribute of another's may mean something else."""
    return (
        getattr(part, name, None)
        if isinstance(part, StoredModel | DiffusionDenoiser | Around)
        else None
    )


def _provenance(part: nn.Module) -> dict[str, Any]:
    return _said(part, "provenance") or {}


def _arch(part: nn.Module) -> str:
    """What a part is, in a word or a few."""
    inner = part.function if isinstance(part, Called) else part
    return str(
        _said(part, "arch") or getattr(inner, "__qualname__", type(inner).__qualname__)
    )
