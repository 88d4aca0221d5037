"""`python -m randsmooth` where the command is not on the path."""

import subprocess
import sys


def test_it_is_the_command() -> None:
    ran = subprocess.run([sys.executable, "-m", "randsmooth", "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("randsmooth ")
