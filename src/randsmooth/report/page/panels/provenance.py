"""What was compared and how: the facts in the headers.

Those that all tables have in common are printed once, the others side by side.
"""

from collections import Counter

from randsmooth.certificates import Certificates
from randsmooth.escape import NOT_RECORDED, fact_text, printable, shortened
from randsmooth.report.page.panel import PageContent, PanelView

# What the page calls the facts of a header.
HEADER_FACTS = {
    "dataset": "data set",
    "split": "split",
    "selection": "selection of images",
    "shard": "share of these images",
    "resize": "images scaled, before noise, to",
    "crop": "images cropped, before noise, to",
    "noise_title": "noise",
    "n0": "samples to pick the class, n0",
    "n": "samples to bound p_A, n",
    "alpha": "failure probability, alpha",
    "rule": "rule",
    "bound": "bound on p_A",
    "guarantee": "guarantee",
    "label_aware": "only the label is certified (evaluation only)",
    "seed": "seed",
    "sound": "noisy images rounded to k/255 exactly",
    "drawn_by": "noise stream",
    "backend": "backend",
    "precision": "precision",
    "batch": "batch",
    "device": "device",
    "instructions": "instructions of the processor",
    "versions": "versions",
    "notes": "notes",
}

# What it calls those of the model; of others it prints the file's own names.
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

# Facts that nobody misses where they were not asked for.
ASKED = ("shard", "resize", "crop")
# Facts of which a log says nothing.
UNKNOWN_OF_LOGS = ("rule", "label_aware", "sound")


def view(content: PageContent) -> PanelView:
    """Return the facts.

    Facts in common are (what, value), differing ones (what, one value a table); those
    that no file records are named.
    """
    tables = [_facts(table) for table in content.sheet.tables]
    names = dict.fromkeys(name for facts in tables for name in facts)
    common = []
    differing = []
    unrecorded = []
    for name in names:
        values = [facts.get(name, NOT_RECORDED) for facts in tables]
        if len(set(values)) > 1:
            differing.append((name, values))
        elif values[0] == NOT_RECORDED:
            unrecorded.append(name)
        else:
            common.append((name, values[0]))
    return PanelView(
        {
            "common": common,
            "differing": differing,
            "unrecorded": unrecorded,
            "command": content.command,
        },
        title="What was compared, and how",
    )


def _facts(table: Certificates) -> dict[str, str]:
    """Return the facts that one table records, in the order of the page."""
    header = table.header
    facts = {"images": f"{len(table):,}", "origin of the counts": _origin(table)}
    for field, name in HEADER_FACTS.items():
        value = getattr(header, field)
        unasked = field in ASKED and value is None
        untold = field in UNKNOWN_OF_LOGS and table.is_log
        if not unasked and not untold:
            facts[name] = fact_text(value)
    if header.alpha == 0.0:
        facts[HEADER_FACTS["alpha"]] = (
            "none: all copies were counted, the certificates are certain"
        )
    if header.machines:
        facts["machines that made the rows"] = _machines(table)
    if not header.model:
        facts["model"] = NOT_RECORDED
        return facts
    for field, value in header.model.items():
        name = MODEL_FACTS.get(field) or shortened(printable(field))
        facts[f"model: {name}"] = fact_text(value)
    return facts


def _origin(table: Certificates) -> str:
    """Say who counted: randsmooth, or another program.

    That is in the words of whoever brought its counts; a log does not say.
    """
    header = table.header
    if header.source is None:
        return NOT_RECORDED if table.is_log else "randsmooth"
    origin = f"another program ({fact_text(header.source)})"
    if header.lumped:
        origin += "; only the picked class was counted"
    return origin


def _machines(table: Certificates) -> str:
    """Say how many rows each machine made.

    The one that the rest of the header describes is "as above".
    """
    numbers = [] if table.machine is None else table.machine.tolist()
    hosts = [machine.host or "unnamed" for machine in table.header.machines]
    rows_of_host = Counter(
        hosts[number] if number >= 0 else "as above" for number in numbers
    )
    return ", ".join(
        f"{printable(host)}: {rows:,}" for host, rows in sorted(rows_of_host.items())
    )
