"""`randsmooth train`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from randsmooth.cli.settings import Settings, argument, option, pairs
from randsmooth.escape import printable, say


class Train(Settings):
    """Settings of `randsmooth train`."""

    dataset: str = argument("Name (see `randsmooth data list`), or path to a folder of images or Parquet files.")
    method: str | None = option("Training method; see `randsmooth methods`. (default: the preset's, or gaussian)")
    sigma: float = option("Standard deviation of the noise, for pixels in [0, 1].", ...)
    arch: str | None = option(
        "Architecture: small-cnn, lenet, resnet20 (any 6n+2), resnet50. (default: the data set's)"
    )
    preset: str | None = option(
        "Published settings; see `randsmooth methods --presets`. (default: the method's usual ones)"
    )
    anywhere: bool = option("Use the preset on a data set that it was not published for, too.", False)
    epochs: int | None = option(
        "Epochs; the preset's schedule is compressed or stretched to them. (default: the preset's)"
    )
    set: Annotated[dict[str, Any], BeforeValidator(pairs)] = option(
        "Override a setting of the method (m, E_t, p_t, ...) or of the optimisation (lr, batch, ...). Repeatable.",
        {},
        json_schema_extra={"cli": list[str], "metavar": "KEY=VALUE"},
    )
    take: int | None = option("Train on this many images, evenly spread over the file. (default: all)")
    precision: Literal["32", "bf16-mixed"] = option("Arithmetic: 32 or bf16-mixed.", "32")
    device: str = option("auto, cpu or cuda.", "auto")
    compile: bool = option("Compile the network with torch.compile.", False)
    seed: int = option("Seed of initialisation, order, augmentation and noise.", 0)
    out: Path | None = option(
        "Folder for the model, its checkpoint and curves. (default: runs/DATASET-METHOD-SIGMA, or -PRESET-)"
    )
    resume: bool = option("Go on with an interrupted run in the folder.", False)
    accept_changes: bool = option("With --resume: go on under the settings given, where they differ.", False)
    overwrite: bool = option("Discard an earlier run in the folder.", False)


def train(settings: Train) -> None:
    """Train a base classifier into a model folder.

    Example: randsmooth train mnist --method gaussian --sigma 0.5 --epochs 5 --out runs/gaussian

    As a paper trained: randsmooth train mnist --preset cat-rs/smoothmix/table1 --sigma 1.0
    """
    from randsmooth.progress import console
    from randsmooth.training import Request
    from randsmooth.training import train as run

    request = Request(**settings.model_dump(include={*Request.model_fields}))
    out = settings.out or default_folder(settings)
    flags = settings.model_dump(include={"resume", "overwrite", "accept_changes"})
    run(request, out, **flags, progress=console)
    say(printable(f"model in {out}; certify it with: randsmooth certify {out}"))


def default_folder(settings: Train) -> Path:
    what = settings.preset.replace("/", "-") if settings.preset else settings.method or "gaussian"
    return Path("runs") / f"{Path(settings.dataset).name}-{what}-{settings.sigma:g}"
