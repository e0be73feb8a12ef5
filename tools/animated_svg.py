"""Makes one moving SVG of still ones that Textual has drawn.

Each distinct element is there once. CSS shows it in its frames and hides it in the
others, so that it moves where a page has it as an image, without a script.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

_PREFIX = re.compile(r"terminal-\d+-")
_STYLE = re.compile(r"^ *\.(r\d+) \{ (.*) \}$", re.MULTILINE)
_SCREEN = re.compile(r'<g transform="translate\(9, 41\)"[^>]*>')
_ELEMENT = re.compile(r"<rect [^>]*/>|<text [^>]*>[^<]*\S[^<]*</text>")
_CLASS = re.compile(r'class="(r\d+)"')
_STILL = "@media (prefers-reduced-motion: reduce) { g { animation: none !important } }"

FrameSet = tuple[int, ...]
"""The indices of the frames in which an element is seen, ascending."""


def animate(frames: Sequence[str], seconds: float, poster: int) -> str:
    """Return an animation that shows one frame as long as another, again and again.

    Args:
        frames: SVGs of one size, as `App.export_screenshot` makes them.
        seconds: the length of the whole.
        poster: the index of the frame that is seen where nothing moves.
    """
    names: dict[str, str] = {}
    seen: dict[str, list[int]] = {}
    for index, frame in enumerate(frames):
        for element in dict.fromkeys(_elements(frame, names)):
            seen.setdefault(element, []).append(index)
    groups: dict[FrameSet, list[str]] = {}
    for element, indices in seen.items():
        groups.setdefault(tuple(indices), []).append(element)
    first = _STYLE.sub("", _PREFIX.sub("", frames[0]))
    screen = _SCREEN.search(first)
    if screen is None:
        raise ValueError("not a picture that Textual has drawn")
    style, _, window = first[: screen.end()].partition("</style>")
    css = [f".{name} {{ {text} }}" for text, name in names.items()]
    css += (
        _keyframes(number, shown, len(frames), seconds, is_poster=poster in shown)
        for number, shown in enumerate(groups)
    )
    # Backgrounds are below all that is written, whichever frame they are of.
    return "\n".join(
        (
            style.rstrip(),
            *filter(None, css),
            f"{_STILL}</style>{window}",
            *_layer(groups.values(), "<rect", 'shape-rendering="crispEdges"'),
            *_layer(groups.values(), "<text", 'class="matrix"'),
            "</g>\n</svg>\n",
        )
    )


def _elements(frame: str, names: dict[str, str]) -> Iterator[str]:
    """Yield what is on the screen of a frame, with classes that all frames share.

    Args:
        frame: the SVG.
        names: the classes by their style; gets those that are new.
    """
    svg = _PREFIX.sub("", frame)
    styles = dict(_STYLE.findall(svg))

    def shared(match: re.Match[str]) -> str:
        style = styles[match[1]]
        return f'class="{names.setdefault(style, f"r{len(names)}")}"'

    screen = _SCREEN.search(svg)
    start = 0 if screen is None else screen.end()
    for element in _ELEMENT.findall(svg, start):
        yield _CLASS.sub(shared, element.replace(' shape-rendering="crispEdges"', ""))


def _keyframes(
    number: int, shown: FrameSet, count: int, seconds: float, *, is_poster: bool
) -> str:
    """Return the CSS of the elements that are seen in some of `count` frames."""
    if len(shown) == count:
        return ""
    steps = [
        f"{100 * index / count:.4g}% {{ visibility: {_visibility(index in shown)} }}"
        for index in range(count)
        if index == 0 or (index in shown) != (index - 1 in shown)
    ]
    return (
        f"@keyframes k{number} {{ {' '.join(steps)} }}\n"
        f".k{number} {{ visibility: {_visibility(is_poster)}; "
        f"animation: k{number} {seconds:g}s step-end infinite }}"
    )


def _visibility(is_seen: bool) -> str:  # noqa: FBT001  # read as a word where it is called
    return "visible" if is_seen else "hidden"


def _layer(groups: Iterable[Sequence[str]], tag: str, attribute: str) -> Iterator[str]:
    """Yield the elements of one kind, in the groups that come and go together."""
    yield f"<g {attribute}>"
    for number, elements in enumerate(groups):
        of_kind = [element for element in elements if element.startswith(tag)]
        if of_kind:
            yield f'<g class="k{number}">{"".join(of_kind)}</g>'
    yield "</g>"
