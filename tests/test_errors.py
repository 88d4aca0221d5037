"""A mistyped name is answered with the nearest one."""

from randsmooth.errors import InputError, unknown

KNOWN = ("gaussian", "amplify", "cat-rs", "E_t")
NEAREST = {"gausian": "gaussian", "GAUSSIAN": "gaussian", "catrs": "cat-rs", "e_t": "E_t", "xyz": None, "": None}


def test_an_unknown_name_is_repeated_with_the_nearest_and_all_that_are_known() -> None:
    for name, near in NEAREST.items():
        error = unknown("method", name, iter(KNOWN))
        assert isinstance(error, InputError) and isinstance(error, ValueError)
        hint = f"did you mean {near!r}? Expected" if near else "expected"
        assert str(error) == f"unknown method {name!r}: {hint} one of: E_t, amplify, cat-rs, gaussian"
    assert len(str(unknown("method", "9" * 5000, KNOWN))) < 300
