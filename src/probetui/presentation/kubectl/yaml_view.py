"""Format a pod as `kubectl get -o yaml` does, with highlighted keys and values."""

from __future__ import annotations

import re
from collections.abc import Iterator

from probetui.engine.snapshot import PodSnapshot
from probetui.k8s.api.pod import POD
from probetui.k8s.api.status import POD_STATUS
from probetui.k8s.pod_source import api_pod
from probetui.manifest.yaml.dump import dump_yaml
from probetui.presentation.text.cells import LONGEST_TEXT, all_lines
from probetui.presentation.text.spans import Line, Role, Span, line, muted
from probetui.presentation.text.view import View

_LONGEST = 4 << 20
_FIELD = re.compile(
    r"(?P<indent> *(?:- +)*)(?P<key>[^\s'\"|>#-][^'\"]*?|'[^']*'):(?= |$)"
)
_ITEM = re.compile(r" *(?:- +)+")
_NUMBER_OR_WORD = re.compile(r"-?[0-9]+|true|false|null|\{\}|\[\]")
_BLOCK = re.compile(r"[|>][0-9+-]*")


def yaml_lines(pod: PodSnapshot, view: View) -> list[Line]:
    """Return the YAML of a pod with defaults and status, secrets masked."""
    plain = {
        **POD.write(view.mask.pod(api_pod(pod.pod))),
        "status": POD_STATUS.write(pod.api_status or pod.status),
    }
    text = view.mask.text(dump_yaml(plain))
    short = "\n".join(map(_cut, text.split("\n")))
    return list(_coloured(all_lines(short, limit=_LONGEST)))


def _cut(text: str) -> str:
    more = len(text) - LONGEST_TEXT
    return f"{text[:LONGEST_TEXT]}… ({more} more characters)" if more > 0 else text


def _coloured(texts: list[str]) -> Iterator[Line]:
    """Yield lines with highlighted keys; a block of text has none."""
    block_indent: int | None = None
    for text in texts:
        indent = len(text) - len(text.lstrip(" "))
        if block_indent is not None and (indent > block_indent or not text.strip()):
            yield line(text)
            continue
        block_indent = None
        shown, value = _field(text)
        if _BLOCK.fullmatch(value):
            block_indent = indent
        yield shown


def _field(text: str) -> tuple[Line, str]:
    """Split a line into spans; return them and its value."""
    if (field := _FIELD.match(text)) is not None:
        key = Span(field["key"], Role.ACCENT)
        before: Line = (muted(field["indent"]), key, muted(":"))
        value = text[field.end() :]
    else:
        item = _ITEM.match(text)
        before = (muted(item[0] if item else ""),)
        value = text[item.end() :] if item else text
    stripped = value.strip()
    role = Role.SUCCESS if _NUMBER_OR_WORD.fullmatch(stripped) else Role.PLAIN
    return line(*before, Span(value, role)), stripped
