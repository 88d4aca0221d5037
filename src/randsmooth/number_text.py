"""Numbers as people type and read them."""

# Added before a number is rounded, so that halves are rounded up: as a float, 100 * 0.6465
# is a little less than 64.65, and would read 64.6.
ROUNDING = 1e-9


def shortest(number: float) -> str:
    """Return a number as a user types it: the shortest text that gives it again.

    Example:
        >>> shortest(0.25), shortest(1.0), shortest(0.1234567)
        ('0.25', '1', '0.1234567')
    """
    # A float of NumPy would print its type, too.
    return repr(float(number)).removesuffix(".0")


def half_up(number: float, decimals: int) -> str:
    """Print a number that is not below 0 with so many decimals, halves rounded up.

    Example:
        >>> half_up(100.0 * 0.6465, decimals=1)
        '64.7'
    """
    return f"{number + ROUNDING:.{decimals}f}"


def percent(share: float) -> str:
    """Print a share in percent with one decimal, halves rounded up.

    Example:
        >>> percent(0.6465)
        '64.7%'
    """
    return f"{half_up(100.0 * share, decimals=1)}%"


def signed(number: float, decimals: int) -> str:
    """Print a number with its sign, unless it prints as 0; halves go away from 0.

    A number and its opposite print alike but for the sign.

    Example:
        >>> signed(2.35, decimals=1), signed(-2.35, decimals=1), signed(-0.01, decimals=1)
        ('+2.4', '-2.4', '0.0')
    """
    figure = half_up(abs(number), decimals)
    if float(figure) == 0.0:
        return figure
    return f"{'-' if number < 0.0 else '+'}{figure}"
