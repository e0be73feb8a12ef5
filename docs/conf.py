"""How Sphinx makes the site: `nox -s docs`, or `sphinx-build -W docs FOLDER`."""

import sys
from pathlib import Path

from sphinx.application import Sphinx

from probetui import __version__

sys.path.insert(0, str(Path(__file__).parent.parent))
from tools import site_reports

project = "probetui"
author = "the probetui maintainers"
release = __version__

extensions = ["myst_parser"]
# Links name the anchors of headings, as GitHub makes them.
myst_heading_anchors = 4
nitpicky = True
highlight_language = "text"

html_theme = "furo"
html_title = f"probetui {release}"
html_show_copyright = False
html_copy_source = False
html_theme_options = {"sidebar_hide_name": False}


def _add_reports(_app: Sphinx, page: str, source: list[str]) -> None:
    """Show the lanes below the first heading of a page about a cause."""
    folder, _, cause = page.partition("/")
    if folder == "causes" and cause in site_reports.pictured_causes():
        heading, _, rest = source[0].partition("\n")
        picture = (
            f'<img src="../{site_reports.PICTURES}/{cause}.svg" '
            'alt="The lanes of a container with the manifest that fails, below">'
        )
        source[0] = f"{heading}\n\n```{{raw}} html\n{picture}\n```\n{rest}"
    if page == "how-to/show-a-session":
        link = f'<a href="../{site_reports.DEMO}">the first minute of the demo</a>'
        source[0] += f"\n```{{raw}} html\n<p>A page: {link}.</p>\n```\n"


def _write_reports(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        site_reports.write_reports(Path(app.outdir))


def setup(app: Sphinx) -> None:
    """Put reports on the site."""
    app.connect("source-read", _add_reports)
    app.connect("build-finished", _write_reports)
