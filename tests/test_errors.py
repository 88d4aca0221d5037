"""A mistyped name is answered with the nearest one."""

import pytest

from randsmooth.errors import InputError, setting, unknown

KNOWN = ("gaussian", "amplify", "cat-rs", "E_t")

CASES = [
    ("gausian", "unknown method 'gausian': did you mean 'gaussian'? Expected one of: E_t, amplify, cat-rs, gaussian"),
    ("GAUSSIAN", "unknown method 'GAUSSIAN': did you mean 'gaussian'? Expected one of: E_t, amplify, cat-rs, gaussian"),
    ("catrs", "unknown method 'catrs': did you mean 'cat-rs'? Expected one of: E_t, amplify, cat-rs, gaussian"),
    ("e_t", "unknown method 'e_t': did you mean 'E_t'? Expected one of: E_t, amplify, cat-rs, gaussian"),
    ("xyz", "unknown method 'xyz': expected one of: E_t, amplify, cat-rs, gaussian"),
    ("", "unknown method '': expected one of: E_t, amplify, cat-rs, gaussian"),
]


@pytest.mark.parametrize(("name", "message"), CASES)
def test_unknown(name: str, message: str) -> None:
    error = unknown("method", name, KNOWN)
    assert isinstance(error, InputError) and str(error) == message


def test_a_name_without_end_is_cut() -> None:
    assert len(str(unknown("method", "9" * 5000, KNOWN))) < 300


def test_unknown_takes_any_iterable_once() -> None:
    assert (
        str(unknown("set", "minst", iter(["mnist"])))
        == "unknown set 'minst': did you mean 'mnist'? Expected one of: mnist"
    )


def test_an_input_error_is_a_value_error() -> None:
    assert issubclass(InputError, ValueError)


def test_a_flag_that_is_not_to_be_given_is_named() -> None:
    assert setting(n=5, sound=False, resume=True) == ("n=5, sound=False, resume=True (--n 5 --resume, without --sound)")
