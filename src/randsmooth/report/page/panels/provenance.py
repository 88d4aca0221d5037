"""What was compared and how: the facts in the headers.

Facts that all tables share are printed once, the other facts side by side.
"""

from collections import Counter

from randsmooth.certificates import Certificates
from randsmooth.escape import NOT_RECORDED, fact_text, printable, shortened
from randsmooth.report.page.panel import PageContent, PanelView

# Field of a header -> its name on the page.
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
    "routing": "tables that it was routed from",
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

# Fact about the model in a header -> its name on the page. Facts that are not here keep
# the name that they have in the file.
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

# Fields of a header that a user may ask for; without a value they are left out.
ASKED = ("shard", "resize", "crop", "routing")
# Fields that have a default in the header of a log, of which the log itself says nothing.
UNKNOWN_OF_LOGS = ("rule", "label_aware", "sound")


def view(content: PageContent) -> PanelView:
    """Return the facts in three groups.

    They are those in common, as (name, value); those that differ, as (name, values), a
    value for each table; and the names of those that no table records.
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
        is_unasked = field in ASKED and value is None
        is_untold = field in UNKNOWN_OF_LOGS and table.is_log
        if not is_unasked and not is_untold:
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
    """Return the program that counted: randsmooth, another one, or not recorded.

    Another program is named in the words of whoever imported its counts. A log names
    none.
    """
    header = table.header
    if header.source is None:
        return NOT_RECORDED if table.is_log else "randsmooth"
    origin = f"another program ({fact_text(header.source)})"
    if header.lumped:
        origin += "; only the picked class was counted"
    return origin


def _machines(table: Certificates) -> str:
    """Return the number of rows that each machine made, in words.

    The machine that the rest of the header describes is called "as above".
    """
    # A row's number is an index into the machines of the header, or negative for the
    # machine that the rest of the header describes.
    numbers = [] if table.machine is None else table.machine.tolist()
    hosts = [machine.host or "unnamed" for machine in table.header.machines]
    rows_of_host = Counter(
        hosts[number] if number >= 0 else "as above" for number in numbers
    )
    return ", ".join(
        f"{printable(host)}: {rows:,}" for host, rows in sorted(rows_of_host.items())
    )
