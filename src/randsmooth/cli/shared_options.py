"""Help texts of the options that mean the same to every verb that has them."""

from __future__ import annotations

from typing import Any

DATASET = (
    "Name (see `randsmooth data list`), folder of images, or file .npz, .csv, .parquet or .tar (shard-{000..012}.tar)."
)
IMAGE_COLUMN = "Column, array or extension that holds the images. (default: image, img, x, path, ...)"
LABEL_COLUMN = (
    "Column, array or extension that holds the labels; none: there are no labels. (default: label, y, target, cls, ...)"
)
RESIZE = "Scale every image before noise is added: the shorter side's pixels, or HEIGHTxWIDTH. (default: no scaling)"
CROP = "Cut the centre of every image, after scaling, before noise: a side's pixels, or HEIGHTxWIDTH. (default: all)"

FILES = (
    "Parquet files of `randsmooth certify` (of an unfinished run its journal, OUT.parquet.partial), or TSV logs as the "
    "literature publishes them."
)
SIGMA = (
    "Standard deviation sigma of the noise that TSV logs were made with. "
    "(default: what their paths say, such as noise_0.50)"
)
N = (
    "Judge as if n samples per image had been drawn: a random subset is taken. For TSV logs: the n that they were "
    "made with. "
    "(default: all samples; for logs, what their paths or radii show)"
)
ALPHA = (
    "Judge at this alpha, the probability that an image's certificate is wrong. For TSV logs: the alpha that they were "
    "made with. (default: that of each file; logs are judged at 0.001, whatever alpha their radii show)"
)
RADII = "Radii of the certified accuracies, such as 0,0.5,1. (default: every 0.25)"
BASELINE = "Name of the row that the others are compared with. (default: the Gaussian one)"
COMMA_SEPARATED: dict[str, Any] = {"cli": str, "metavar": "R,R,..."}  # how --radii is written
DEVICE = "auto, cpu, cuda, or one of several GPUs, such as cuda:1."
DEVICES = (
    "Devices of each machine that share every batch: GPUs or, with --device cpu, processes. "
    "(default: as many as torchrun started, else 1)"
)
NODES = "Machines with so many devices each, on all of which torchrun starts this command."
SYNC_BATCH_NORM = "Normalise by the whole batch's statistics, not on each device by those of its part of the batch."
LOGGER = (
    "Where metrics go besides history.csv: tensorboard, csv, mlflow or wandb. Repeatable. (default: tensorboard, where "
    "it is installed; those that a resumed run had)"
)
REPEATABLE: dict[str, Any] = {"cli": list[str], "metavar": "NAME"}  # how --logger is given
