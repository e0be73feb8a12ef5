"""Make an animated SVG of screenshots by Textual.

The SVG has every distinct element once. CSS shows it in its frames and hides it in the
others, so that the animation works in an image on a page, without a script.
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
"""The indices of the frames in which an element is visible, ascending."""


def animate(frames: Sequence[str], seconds: float, poster: int) -> str:
    """Return an endless animation that shows all frames equally long.

    Args:
        frames: SVGs of one size, from `App.export_screenshot`.
        seconds: the total duration.
        poster: the index of the frame to show without animation.
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
    # Backgrounds are below all text, in any frame.
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
    """Yield the elements of a frame, with classes that all frames share.

    Args:
        frame: the SVG.
        names: the classes by their style; new ones are added.
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
    """Return the CSS of elements that are visible in some of `count` frames."""
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
    """Yield the elements of one kind, in groups with the same visibility."""
    yield f"<g {attribute}>"
    for number, elements in enumerate(groups):
        of_kind = [element for element in elements if element.startswith(tag)]
        if of_kind:
            yield f'<g class="k{number}">{"".join(of_kind)}</g>'
    yield "</g>"
