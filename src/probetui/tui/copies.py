"""What of the chosen container can be copied, and as what."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from probetui.presentation.api_json import pod_status_to_json
from probetui.presentation.describe import describe_pod
from probetui.presentation.detail import Subject, title
from probetui.presentation.probe_detail import output_text
from probetui.presentation.reproduce import by_hand
from probetui.presentation.spans import text_of
from probetui.presentation.text_cells import all_lines
from probetui.presentation.view import View
from probetui.presentation.yaml_view import yaml_lines
from probetui.tui.sight import Sight


class Copy(NamedTuple):
    """A text that can be copied; it is harmless and without secrets."""

    name: str
    text: str


def copies(subject: Subject, sight: Sight) -> Sequence[Copy]:
    """Return what there is to copy of a container and its chosen probe."""
    return [each for each in _all(subject, sight) if each.text]


def _all(subject: Subject, sight: Sight) -> Iterator[Copy]:
    view = sight.view
    yield Copy("its name", title(subject, view))
    yield Copy("the last output of the probe", _last_output(subject, view))
    yield Copy("the command that repeats the probe", by_hand(subject, view))
    yield Copy("the pod as kubectl describes it", _described(subject, sight))
    yield Copy("the pod's YAML, with defaults and status", _yaml(subject, view))
    yield Copy("the pod's status as JSON", _status(subject, view))


def _last_output(subject: Subject, view: View) -> str:
    tick = subject.probe.last_run if subject.probe else None
    if tick is None or not tick.attempts:
        return ""
    return "\n".join(all_lines(view.mask.text(output_text(tick.attempts[-1]))))


def _described(subject: Subject, sight: Sight) -> str:
    events = sight.cluster.events(subject.pod.pod.uid)
    findings = sight.past.findings(subject.pod.pod.uid)
    lines = describe_pod(subject.pod, events, sight.view, findings)
    return "\n".join(text_of(each).rstrip() for each in lines) + "\n"


def _yaml(subject: Subject, view: View) -> str:
    return "\n".join(text_of(each) for each in yaml_lines(subject.pod, view)) + "\n"


def _status(subject: Subject, view: View) -> str:
    text = json.dumps(pod_status_to_json(subject.pod.status), indent=2)
    return view.mask.text(text) + "\n"
