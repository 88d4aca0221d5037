"""`randsmooth train-denoiser`: a denoiser, which passes images to a classifier."""

from __future__ import annotations

from randsmooth import training
from randsmooth.cli.training import Trained, default_folder, train_into
from randsmooth.data.dataset_paths import check_dataset
from randsmooth.training import DenoiserSettings
from randsmooth.urls import Place


class TrainDenoiser(Trained, DenoiserSettings):
    """Settings of `randsmooth train-denoiser`: how to train, and where it writes.

    Attributes:
        out: Folder or URL for the denoiser, its checkpoint and curves. (default:
            runs/DATASET-denoiser-OBJECTIVE-SIGMA)
    """

    out: Place | None = None


def run(settings: TrainDenoiser) -> None:
    """Train a denoiser, which makes a classifier that never saw noise certifiable.

    This is denoised smoothing. With the objective mse, the denoiser learns the clean
    images and serves any classifier. With stability, it learns to keep the answers of
    one classifier.

    Example: randsmooth train-denoiser mnist --sigma 0.5 --arch dncnn-6x32 --epochs 5
    --out runs/denoiser

    For one classifier, from that denoiser: randsmooth train-denoiser mnist --sigma 0.5
    --arch dncnn-6x32 --epochs 2 --objective stability --classifier runs/clean --start
    runs/denoiser --out runs/stability
    """
    # Before torch is loaded.
    check_dataset(settings.dataset)
    out = settings.out or default_folder(
        settings.dataset, f"denoiser-{settings.objective}", settings.sigma
    )
    train_into(
        out,
        training.train_denoiser,
        settings,
        trained="denoiser",
        way_on="put it before a classifier with: "
        f"randsmooth certify CLASSIFIER --denoiser {out}",
    )
