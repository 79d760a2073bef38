"""`python -m majorant` is `majorant`."""

from majorant.cli import main

main()
