"""Run the long checks: `python -m verification [--only NAME]`; exit code 1 if any fails."""

from __future__ import annotations

import argparse
import sys
import time

from verification.suites import SUITES


def main() -> int:
    """Run the requested suites, print a line for each check, return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m verification", description=__doc__)
    parser.add_argument("--only", choices=SUITES, action="append", help="a suite; may be repeated")
    chosen = parser.parse_args().only or list(SUITES)
    failed = total = 0
    for name in chosen:
        begun = time.perf_counter()
        print(f"\n{name}: {SUITES[name].__doc__}", flush=True)
        for check in SUITES[name]():
            print(check, flush=True)
            total += 1
            failed += not check.passed
        print(f"({time.perf_counter() - begun:.0f} s)")
    print(f"\n{total - failed} of {total} checks passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
