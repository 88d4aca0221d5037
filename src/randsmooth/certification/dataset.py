"""Certify a data set with any model: from names to a file of certificates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from randsmooth import data, models
from randsmooth.certificates import Certificates, CertificationSettings, Header
from randsmooth.certification.backends import check_backend
from randsmooth.certification.checks import check_eval_mode
from randsmooth.certification.engine import Engine
from randsmooth.certification.resumable_run import certify_images, check_flags, header_of
from randsmooth.certification.run_identity import check_fit, make_header
from randsmooth.certification.smoothed import SmoothedClassifier
from randsmooth.errors import InputError
from randsmooth.frozen_record import check_not_settings, settings_from
from randsmooth.progress import Progress, chosen_progress


def certify(
    model: object,
    dataset: Any = None,
    settings: CertificationSettings | None = None,
    *,
    out: Path | str,
    split: str = "test",
    image_column: str | None = None,
    label_column: str | None = None,
    resize: Any = None,
    crop: Any = None,
    take: int | None = None,
    skip: int | None = None,
    device: str = "auto",
    identity: str | None = None,
    num_classes: int | None = None,
    model_args: Mapping[str, Any] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress | bool | None = None,
    **fields: Any,
) -> Certificates:
    """Certify images of a data set into the Parquet file `out`, with the evidence; the finished table.

    Args:
        model: where it is, as in `load_model`, or the model itself: any torch module in eval mode that takes images in
            [0, 1], TorchScript, a `torch.export` program, a scikit-learn estimator, or a function from images
            (B, C, H, W) to logits (B, K) or labels (B,).
        dataset: name, folder or file of images, arrays (x, y) or x, or any other form that `data.load` takes; default:
            the data set that the model was trained on, by its name. A folder named by the model is opened only if you
            pass it here. Images without labels are certified, too: what is then not known is whether they are right.
        settings: how to certify: n0, n, alpha, rule, backend, ... (see `CertificationSettings`). Or as keywords, each
            in place of the one in `settings`. Without sigma, the one that the model folder says.
        out: the file, `something.parquet`.
        split: train or test.
        image_column, label_column, resize, crop: as for `data.load`. Images are resized and cropped before any noise is
            added, and certificates are about the images that result; the header says how.
        take, skip: certify `take` images evenly spread over the file, or every `skip`-th; default: all.
        device: auto, cpu or cuda.
        identity: a name, given to no other model of yours, for a model whose attributes do not determine its answers,
            such as a function. Models with weights need none (see `models.identity_of`).
        num_classes: K, for a function that answers with labels; default: the number of classes of the data set.
        model_args: arguments of what opens or makes the model that is named (see `load_model`).
        resume, overwrite: go on with an interrupted run into `out`, or discard what is there. A resumed run keeps
            the backend and the batch that it had.
        progress: True shows how far the run is, False does not; default: on a terminal. Or a function like
            `progress.console`.

    Raises:
        InputError: anything that cannot be used, named, before the work starts.

    Example:
        >>> import tempfile, torch
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = certify(model, "digits", sigma=0.25, n=100, take=5, out=f"{folder}/mine.parquet")
        >>> len(table), table.header.settings.n
        (5, 100)
    """
    check_not_settings(dataset, "third")
    settings = settings_from(CertificationSettings, settings, fields)
    check_backend(settings.backend)
    out = parquet(out)
    check_flags(out, resume=resume, overwrite=overwrite)
    source = str(model) if isinstance(model, str | Path) else None
    base = opened(model, model_args or {}, num_classes)
    trained = models.provenance_of(base)
    dataset, settings = completed(dataset, settings, trained)
    place = models.pick_device(device)
    some = take is not None or skip is not None
    how: dict[str, Any] = {"image_column": image_column, "label_column": label_column, "resize": resize, "crop": crop}
    images = data.load(dataset, split, stream=some, **how)
    check_fit(base, images.spec)
    base = base if images.spec.open_ended else models.for_classes(base, images.spec.classes)
    smoothed = SmoothedClassifier(base, begun_with(out, settings) if resume else settings, device=place)
    indices, selection = choose(len(images), take, skip)
    header = make_header(smoothed, base, images, indices, selection=selection, identity=identity)
    header = with_source(header, source, model_args or {})
    with chosen_progress(progress)(f"certify {out.stem}", len(indices), "images") as reporter:
        for note in differences(base, smoothed.sigma, dataset, header):
            reporter.say(f"note: {note}")
        notes = (*chosen(smoothed.engine, header, len(indices)), *models.notes_of(base), *header.notes)
        for note in (*notes, *([] if images.labelled else [UNLABELLED])):
            reporter.say(f"note: {note}")
        return certify_images(
            smoothed, images, indices, header, out, resume=resume, overwrite=overwrite, reporter=reporter
        )


UNLABELLED = "the images have no labels, so that accuracy and ACR stay unknown"


def completed(
    dataset: Any, settings: CertificationSettings, trained: dict[str, Any]
) -> tuple[Any, CertificationSettings]:
    """Data set and settings with what they leave open taken from how the model was `trained`; the seed is 0.

    Raises:
        InputError: neither says the data set or sigma, or one of them cannot be used.
    """
    sigma = trained.get("sigma") or None if settings.sigma is None else settings.sigma  # 0: trained without noise
    if dataset is None and trained.get("dataset") is not None:
        dataset = data.registered(trained["dataset"], "the model")
    if sigma is None or dataset is None:
        missing = "sigma" if sigma is None else "dataset"
        raise InputError(f"the model does not say its {missing}; give one (--{missing} on the command line)")
    return dataset, settings.having(sigma=sigma, seed=settings.seed or 0)


def begun_with(out: Path, settings: CertificationSettings) -> CertificationSettings:
    """The settings to resume the run into `out` with: where they leave backend and batch open, those that it had."""
    header = header_of(out)
    if header is None or header.backend is None:
        return settings
    backend = header.backend if settings.backend in (None, "auto") else settings.backend
    return settings.having(backend=backend, batch=header.batch if settings.batch is None else settings.batch)


def opened(model: object, model_args: Mapping[str, Any], num_classes: int | None) -> models.BaseClassifier:
    """The base classifier that is named, or is meant by an object; modules are in eval mode."""
    if isinstance(model, str | Path):
        model = load_model(model, **model_args)
    elif model_args:
        raise InputError(f"model_args={dict(model_args)} are for a model that is named; got a {type(model).__name__}")
    base = models.adapt(model, num_classes=num_classes)
    if isinstance(base, nn.Module):
        check_eval_mode(base)
    return base


def with_source(header: Header, source: str | None, model_args: Mapping[str, Any]) -> Header:
    """The header with what made the model, where that is code or was given arguments."""
    if source is None or not (":" in source or model_args):
        return header
    said = {"source": source} | ({"arguments": dict(model_args)} if model_args else {})
    return header.having(model=(header.model or {}) | said)


def load_model(source: Path | str, **model_args: Any) -> models.BaseClassifier:
    """The base classifier that is named: a folder, `user/name` on the hub, a file, or code that makes it.

    | written | what it is |
    | --- | --- |
    | `FOLDER`, `user/name` | a model folder, here or on the Hugging Face hub |
    | `NET.onnx`, `NET.xml` | an ONNX file, an OpenVINO IR; arguments: `output`, `layout` (see `models.OnnxModel`) |
    | `NET.pt2`, `NET.pt` | what `torch.export.save` or `torch.jit.save` wrote |
    | `package.module:NAME`, `file.py:NAME` | a function that returns any model, called with `model_args`; or a model |

    `NET.pt2`, `NET.pt` and the last row are code, which is run: open only what you trust.

    Args:
        source: written as in the table.
        model_args: for what opens or makes the model.

    Raises:
        InputError: there is no such thing, or it cannot be opened; the message lists the forms.

    Example:
        >>> import tempfile
        >>> model = models.Classifier(arch="small-cnn", classes=["cat", "dog"], shape=[1, 8, 8])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     models.save(model, folder)
        ...     load_model(folder).classes
        ['cat', 'dog']
    """
    return models.adapt(models.open_source(source, **model_args))


def chosen(engine: Engine, header: Header, images: int) -> list[str]:
    """What the backend `auto` chose, in words; of an endpoint, what the run may cost."""
    if engine.backend.metered:
        samples = images * ((header.n0 or 0) + (header.n or 0))
        return [f"the endpoint is sent {samples:,} images at most, in {-(-samples // engine.size):,} requests"]
    if not engine.rates:
        return []
    rates = ", ".join(f"{name} {rate:,.0f}" for name, rate in engine.rates.items())
    return [f"backend {engine.backend.name}, batches of {engine.size} (images per second: {rates})"]


def parquet(out: Path | str) -> Path:
    """`out` as a path; InputError unless it ends in .parquet."""
    if Path(out).suffix != ".parquet":
        raise InputError(f"{out} must end in .parquet; `randsmooth export` makes a TSV log of such a file")
    return Path(out)


def choose(total: int, take: int | None, skip: int | None) -> tuple[list[int], str]:
    """Positions of the images to certify, and how they were chosen, in words."""
    if take is not None and skip is not None:
        raise InputError(f"take={take} and skip={skip} choose images in two ways: give one of them")
    if take is not None:
        return data.take(total, take).tolist(), f"take {take} of {total}"
    if skip is not None:
        return data.skip(total, skip).tolist(), f"one in {skip} of {total}"
    return list(range(total)), f"all {total}"


def differences(base: models.BaseClassifier, sigma: float, dataset: Any, header: Header) -> list[str]:
    """Where a certification is not about what the model, or a part of it, was made for: allowed, but seldom meant."""
    parts = {"the model was trained with": models.provenance_of(base)}
    if isinstance(base, models.Denoised):
        known = base.provenance
        parts = {"the classifier was trained with": {name: known[name] for name in ("dataset",) if name in known}}
        parts["the denoiser is for"] = base.denoiser_is_for
    now: dict[str, Any] = {"sigma": sigma, "resize": header.resize, "crop": header.crop}
    now |= {"dataset": str(dataset)} if isinstance(dataset, str | Path) else {}
    return [
        f"{words} {what} {_or_none(facts[what])}, not {_or_none(now[what])}"
        for words, facts in parts.items()
        for what in ("dataset", "sigma", "resize", "crop")
        if what in now and facts.get(what, now[what]) != now[what]
    ]


def _or_none(value: object) -> object:
    return "none" if value is None else value
