"""The application and its commands."""

from __future__ import annotations

from cyclopts import App, Parameter

from quickswap.cli.analyze import analyze
from quickswap.cli.compare import compare
from quickswap.cli.fit import fit
from quickswap.cli.govern import govern
from quickswap.cli.help import Layout
from quickswap.cli.optimum import optimum
from quickswap.cli.plot import plot
from quickswap.cli.policies import policies
from quickswap.cli.replay import replay
from quickswap.cli.reproduce import reproduce
from quickswap.cli.show import show
from quickswap.cli.simulate import simulate
from quickswap.cli.sweep import sweep
from quickswap.cli.tune import tune

COMMANDS = (
    *(simulate, compare, sweep, plot, tune, show, policies, analyze, optimum, fit, replay),
    *(govern, reproduce),
)
"""The function of each command; its name, parameters and docstring appear in the help."""


def build() -> App:
    """Return the application."""
    app = App(
        name="quickswap",
        help="Simulate, compare and understand scheduling policies for multiserver jobs.",
        version=_version,
        help_formatter=Layout(),
        default_parameter=Parameter(negative=()),  # flags are off unless given
    )
    for command in COMMANDS:
        app.command(command)
    app.register_install_completion_command(
        help="Install the completion of commands and options for bash, zsh or fish."
    )
    return app


def _version() -> str:
    from importlib.metadata import version

    return version("quickswap")
