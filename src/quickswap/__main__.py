"""`python -m quickswap` is the command `quickswap`."""

from quickswap.cli import main

main()
