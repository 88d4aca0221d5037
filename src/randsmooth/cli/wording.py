"""How the command line words problems and notes of the library: settings as options."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from randsmooth.cli.settings import Settings, as_given, option_named
from randsmooth.errors import (
    UNSAID,
    Problem,
    RunFailed,
    Setting,
    SeveralProblems,
    Spell,
    each_problem,
)
from randsmooth.progress import spelt_by


@contextmanager
def worded_for(settings: type[Settings]) -> Iterator[None]:
    """Word the problems and notes of this block for users of a verb with `settings`."""
    spell = spelling(settings)
    try:
        with spelt_by(spelling_in_notes(settings)):
            yield
    # It stays a RunFailed, which has an exit code of its own.
    except RunFailed as error:
        raise RunFailed(error.words(spell)) from error
    except Problem as error:
        worded = [Problem(problem.words(spell)) for problem in each_problem(error)]
        raise SeveralProblems(*worded) from error


def spelling(settings: type[Settings]) -> Spell:
    """Return a function that spells a setting as a verb with `settings` takes it.

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
        """Return a setting as an option, or as Python spells it."""
        # `of` is the setting that holds this one: model_arg holds layout.
        holder = setting.of or setting.name
        if holder not in settings.model_fields:
            return str(setting)

        option = as_given(holder, settings)
        if setting.of is not None:
            value = "..." if setting.value is UNSAID else setting.value
            return f"{option} {setting.name}={value}"
        # A flag that is on by default has a --no- form, which turns it off.
        is_on_by_default = settings.model_fields[holder].default is True
        if setting.value is False and is_on_by_default:
            return option_named(f"no_{holder}")
        return _with_value(option, setting.value)

    return spell


def spelling_in_notes(settings: type[Settings]) -> Spell:
    """Return a function that spells a setting in notes of a verb with `settings`.

    A note may name a setting that the verb does not take. Another verb took it when it
    began the run, so that it is spelt as an option, too.

    Example:
        >>> from randsmooth.cli.verbs.verify import Verify
        >>> spelling_in_notes(Verify)(Setting("resume", True))
        '--resume'
    """
    spell = spelling(settings)

    def spell_in_note(setting: Setting) -> str:
        """Return a setting as an option."""
        # A setting that another one holds is spelt by `spell` in any case.
        if setting.of is not None or setting.name in settings.model_fields:
            return spell(setting)
        return _with_value(option_named(setting.name), setting.value)

    return spell_in_note


def _with_value(option: str, value: object) -> str:
    """Return an option as it is typed with a value; "without" it for None and False."""
    if value is UNSAID or value is True:
        return option
    if value is None or value is False:
        return f"without {option}"
    return f"{option} {shlex.quote(str(value))}"
