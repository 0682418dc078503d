"""Build the site with `sphinx-build -W --keep-going -b html docs site`."""

from __future__ import annotations

from docutils.nodes import Element
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

import quickswap
from quickswap.engine._core import VERSION

project = "quickswap"
author = "The quickswap developers"
project_copyright = f"2026, {author}"
version = release = VERSION

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
exclude_patterns = ["measured"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "quickswap"
html_static_path = ["_static"]

default_role = "code"
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints_format = "short"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

nitpicky = True
# References to other projects are plain text so that the build needs no network.
nitpick_ignore = [
    # in results, but not public
    ("py:class", "quickswap.replays.measurement.MomentTable"),
    ("py:class", "quickswap.replays.jobs.ReplayJobs"),
    ("py:class", "quickswap.statistics.bootstrap.Pieces"),
    ("py:class", "quickswap.theory.decisions.table.TablePolicy"),
    ("py:class", "quickswap.errors.Found"),  # a type variable
    ("py:class", "quickswap.engine.compiled.Kind"),  # a type variable
    (
        "py:class",
        "quickswap.model.distributions.tabulated.Quantiles",
    ),  # any object with sf, isf, ppf
]
nitpick_ignore_regex = [
    ("py:.*", r"(?!quickswap).*"),
    # keyword arguments, by name
    ("py:class", r"quickswap\.(engine\.settings\.\w+Settings|logs\.options\.ReadOptions)"),
]


def public(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, contnode: Element
) -> Element | None:
    """Resolve `quickswap.model.system.System` to the documented name `quickswap.System`."""
    target: str = node.get("reftarget", "")
    name = target.rpartition(".")[2]
    if node.get("refdomain") != "py" or name not in quickswap.__all__:
        return None
    found = env.get_domain("py").resolve_any_xref(
        env, node["refdoc"], app.builder, f"quickswap.{name}", node, contnode
    )
    return found[0][1] if found else None


written: dict[str, list[str]] = {}


def remember(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Store the docstring of a property before napoleon changes it."""
    if what in ("attribute", "property"):
        written[name] = list(lines)


def restore(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Restore it: napoleon would parse its first words, up to a colon, as a type."""
    if name in written:
        lines[:] = written.pop(name)


def setup(app: Sphinx) -> None:
    """Connect the three functions; napoleon has priority 500."""
    app.connect("missing-reference", public)
    app.connect("autodoc-process-docstring", remember, priority=400)
    app.connect("autodoc-process-docstring", restore, priority=600)
