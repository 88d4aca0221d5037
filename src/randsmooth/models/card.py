"""The model card: the README.md that travels with the weights."""

from __future__ import annotations

import json
from typing import Any

from randsmooth.escape import LONG, markdown, shortened

# How the cards of classifiers and of denoisers end.
TRAINING = """\
## Training

{% if rows -%}
| | |
|---|---|
{% for name, value in rows -%}
| {{ name }} | {{ value }} |
{% endfor %}
{%- else -%}
Nothing is recorded about how these weights were trained.
{% endif %}
## Files

`model.safetensors` holds the weights, `config.json` all that rebuilds the network around them. No pickle.
"""

TEMPLATE = (
    """\
---
{{ card_data }}
---

# {{ arch }}{{ " on " + dataset if dataset }}: a base classifier for randomized smoothing

It takes images of shape {{ shape | join("x") }} with values in [0, 1]
and tells {{ num_classes }} classes apart:
{{ classes }}.
{{ "Normalisation is its first layer." if normalised else "It does not normalise its input." }}

**Its logits are not certified.** A guarantee belongs to the *smoothed* classifier, the majority vote over
Gaussian noise of standard deviation sigma (in pixel units) added to the image, and to one image at a time:
with confidence 1 - alpha, no perturbation within the certified L2 radius changes that vote.
{{ "It never saw noise: behind a denoiser (docs/denoised.md of randsmooth) it certifies more." if clean
   else "It was trained for sigma = %s." | format(sigma) if sigma is not none
   else "The sigma that it was trained for is not recorded." }}

## Certify

In Python, with `x` an image tensor ({{ shape | join(", ") }}) in [0, 1]:

```python
import randsmooth

model = randsmooth.models.load("FOLDER")
smoothed = randsmooth.SmoothedClassifier(model, sigma={{ sigma if sigma is not none else "SIGMA" }})
certificate = smoothed.certify(x)
```

On the command line:

```sh
randsmooth certify FOLDER
```

"""
    + TRAINING
)


def fields(config: dict[str, Any]) -> dict[str, Any]:
    """What the template needs, from a classifier's `config`; names are escaped, so that they stay text in Markdown."""
    provenance = config["provenance"]
    dataset, sigma = provenance.get("dataset"), provenance.get("sigma")
    return {
        "arch": markdown(config["arch"]),
        "shape": config["shape"],
        "num_classes": len(config["classes"]),
        "classes": _listing(config["classes"]),
        "normalised": config["mean"] is not None,
        "dataset": cell(dataset) if dataset else None,
        "sigma": sigma if type(sigma) in (int, float) and sigma else None,
        "clean": type(sigma) in (int, float) and not sigma,
        "rows": rows(provenance),
    }


def rows(provenance: dict[str, Any]) -> list[tuple[str, str]]:
    """The facts on the training as cells of a table in Markdown."""
    return [(cell(name), cell(value)) for name, value in provenance.items()]


def _listing(classes: list[str], most: int = 20) -> str:
    more = f" and {len(classes) - most} more" if len(classes) > most else ""
    return ", ".join(markdown(shortened(name)) for name in classes[:most]) + more


def cell(value: Any) -> str:
    """The text of one table cell, shortened where it is too long to read."""
    return markdown(shortened(_in_words(value), LONG))


def _in_words(value: Any) -> str:
    """Nested values as `name value` pairs, everything else as JSON without quotes."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_in_words(inner)}" for name, inner in value.items())
    return value if isinstance(value, str) else json.dumps(value)
