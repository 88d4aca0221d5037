"""How the command line words a problem of the library: settings as options."""

import shlex
from typing import Any

from randsmooth.cli.settings import Settings, as_given
from randsmooth.errors import UNSAID, Setting, Spell


def spelling(settings: type[Settings]) -> Spell:
    """Return how a verb that takes `settings` spells a setting; one that it does not take stays as in Python.

    Example:
        >>> from randsmooth.cli.verbs.certify import Certify
        >>> spell = spelling(Certify)
        >>> spell(Setting("n", 5)), spell(Setting("resume", True)), spell(Setting("out"))
        ('--n 5', '--resume', '--out')
        >>> spell(Setting("layout", "NCHW", of="model_arg")), spell(Setting("q0", 0.5))
        ('--model-arg layout=NCHW', 'q0=0.5')
    """

    def spell(setting: Setting) -> str:
        name = setting.of or setting.name
        if name not in settings.model_fields:
            return str(setting)
        flag, _, without = as_given(name, settings).partition("/")
        if setting.of is not None:
            value = "..." if setting.value is UNSAID else setting.value
            return f"{flag} {setting.name}={value}"
        return _with_value(flag, without, setting.value)

    return spell


def _with_value(flag: str, without: str, value: Any) -> str:
    if value is UNSAID or value is True:
        return flag
    if value is None or value is False:
        return without or f"without {flag}"
    return f"{flag} {shlex.quote(str(value))}"
