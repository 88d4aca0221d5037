"""The verbs of the command line: how each is called, and what it does.

Each is a module of this folder with a function `run`, which takes the settings of the
verb. It is imported when the verb is asked for, as most take long to load.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from randsmooth.errors import check_known


@dataclass(frozen=True)
class Verb:
    """A verb of the command line.

    Attributes:
        name: What users type after `randsmooth`.
        summary: What it does, in a line.
        module: The module of this folder that holds it.
    """

    name: str
    summary: str
    module: str

    def load(self) -> Callable[[Any], None]:
        """Return the function that takes the settings of this verb and runs it."""
        run: Callable[[Any], None] = import_module(f"{__name__}.{self.module}").run
        return run


# In the order in which a beginner meets them; help lists them in this order.
VERBS = (
    Verb(
        "quickstart",
        "Train, certify and compare two methods on digits, in a minute or two.",
        "quickstart",
    ),
    Verb("train", "Train a base classifier into a model folder.", "train"),
    Verb(
        "train-denoiser",
        "Train a denoiser, which makes a classifier that never saw noise certifiable.",
        "train_denoiser",
    ),
    Verb(
        "import",
        "Make a model folder of a checkpoint of another project.",
        "import_checkpoint",
    ),
    Verb(
        "certify",
        "Certify images of a data set, and keep the evidence in a Parquet file.",
        "certify",
    ),
    Verb(
        "assess",
        "Assess your model on your images in one go: clean, noisy, certified, "
        "attacked.",
        "assess",
    ),
    Verb(
        "accuracy",
        "Measure certified accuracy at one radius to a point, with fewer samples.",
        "accuracy",
    ),
    Verb(
        "plan",
        "Estimate the samples, time, memory and disk of a certification.",
        "plan",
    ),
    Verb("merge", "Make one table of the shards of a run.", "merge"),
    Verb(
        "route",
        "Make one table of a router's and its experts': a sigma for each image.",
        "route",
    ),
    Verb("predict", "Classify image files and certify the answers.", "predict"),
    Verb("explain", "Explain the certificate of one image on a page.", "explain"),
    Verb(
        "serve",
        "Serve a web app that certifies an image while you watch.",
        "serve",
    ),
    Verb(
        "attack",
        "Try to refute certificates: search the certified balls.",
        "attack",
    ),
    Verb(
        "from-counts",
        "Turn the counts of another program into certificates.",
        "from_counts",
    ),
    Verb(
        "evaluate",
        "Print the metrics of certificate files, one row a file.",
        "evaluate",
    ),
    Verb("compare", "Compare certificate files on one HTML page.", "compare"),
    Verb(
        "check",
        "Check certified accuracy against a least value: a gate for pipelines.",
        "check",
    ),
    Verb(
        "leaderboard",
        "Rank every certificate below a folder on one page, and as JSON.",
        "leaderboard",
    ),
    Verb(
        "sweep",
        "Train, certify and rank the models of a grid of settings.",
        "sweep",
    ),
    Verb(
        "reproduce",
        "Draw a table or figure of a paper, beside the printed values.",
        "reproduce",
    ),
    Verb(
        "export",
        "Write certificates as a TSV log, or a model as an ONNX file.",
        "export",
    ),
    Verb(
        "quantise",
        "Make an int8 model of a base classifier, which is faster on CPUs.",
        "quantise",
    ),
    Verb(
        "card",
        "Write a model card with certificates, as the Hugging Face hub shows it.",
        "card",
    ),
    Verb("verify", "Check files by their digests, and describe them.", "verify"),
    Verb(
        "methods",
        "List the training methods, explain one, or list the published presets.",
        "methods",
    ),
    Verb("cite", "Print what to cite for a run.", "cite"),
    Verb(
        "doctor",
        "Report what randsmooth finds on this machine, and what is broken.",
        "doctor",
    ),
    Verb("completion", "Print the script with which a shell completes.", "completion"),
    Verb(
        "data list",
        "List the named data sets, and whether each is here, on the hub or away.",
        "data_list",
    ),
    Verb(
        "data describe",
        "Describe a data set: image shape, classes, normalisation, origin.",
        "data_describe",
    ),
)


def verb_named(name: str) -> Verb:
    """Return the verb called `name`. Problem where there is none."""
    verbs = {verb.name: verb for verb in VERBS}
    check_known("verb", verbs, name)
    return verbs[name]
