"""HTML from nested calls: text is escaped, what is `Markup` already is not."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

__all__ = ["Markup", "figure", "folded", "joined", "scrolled", "section", "table", "tag"]

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
"""Characters that a document must not hold."""


_LOOSE = re.compile(r"(?<=\d) (?=(?:%|±|(?:h|s|min|days)\b))|(?<=±) (?=[\d?])")
"""Blanks at which a line should not end."""
VERBATIM = ("code", "pre", "script", "style", "title")


class Markup(str):
    """A piece of HTML that is already safe."""

    __slots__ = ()


def tag(name: str, *children: object, **attributes: object) -> Markup:
    """Return an element.

    Args:
        name: of the element.
        children: pieces of `Markup`, or texts, which are escaped; None and "" leave nothing.
        attributes: `class_` and `for_` lose their last, others turn each, underscore into a hyphen;
            False and None leave an attribute out, True leaves out its value.
    """
    pairs = [
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{_safe(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    ]
    if name not in VERBATIM:
        children = tuple(_tight(each) for each in children)
    return Markup(f"<{name}{''.join(pairs)}>{joined(children)}</{name}>")


def _tight(child: object) -> object:
    """Return a text in which no line ends between a number and its unit, or around ±."""
    if isinstance(child, Markup) or not isinstance(child, str):
        return child
    return _LOOSE.sub("\N{NO-BREAK SPACE}", child)


def joined(children: Iterable[object]) -> Markup:
    """Return several pieces as one."""
    return Markup("".join(_safe(child) for child in children if child is not None))


def _safe(value: object) -> str:
    if isinstance(value, Markup):
        return value
    return html.escape(_CONTROL.sub("\N{REPLACEMENT CHARACTER}", str(value)))


def section(anchor: str, title: str, *children: object) -> Markup:
    """Return a part of the page with a heading that can be linked to."""
    heading = tag("h2", title, id=f"{anchor}-title")
    return tag("section", heading, *children, id=anchor, aria_labelledby=f"{anchor}-title")


def scrolled(label: str, *children: object) -> Markup:
    """Return what scrolls sideways by itself where the window is narrow, by keyboard too."""
    hint = tag("p", "There is more to the right: scroll sideways →", class_="hint")
    box = tag("div", *children, class_="scroll", tabindex=0, role="region", aria_label=label)
    return tag("div", hint, box, class_="wider")


def folded(title: str, *children: object, opened: bool) -> Markup:
    """Return a part that readers open and close by its title."""
    return tag("details", tag("summary", title), *children, open=opened)


def table(caption: str, columns: Sequence[object], rows: Iterable[Sequence[object]]) -> Markup:
    """Return a table whose first column names the rows.

    Args:
        caption: what it tells; also read aloud.
        columns: headers.
        rows: cells; one that is `Markup` of a whole `td` stays as it is.
    """
    head = tag("tr", *(tag("th", column, scope="col") for column in columns))
    body = [
        tag("tr", tag("th", first, scope="row"), *(_cell(each) for each in rest))
        for first, *rest in rows
    ]
    parts = (tag("caption", tag("span", caption)), tag("thead", head), tag("tbody", *body))
    return scrolled(caption, tag("table", *parts))


def _cell(value: object) -> Markup:
    if isinstance(value, Markup) and value.startswith("<td"):
        return value
    return tag("td", value)


def figure(drawing: Markup, caption: str, wide: bool = False) -> Markup:
    """Return a drawing with its caption."""
    words = tag("figcaption", caption)
    kind = "wide" if wide else None
    return tag("figure", drawing, words, class_=kind)
