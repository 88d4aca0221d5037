"""The verbs of the command line by name: listed without importing any of them, imported when one is asked for."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from typing import Any, NamedTuple


class Verb(NamedTuple):
    """A verb that may not be imported yet.

    Attributes:
        function: where the function is that runs it, as "module:name".
        help: the first paragraph of that function's docstring, for the list of verbs.
    """

    function: str
    help: str

    def load(self) -> Callable[[Any], None]:
        """The function, which takes the verb's settings."""
        function: Callable[[Any], None] = pkgutil.resolve_name(f"randsmooth.cli.verbs.{self.function}")
        return function


VERBS = {
    "quickstart": Verb(
        "quickstart:quickstart",
        "Train Gaussian and Amplify on digits, certify both and compare them, in a minute or two.",
    ),
    "train": Verb("train:train", "Train a base classifier into a model folder."),
    "train-denoiser": Verb(
        "train_denoiser:train_denoiser",
        "Train a denoiser, which makes a classifier that never saw noise certifiable (denoised smoothing).",
    ),
    "import": Verb(
        "import_:import_",
        "Make a model folder of a checkpoint of another project, such as locuslab/smoothing, MACER or rs4a.",
    ),
    "certify": Verb("certify:certify", "Certify images of a data set, and keep the evidence in a Parquet file."),
    "accuracy": Verb(
        "accuracy:accuracy",
        "Measure certified accuracy at one radius to a point: a few samples of every image, many of a few images.",
    ),
    "plan": Verb(
        "plan:plan",
        "Say what a certification will take: samples, time here and on workers, memory, disk, and what other rules "
        "cost.",
    ),
    "merge": Verb(
        "merge:merge",
        "Make one table of the shards of a run: the one that a single process would have made, in every count.",
    ),
    "predict": Verb(
        "predict:predict",
        "Classify image files and certify the answers: the label, and the L2 radius within which it cannot change.",
    ),
    "explain": Verb(
        "explain:explain",
        "Explain the certificate of one image on a page: its votes, distances that a person can see, an attack on it.",
    ),
    "serve": Verb(
        "serve:serve",
        "Serve a small web app in which one drops an image and watches its certificate grow, sample by sample.",
    ),
    "attack": Verb(
        "attack:attack",
        "Try to refute certificates: search each certified ball for a point with another prediction.",
    ),
    "from-counts": Verb(
        "from_counts:from_counts",
        "Turn the counts of another program into a table of certificates, whose radii are computed here.",
    ),
    "evaluate": Verb(
        "evaluate:evaluate",
        "Print the metrics of certificate files, one row a file: ACR, certified accuracies, abstention.",
    ),
    "compare": Verb(
        "compare:compare",
        "Compare certificate files on one HTML page: curves, each method against the baseline, classes, provenance.",
    ),
    "leaderboard": Verb(
        "leaderboard:leaderboard",
        "Rank every certificate below a folder on one page that sorts and filters offline, and as JSON.",
    ),
    "sweep": Verb(
        "sweep:sweep",
        "Train, certify and evaluate the models of a grid of data sets, methods, sigmas, seeds and settings; rank "
        "them.",
    ),
    "reproduce": Verb(
        "reproduce:reproduce",
        "Draw a table or figure of the papers from certificates, beside what the paper prints.",
    ),
    "export": Verb(
        "export:export",
        "Write certificates as a TSV log, or a model as an ONNX file or a program of torch.export.",
    ),
    "quantise": Verb(
        "quantise:quantise",
        "Make an int8 model of a base classifier, calibrated on noisy training images: faster on CPUs.",
    ),
    "verify": Verb(
        "verify:verify", "Say what files are, and whether their digests show that they are as they were written."
    ),
    "methods": Verb(
        "methods:methods",
        "List the training methods, explain one with its hyperparameters, or list the published presets.",
    ),
    "cite": Verb(
        "cite:cite",
        "Print what to cite for a run: randsmooth, and the papers and data sets behind what it used, each with its "
        "use.",
    ),
    "doctor": Verb(
        "doctor:doctor",
        "Say what randsmooth finds on this machine: versions, devices, backends and their speed, data sets, caches.",
    ),
    "completion": Verb(
        "completion:completion",
        "Print the script with which a shell completes verbs, options, names and files.",
    ),
}

# The verbs of `randsmooth data`.
DATA_VERBS = {
    "list": Verb(
        "data:list_",
        "List the named data sets. A name is looked for in `$RANDSMOOTH_DATA/NAME/{train,test}.parquet` first.",
    ),
    "describe": Verb(
        "data:describe",
        "Describe a data set: image shape, classes, normalisation, augmentation, usual architecture, origin.",
    ),
}
