"""How the command line words a problem of the library: its settings as options."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from randsmooth.cli.settings import Settings, as_given, option_named
from randsmooth.errors import (
    UNSAID,
    Problem,
    Setting,
    SeveralProblems,
    Spell,
    each_problem,
)


@contextmanager
def worded_for(settings: type[Settings]) -> Iterator[None]:
    """Word the problems of this block for users of a verb that takes `settings`."""
    try:
        yield
    except Problem as error:
        spell = spelling(settings)
        worded = [Problem(problem.words(spell)) for problem in each_problem(error)]
        raise SeveralProblems(*worded) from error


def spelling(settings: type[Settings]) -> Spell:
    """Return how a verb that takes `settings` spells a setting.

    A setting that the verb does not take stays as Python spells it.

    Example:
        >>> from randsmooth.cli.verbs.certify import Certify
        >>> spell = spelling(Certify)
        >>> spell(Setting("n", 5)), spell(Setting("resume", True))
        ('--n 5', '--resume')
        >>> spell(Setting("out"))
        '--out'
        >>> spell(Setting("layout", "NCHW", of="model_arg")), spell(Setting("q0", 0.5))
        ('--model-arg layout=NCHW', 'q0=0.5')
    """

    def spell(setting: Setting) -> str:
        holder = setting.of or setting.name
        if holder not in settings.model_fields:
            return str(setting)

        option = as_given(holder, settings)
        if setting.of is not None:
            shown = "..." if setting.value is UNSAID else setting.value
            return f"{option} {setting.name}={shown}"
        is_on = settings.model_fields[holder].default is True
        if setting.value is False and is_on:
            return option_named(f"no_{holder}")
        return _with_value(option, setting.value)

    return spell


def _with_value(option: str, value: object) -> str:
    """Return an option as it is typed with a value, or left out."""
    if value is UNSAID or value is True:
        return option
    if value is None or value is False:
        return f"without {option}"
    return f"{option} {shlex.quote(str(value))}"
