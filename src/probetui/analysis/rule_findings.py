"""Findings about rules of a store: what of them can never fire.

Source: prober/prober_manager.go, v1.36.2, ProberResults, ProberDuration; until 1.16 the
kubelet had prober_probe_result instead.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta
from types import MappingProxyType

import promql_parser
from promql_parser import Call, Matcher, MatchOp, MatrixSelector, VectorSelector

from probetui.analysis.findings import Finding
from probetui.manifest.problem import quote_short

USUAL_SCRAPE = timedelta(seconds=30)
"""Of the chart kube-prometheus-stack; Prometheus itself takes a minute."""

_TYPES = ("Liveness", "Readiness", "Startup")
_OF_TOTAL = MappingProxyType(
    {"probe_type": _TYPES, "result": ("successful", "failed", "unknown")}
)
_OF_DURATION = MappingProxyType({"probe_type": _TYPES})
_DURATION = "prober_probe_duration_seconds"
_SERIES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "prober_probe_total": _OF_TOTAL,
    # The last one is a native histogram.
    **{f"{_DURATION}{end}": _OF_DURATION for end in ("_bucket", "_count", "_sum", "")},
}
_OF_PROBES = re.compile(r"\b(kubelet_)?prober_\w+")
_ABSENT = frozenset({"type", "probe", "status", "code", "reason", "outcome", "state"})
"""What the labels are taken to be; any other may come from the scrape or the store."""

_ABSENT_OF_DURATIONS = frozenset({"result", "pod_uid"})
_NEED_TWO = frozenset(
    {"rate", "irate", "increase", "delta", "idelta", "deriv", "changes", "resets"}
)


def rule_findings(
    expression: str, path: str, recorded: Collection[str] = ()
) -> Iterator[Finding]:
    """Yield what is found about an expression, nothing if it is not about probes.

    Args:
        expression: PromQL.
        path: where it stands.
        recorded: the names of series that rules make.
    """
    if not _OF_PROBES.search(expression):
        return
    try:
        parsed = promql_parser.parse(expression)
    except ValueError as error:
        reason = str(error).strip().partition("\n")[0]
        yield Finding("alert-expression", path, f"is no PromQL: {reason}")
        return
    nodes: list[object] = []
    promql_parser.walk(parsed, nodes.append)
    for node in nodes:
        if isinstance(node, VectorSelector):
            yield from _about_selector(node, path, recorded)
        elif isinstance(node, Call):
            yield from _about_range(node, path)


def _about_selector(
    selector: VectorSelector, path: str, recorded: Collection[str]
) -> Iterator[Finding]:
    name = _name(selector)
    if name in recorded or not _OF_PROBES.fullmatch(name):
        return
    if name not in _SERIES:
        message = f"no kubelet has a series {quote_short(name)}"
        yield Finding("alert-series", path, message)
        return
    known = _SERIES[name]
    absent = _ABSENT if "result" in known else _ABSENT | _ABSENT_OF_DURATIONS
    for matcher in selector.matchers.matchers:
        values = known.get(matcher.name)
        if values is not None:
            if not any(_matches(matcher, value) for value in values):
                message = (
                    f"no series of {name} has {matcher}: {matcher.name} is "
                    f"{', '.join(values[:-1])} or {values[-1]}"
                )
                yield Finding("alert-label-value", path, message)
        elif matcher.name in absent and not _matches(matcher, ""):
            message = f"no series of {name} has a label {matcher.name}"
            yield Finding("alert-label", path, message)


def _about_range(call: Call, path: str) -> Iterator[Finding]:
    if call.func.name not in _NEED_TWO:
        return
    apart = f"{USUAL_SCRAPE.total_seconds():g}s"
    for argument in call.args:
        if not isinstance(argument, MatrixSelector) or argument.range > USUAL_SCRAPE:
            continue
        if (name := _name(argument.vector_selector)) in _SERIES:
            message = (
                f"{call.func.name}() over {argument.range.total_seconds():g}s of {name}"
                f" needs two samples, and one comes each {apart}"
            )
            yield Finding("alert-range", path, message)


def _name(selector: VectorSelector) -> str:
    """Return the name of the series, empty where a selector has none."""
    named = (
        matcher.value
        for matcher in selector.matchers.matchers
        if matcher.name == "__name__" and matcher.op == MatchOp.Equal
    )
    return selector.name or next(named, "")


def _matches(matcher: Matcher, value: str) -> bool:
    """Return whether a matcher takes a value; an odd pattern takes any."""
    if matcher.op == MatchOp.Equal:
        return matcher.value == value
    if matcher.op == MatchOp.NotEqual:
        return matcher.value != value
    try:
        is_like = re.fullmatch(matcher.value, value) is not None
    except re.error:
        return True
    return is_like is (matcher.op == MatchOp.Re)
