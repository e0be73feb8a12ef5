"""A session as one page: the verdict, the lanes, the causes, and all that led to them.

The page loads nothing and is read without scripts, which add a cursor and zoom.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from msgspec import Struct

from probetui.analysis.causes.answer import is_well
from probetui.analysis.container_history import SessionHistory
from probetui.analysis.lanes import LaneAxis, Lanes, instant
from probetui.durations import format_age
from probetui.k8s.pod import Pod
from probetui.presentation.container.why import instance_lines, report_explanations
from probetui.presentation.container.why_report import ExplainedContainer
from probetui.presentation.container.why_ticket import kill_ticks, short_lines
from probetui.presentation.page.elements import (
    SVG,
    add,
    add_asset,
    add_data,
    asset,
    html_of,
    start_page,
    xml_of,
)
from probetui.presentation.page.lane_drawing import (
    LANE_HEIGHT,
    LEGEND,
    DrawnLane,
    are_drawable,
    draw_axis,
    draw_lane,
    draw_sample,
    finer_axes,
)
from probetui.presentation.probe.explain import explain_pod
from probetui.presentation.text.view import View
from probetui.presentation.tick.why import Explanation
from probetui.record.file import REPORT_BEGINNING
from probetui.record.report_file import DATA_TYPE

_LABELS_OF_PAGE, _LABELS_OF_PICTURE = 4, 6
_NAME_WIDTH, _PICTURE_WIDTH = 230, 960
_TITLE_HEIGHT, _AXIS_HEIGHT = 30, 20
_MOST_NAME_LETTERS = 32
_MOST_REASONS = 3
_LETTERS_OF_TITLE = 130


class SessionReport(Struct, frozen=True):
    """What a page shows of a session.

    Attributes:
        containers: all of them; those in `telling` first are told in full.
        telling: the containers that ended once, or are not well.
        past: the history of the session.
        lanes: what became of containers and probes.
        pods: those whose manifests are known.
        view: how texts are shown, as of the end.
        origin: with which program and kubelet the session ran, and when it began.
        manifests: file names and texts, masked as in the record.
        source: the name of the record.
    """

    containers: Sequence[ExplainedContainer]
    telling: Sequence[ExplainedContainer]
    past: SessionHistory
    lanes: Lanes
    pods: Sequence[Pod]
    view: View
    origin: str
    manifests: Sequence[tuple[str, str]]
    source: str

    def verdict(self) -> tuple[str, ...]:
        """Return the session in a sentence, and why it is so."""
        count, troubled = len(self.containers), self._troubled()
        if troubled:
            worst = max(troubled, key=self._ends)
            lead, *reasons = short_lines(worst.context, self.past, worst.pod_uid)
            if count > 1:
                lead = f"{len(troubled)} of {count} containers in trouble: {lead}"
            return (lead, *(reason.strip() for reason in reasons))
        length = format_age(self.view.now - self.view.times.started_at)
        if not self.telling:
            noun = "container" if count == 1 else "containers"
            return (f"All is well with {count} {noun} after {length}.",)
        worst = max(self.telling, key=self._ends)
        context, ends = worst.context, self._ends(worst)
        times = {1: "once", 2: "twice"}.get(ends, f"{ends} times")
        explanations = report_explanations(context, self.past, worst.pod_uid)
        name = context.shown_name
        return (
            f"All is well at the end, but {name} ended {times} in {length}.",
            *explanations[0].sentences[:_MOST_REASONS],
        )

    def _troubled(self) -> list[ExplainedContainer]:
        return [
            container
            for container in self.telling
            if container.context.answer is None or not is_well(container.context.answer)
        ]

    def _ends(self, container: ExplainedContainer) -> int:
        instances = container.context.history.instances
        return sum(instance.exited is not None for instance in instances)

    def drawn(self) -> tuple[LaneAxis, list[DrawnLane]]:
        """Return the lanes on the finest axis on which they are not too many marks."""
        first = self.view.times.started_at.timestamp()
        last = max(self.view.now.timestamp(), first + 1)
        axis, lanes = LaneAxis(first, last - first, 1, last), list[DrawnLane]()
        for axis in finer_axes(first, last):
            lanes = self._lanes_on(axis)
            if are_drawable(lanes):
                break
        return axis, lanes

    def _lanes_on(self, axis: LaneAxis) -> list[DrawnLane]:
        lanes = []
        for container in self.containers:
            context = container.context
            place = container.pod_uid, context.container_name
            past = self.lanes.past(axis, *place)
            name = context.shown_name
            lanes.append(DrawnLane(name, past.container))
            keys = self.lanes.probes(*place)
            lanes += (
                DrawnLane(f"{name} {key.probe_type.lower()}", cells, is_nested=True)
                for key, cells in zip(keys, past.probes, strict=True)
            )
        return lanes


def report_page(report: SessionReport, record: str) -> str:
    """Return the page of a session.

    Args:
        report: what it shows.
        record: the packed record of the session.
    """
    style = asset("lanes.css") + asset("report.css")
    script = asset("report.js")
    sentence, *reasons = report.verdict()
    root, body = start_page(f"probetui: {sentence}", style, script)
    main = add(body, "main")
    header = add(main, "header")
    add(header, "p", "probetui report", class_="program")
    add(header, "h1", sentence)
    for reason in reasons:
        add(header, "p", reason, class_="reason")
    add(header, "p", report.origin, class_="origin")
    _add_lanes(main, report)
    _add_causes(main, report)
    _add_story(main, report)
    _add_settings(main, report)
    _add_manifests(main, report)
    _add_record(main, report)
    add_data(body, DATA_TYPE, record)
    add_asset(body, "script", script)
    return REPORT_BEGINNING + html_of(root) + "\n"


def _section(parent: Element, name: str, title: str) -> Element:
    section = add(parent, "section", aria_labelledby=f"title-{name}")
    add(section, "h2", title, id=f"title-{name}")
    return section


def _add_lanes(parent: Element, report: SessionReport) -> None:
    axis, lanes = report.drawn()
    times = report.view.times
    section = _section(parent, "lanes", "Lanes")
    controls = add(
        section, "p", class_="controls", hidden="", role="group", aria_label="Zoom"
    )
    for action, label in (("in", "Zoom in"), ("out", "Zoom out"), ("all", "Show all")):
        add(controls, "button", label, type="button", data_zoom=action)
    add(
        controls,
        "span",
        "Keys with the lanes in focus: + and - zoom, arrows move the cursor.",
        class_="note",
    )
    figure = add(
        section,
        "figure",
        class_="lanes",
        aria_label=f"Lanes of {len(report.containers)} containers and their probes",
        data_start=f"{axis.start:.6f}",
        data_end=f"{axis.end:.6f}",
        data_offset=_zone_offset(axis, report.view),
    )
    for number, lane in enumerate(lanes):
        row = add(figure, "div", class_="row nested" if lane.is_nested else "row")
        name = lane.name.rpartition(" ")[2] if lane.is_nested else lane.name
        add(row, "span", name, class_="name", aria_hidden="true")
        draw_lane(row, lane, axis, times, number)
    foot = add(figure, "div", class_="row foot")
    add(foot, "span", f"{axis.cell_seconds:g}s per cell", class_="name")
    draw_axis(foot, axis, times, _LABELS_OF_PAGE)
    add(figure, "p", class_="cursor", role="status", hidden="")
    caption = add(figure, "figcaption")
    for text, cell in LEGEND:
        entry = add(caption, "span", class_="entry")
        draw_sample(entry, cell)
        add(entry, "span", text)


def _zone_offset(axis: LaneAxis, view: View) -> str:
    offset = instant(axis.start).astimezone(view.times.zone).utcoffset()
    return "0" if offset is None else f"{offset.total_seconds():g}"


def _add_causes(parent: Element, report: SessionReport) -> None:
    section = _section(parent, "causes", "Why")
    told = report.telling or report.containers
    for place, container in enumerate(told):
        context = container.context
        details = add(section, "details", **({} if place else {"open": ""}))
        explanations = report_explanations(context, report.past, container.pod_uid)
        add(details, "summary", explanations[0].subject)
        for explanation in explanations:
            _add_explanation(details, explanation, explanations[0])


def _add_explanation(
    parent: Element, explanation: Explanation, first: Explanation
) -> None:
    if explanation is not first:
        add(parent, "h3", explanation.subject)
    sentences = add(parent, "ul", class_="chain")
    for sentence in explanation.sentences:
        add(sentences, "li", sentence)
    if explanation.printed:
        heading, *printed = explanation.printed
        add(parent, "p", heading)
        add(parent, "pre", "\n".join(printed), tabindex="0")
    if explanation.command:
        add(parent, "p", "To repeat the probe by hand:")
        add(parent, "pre", explanation.command, tabindex="0")
    if explanation.note:
        add(parent, "p", explanation.note)


def _add_story(parent: Element, report: SessionReport) -> None:
    section = _section(parent, "story", "Instances and kills")
    for container in report.telling or report.containers:
        context = container.context
        add(section, "h3", context.shown_name)
        instances = list(instance_lines(context))
        if not instances:
            add(section, "p", "It was never created.")
            continue
        rows = add(section, "ol", class_="instances")
        for text in instances:
            add(rows, "li", text)
        ticks = list(kill_ticks(context, report.past))
        if ticks:
            add(section, "p", "The ticks before the last kill:")
            add(section, "pre", "\n".join(ticks), tabindex="0")


def _add_settings(parent: Element, report: SessionReport) -> None:
    if not report.pods:
        return
    section = _section(parent, "settings", "Settings in force")
    for pod in report.pods:
        details = add(section, "details")
        heading, *lines = explain_pod(pod, report.view)
        add(details, "summary", heading)
        add(details, "pre", "\n".join(lines), tabindex="0")


def _add_manifests(parent: Element, report: SessionReport) -> None:
    if not report.manifests:
        return
    section = _section(parent, "manifests", "Manifests")
    for name, text in report.manifests:
        details = add(section, "details")
        add(details, "summary", name)
        add(details, "pre", text, tabindex="0")


def _add_record(parent: Element, report: SessionReport) -> None:
    section = _section(parent, "record", "The record")
    add(
        section,
        "p",
        f"This page is the record of the session, too ({report.source}). With the file "
        "saved as report.html, these commands read it:",
    )
    commands = ("replay", "why", "whatif --kubelet 1.28", "fit")
    words = [command.split(" ", 1) for command in commands]
    lines = [
        f"probetui {' '.join([name, 'report.html', *rest])}" for name, *rest in words
    ]
    add(section, "pre", "\n".join(lines), tabindex="0")


def report_picture(report: SessionReport) -> str:
    """Return the lanes of a session as one picture in SVG, with the verdict above."""
    axis, lanes = report.drawn()
    times = report.view.times
    height = _TITLE_HEIGHT + len(lanes) * LANE_HEIGHT + _AXIS_HEIGHT
    sentence, *reasons = report.verdict()
    root = Element(
        "svg",
        {
            "xmlns": SVG,
            "viewBox": f"0 0 {_PICTURE_WIDTH} {height}",
            "width": str(_PICTURE_WIDTH),
            "height": str(height),
            "role": "img",
            "aria-labelledby": "verdict",
        },
    )
    add(root, "title", " ".join((sentence, *reasons)), id="verdict")
    add_asset(root, "style", asset("lanes.css"))
    add(root, "rect", class_="ground", width="100%", height="100%")
    add(
        root,
        "text",
        _shortened(sentence, _LETTERS_OF_TITLE),
        x="10",
        y="19",
        class_="sentence",
    )
    for number, lane in enumerate(lanes):
        top = _TITLE_HEIGHT + number * LANE_HEIGHT
        name = lane.name.rpartition(" ")[2] if lane.is_nested else lane.name
        add(
            root,
            "text",
            _shortened(name, _MOST_NAME_LETTERS),
            x="24" if lane.is_nested else "10",
            y=str(top + 17),
        )
        _place(draw_lane(root, lane, axis, times, number), top)
    top = _TITLE_HEIGHT + len(lanes) * LANE_HEIGHT
    _place(draw_axis(root, axis, times, _LABELS_OF_PICTURE), top)
    return xml_of(root) + "\n"


def _place(picture: Element, top: int) -> None:
    picture.set("x", str(_NAME_WIDTH))
    picture.set("y", str(top))
    picture.set("width", str(_PICTURE_WIDTH - _NAME_WIDTH - 10))


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def picture_beginning() -> str:
    """Return how a picture begins that `report_picture` drew."""
    return f'<svg xmlns="{SVG}" viewBox="0 0 {_PICTURE_WIDTH} '
