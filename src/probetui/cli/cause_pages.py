"""The catalogue of causes: pages of the docs that the program can print.

A wheel has the pages beside this module, where `hatch_build.py` puts them; a checkout
has them in `docs/causes`.
"""

from __future__ import annotations

import re
from pathlib import Path

from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.causes.pages import PAGES_OF_FINDINGS, page_names, page_of
from probetui.cli.printing import print_line, print_text
from probetui.errors import UsageError
from probetui.suggestions import nearest_hint

_FOLDERS = (
    Path(__file__).parent / "causes",
    Path(__file__).parents[3] / "docs" / "causes",
)
_COMMENT = re.compile(r"^<!--.*-->\n", re.MULTILINE)
_TITLE = re.compile(r"# (.*)")


def print_page(name: str) -> int:
    """Print the page about a kind of cause, or for no name what there are.

    The exit status is 0.

    Raises:
        UsageError: there is no such kind; says which is nearest.
    """
    if not name:
        for kind in page_names():
            title = _TITLE.match(read_page(kind))
            print_line(f"{kind:<26} {'' if title is None else title[1]}")
        return 0
    if name not in set(CauseKind):
        raise UsageError(
            f'"{name}" is not a kind of cause{nearest_hint(name, CauseKind)}; '
            "`probetui why --page` lists them"
        )
    print_text(_COMMENT.sub("", read_page(page_of(CauseKind(name)))))
    return 0


def pages_of_rules() -> dict[str, str]:
    """Return the Markdown of pages, by the rules of `check` that lead to their kind."""
    return {
        rule: _COMMENT.sub("", read_page(kind))
        for rule, kind in PAGES_OF_FINDINGS.items()
    }


def read_page(kind: CauseKind) -> str:
    """Return the Markdown of the page that is named after a kind."""
    folder = next(folder for folder in _FOLDERS if folder.is_dir())
    return (folder / f"{kind}.md").read_text(encoding="utf-8")
