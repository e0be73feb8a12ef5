"""How Sphinx makes the site: `nox -s docs`, or `sphinx-build -W docs FOLDER`."""

from probetui import __version__

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
