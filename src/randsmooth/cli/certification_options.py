"""Options that certify, predict and attack share, worded once: by the fields of `CertificationSettings`."""

from __future__ import annotations

from typing import Any

from randsmooth.certificates import CertificationSettings
from randsmooth.cli.settings import option

DEFAULT = " (default: "  # begins what a description says of a default that is no fixed value


def certification_option(name: str, default: Any = None, *, stands_for: str | None = None) -> Any:
    """The option of `randsmooth certify` called `name`, with a default of its own.

    Args:
        name: a field of `CertificationSettings`, whose description is the help text.
        default: None where it is worked out when the verb runs.
        stands_for: what the default is, in words; as certify says it if omitted.

    Example:
        >>> certification_option("seed", stands_for="a new one").description
        'Seed of the noise. (default: a new one)'
    """
    help = CertificationSettings.model_fields[name].description or ""
    if default is not None or stands_for is not None:
        help = help.partition(DEFAULT)[0]
    return option(help + (f"{DEFAULT}{stands_for})" if stands_for else ""), default)
