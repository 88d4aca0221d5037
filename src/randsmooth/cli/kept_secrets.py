"""The check that no secret gets into a file or a job that others may read."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Secret

from randsmooth.cli.settings import Settings
from randsmooth.errors import BadValue
from randsmooth.urls import without_credentials


def check_no_secrets(settings: Settings, keeper: str) -> None:
    """Raise Problem for settings that hold a secret.

    They cannot be written with stars in its place: whoever runs them again would pass
    the stars to the model.

    Args:
        settings: the settings of a verb.
        keeper: the option that would write them down, such as "--save-config".
    """
    values = settings.model_dump()
    for name, value in values.get("model_arg", {}).items():
        if isinstance(value, Secret):
            raise _kept(keeper, f"the argument {name}")
    for text in _texts(values):
        public = without_credentials(text)
        # Such as the password in a URL.
        if public != text:
            raise _kept(keeper, f"the credentials in {public}")


def _kept(keeper: str, secret: str) -> BadValue:
    """Return the error for a `secret`, in words, that `keeper` would write down."""
    return BadValue(
        f"{keeper} would keep {secret}, which is secret: leave it out, and have it "
        "read from the environment (os.environ, a store's own variables)"
    )


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts in nested values."""
    if isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)
    elif isinstance(value, str):
        yield value
