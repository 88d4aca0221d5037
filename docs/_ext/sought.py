"""The words that people type into the search, and the place that answers them: it comes first among the results.

Each is an entry of the site's index, which the search ranks above headings and text.
"""

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

# What is typed, in small letters -> page and anchor that answer it.
SOUGHT: dict[str, str] = {
    "what is randomized smoothing": "what-is-randomized-smoothing",
    "randomized smoothing": "what-is-randomized-smoothing",
    "compare two logs": "for-reviewers",
    "review": "for-reviewers",
    "reviewer": "for-reviewers",
    "memory": "troubles#out-of-memory",
    "out of memory": "troubles#out-of-memory",
    "cuda out of memory": "troubles#out-of-memory",
    "cifar10": "troubles#where-do-i-put-cifar-10-or-imagenet",
    "cifar-10": "troubles#where-do-i-put-cifar-10-or-imagenet",
    "imagenet": "troubles#where-do-i-put-cifar-10-or-imagenet",
    "no module named torch": "troubles#no-module-named-torch-or-a-missing-extra",
    "gpu": "troubles#my-gpu-is-not-used",
    "slow": "troubles#it-is-slow",
    "killed": "troubles#it-was-killed-or-the-notebook-disconnected",
    "resume": "troubles#it-was-killed-or-the-notebook-disconnected",
    "abstain": "troubles#why-does-it-abstain",
    "everything abstains": "troubles#everything-abstains-or-all-images-get-one-class",
    "which sigma": "settings#which-sigma",
    "sigma": "settings#which-sigma",
    "which n": "settings#which-n",
    "linf": "troubles#i-need-l-infinity-or-another-norm",
    "onnx": "own-model#onnx-and-openvino",
    "scikit-learn": "own-model#scikit-learn",
    "jpeg folder": "data",
    "hugging face": "other-models#transformers-and-timm",
    "denoiser": "other-models#a-classifier-that-never-saw-noise",
    "diffusion": "other-models#with-a-diffusion-model-in-one-step",
    "checkpoint": "other-models#a-checkpoint",
    "int8": "own-model#int8",
    "colab": "install#in-colab-kaggle-or-another-notebook",
    "slurm": "cluster",
    "license": "citing#license",
    "cite": "citing",
    "acr": "why-not-acr",
    "p_a": "glossary#p_a",
}


def add_entries(app: Sphinx, doctree: nodes.document) -> None:
    """Add the entries of a page to its index."""
    entries = []
    for words, place in SOUGHT.items():
        page, _, anchor = place.partition("#")
        if page == app.env.docname:
            entries.append(("single", words, anchor, "main", None))
    if entries:
        doctree.insert(0, addnodes.index(entries=entries, inline=False))


def read_again(app: Sphinx, *changes: object) -> list[str]:
    """Return the pages with such entries, so that every build reads them.

    Sphinx forgets the entries of pages that a build does not write.
    """
    return sorted({place.partition("#")[0] for place in SOUGHT.values()})


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", add_entries)
    app.connect("env-get-outdated", read_again)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
