"""`python -m randsmooth` is the command `randsmooth`."""

from randsmooth.cli.main import main

main()
