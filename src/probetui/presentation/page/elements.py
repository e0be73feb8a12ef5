"""Elements of HTML and SVG, in which text of others stays text.

A page is a tree, and the standard library writes it: no text of ours or of others is
ever put together to markup, so that there is nothing to escape by hand. Names of
elements and attributes are ours; each text goes through the same rule as on a terminal,
which also leaves out what HTML and XML cannot hold.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from xml.etree.ElementTree import Element, SubElement, tostring

from probetui.safe_text import safe_line, safe_lines

SVG = "http://www.w3.org/2000/svg"


def add(parent: Element, tag: str, text: str = "", **attributes: str) -> Element:
    """Add an element and return it; `class_` and `aria_label` name attributes."""
    names = {
        name.rstrip("_").replace("_", "-"): safe_line(value)
        for name, value in attributes.items()
    }
    element = SubElement(parent, tag, names)
    if text:
        element.text = safe_lines(text)
    return element


def start_page(title: str, style: str, script: str = "") -> tuple[Element, Element]:
    """Return the root and the body of a page that loads nothing.

    Its policy allows one style and one script, by their hashes, and nothing else: were
    a text taken for markup after all, it could neither run nor fetch anything.

    Args:
        title: of the page.
        style: its only style.
        script: the only script that may run; the caller adds it.
    """
    root = Element("html", {"lang": "en"})
    head = add(root, "head")
    add(head, "meta", charset="utf-8")
    scripts = f"script-src {_hash(script)}; " if script else ""
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; {scripts}"
        "base-uri 'none'; form-action 'none'"
    )
    add(head, "meta", http_equiv="Content-Security-Policy", content=policy)
    add(head, "meta", name="viewport", content="width=device-width, initial-scale=1")
    add(head, "meta", name="color-scheme", content="light dark")
    add(head, "title", title)
    add_asset(head, "style", style)
    return root, add(root, "body")


def asset(name: str) -> str:
    """Return a style or a script of this program."""
    return (files(__package__) / name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def add_asset(parent: Element, tag: str, content: str) -> None:
    """Add a style or a script of this program, which is written as it stands."""
    SubElement(parent, tag).text = content


def add_data(parent: Element, media_type: str, content: str) -> None:
    """Add a block that a browser neither shows nor runs.

    Args:
        parent: where.
        media_type: what it is; no type that a browser knows.
        content: letters, digits, `+`, `/` and `=` only.
    """
    SubElement(parent, "script", {"type": media_type}).text = content


def html_of(root: Element) -> str:
    """Return an element as HTML."""
    return tostring(root, encoding="unicode", method="html")


def xml_of(root: Element) -> str:
    """Return an element as XML."""
    return tostring(root, encoding="unicode", method="xml")
