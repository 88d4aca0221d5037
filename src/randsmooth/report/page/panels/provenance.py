"""What was compared and how: the facts in the headers, those in common once, the others side by side."""

from __future__ import annotations

from collections import Counter

from randsmooth.certificates import Certificates
from randsmooth.escape import NOT_RECORDED, printable, setting, shortened
from randsmooth.report.page.panels import PageContent, PanelView

FACTS = {
    "dataset": "data set",
    "split": "split",
    "selection": "selection of images",
    "shard": "share of these images",
    "resize": "images scaled, before noise, to",
    "crop": "images cropped, before noise, to",
    "sigma": "noise, sigma (pixels in [0, 1])",
    "n0": "samples to pick the class, n0",
    "n": "samples to bound p_A, n",
    "alpha": "failure probability, alpha",
    "rule": "rule",
    "bound": "bound on p_A",
    "guarantee": "guarantee",
    "label_aware": "only the label is certified (evaluation only)",
    "seed": "seed",
    "sound": "noisy images rounded to k/255 exactly",
    "noise": "noise stream",
    "backend": "backend",
    "precision": "precision",
    "batch": "batch",
    "device": "device",
    "instructions": "instructions of the processor",
    "versions": "versions",
    "notes": "notes",
}

ASKED = ("shard", "resize", "crop")  # which nobody misses where they were not asked for

# What a model says of its training. A fact that is not listed here is shown under the name that its file gives it.
MODEL_FACTS = {
    "method": "training method",
    "hyperparameters": "hyperparameters",
    "preset": "preset",
    "arch": "architecture",
    "dataset": "trained on",
    "take": "number of training images",
    "sigma": "sigma of the training noise",
    "epochs": "epochs",
    "batch": "batch of the training",
    "lr": "learning rate",
    "lr_milestones": "epochs where the learning rate drops",
    "lr_gamma": "factor of these drops",
    "momentum": "momentum",
    "weight_decay": "weight decay",
    "precision": "precision of the training",
    "seed": "seed of the training",
    "device": "device of the training",
    "compile": "compiled for the training",
    "threads": "threads of the training",
    "batch_norm_devices": "devices of the training, each with its own batch norm",
    "asked": "weights of the other models that it used",
    "changed": "settings changed during the training",
    "versions": "versions at the training",
    "mean": "mean of the pixels, subtracted by the model",
    "std": "standard deviation of the pixels, divided by in the model",
    "quantised": "quantised to int8: from which model, on what images",
    "classifier": "classifier behind the denoiser",
    "denoiser": "denoiser, before the classifier",
    "source": "what made the model",
    "arguments": "arguments of what made the model",
    "weights": "weights, SHA-256",
    "called": "identity that the user gave",
    "image_column": "column of the images",
    "label_column": "column of the labels",
    "resize": "images resized to",
    "crop": "images cropped to",
    "run": "which of several runs",
    "variation": "variation of the method",
    "repository": "repository of the log",
}


def view(content: PageContent) -> PanelView:
    """Facts in common as (what, value), differing ones as (what, one value a table), and those that no file records."""
    columns = [_facts(table) for table in content.sheet.tables]
    keys = list(dict.fromkeys(key for column in columns for key in column))
    rows = [(key, [column.get(key, NOT_RECORDED) for column in columns]) for key in keys]
    alike = [(key, values[0]) for key, values in rows if len(set(values)) == 1]
    return PanelView(
        {
            "common": [(key, value) for key, value in alike if value != NOT_RECORDED],
            "differing": [(key, values) for key, values in rows if len(set(values)) > 1],
            "unrecorded": [key for key, value in alike if value == NOT_RECORDED],
            "command": content.command,
        }
    )


def _facts(table: Certificates) -> dict[str, str]:
    facts = {"images": f"{len(table):,}", "origin of the counts": _origin(table)}
    unasked = {field for field in ASKED if getattr(table.header, field) is None}
    facts |= {label: setting(getattr(table.header, field)) for field, label in FACTS.items() if field not in unasked}
    if table.header.machines:
        facts["machines that made the rows"] = _machines(table)
    if not table.header.model:
        return facts | {"model": NOT_RECORDED}
    return facts | {_model_fact(str(key)): setting(value) for key, value in table.header.model.items()}


def _origin(table: Certificates) -> str:
    """Who counted: randsmooth, or another program, in the words of whoever brought its counts; a log does not say."""
    if table.header.source is None:
        return NOT_RECORDED if table.is_log else "randsmooth"
    few = "; only the picked class was counted" if table.header.lumped else ""
    return f"another program ({setting(table.header.source)}){few}"


def _machines(table: Certificates) -> str:
    """How many rows each machine made; the one that the rest of the header describes is called so."""
    numbers = [] if table.machine is None else table.machine.tolist()
    names = [machine.host or "unnamed" for machine in table.header.machines]
    made = Counter(names[number] if number >= 0 else "as above" for number in numbers)
    return ", ".join(f"{printable(name)}: {rows:,}" for name, rows in sorted(made.items()))


def _model_fact(key: str) -> str:
    return f"model: {MODEL_FACTS[key] if key in MODEL_FACTS else shortened(printable(key))}"
