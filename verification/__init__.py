"""Long statistical checks; `python -m verification` runs them all and prints a verdict each."""
