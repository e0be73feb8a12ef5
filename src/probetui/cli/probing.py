"""One probe run once, on a container wherever it is found."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

from probetui.cli.attachment import Attachment, attach, attachable
from probetui.cli.notes import Notes
from probetui.cli.pods import (
    ManifestOptions,
    check_containers,
    load_pods,
    tell_problems,
)
from probetui.cli.printing import print_json, print_line
from probetui.cli.runtimes import open_runtime
from probetui.cli.session_options import RuntimeOptions, pick
from probetui.drive.clocks import SystemClock
from probetui.drive.masking import Mask, secrets_of
from probetui.errors import (
    ContainerRuntimeError,
    NothingToDoError,
    RuntimeUnavailableError,
    UsageError,
)
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import Probe, ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID, RuntimePodStatus, RuntimeState
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult
from probetui.kubelet.sightings import finding_of, goes_elsewhere, narrowed
from probetui.manifest.manifests import LoadedPod
from probetui.manifest.problem import Problem
from probetui.ports import (
    Clock,
    DialAddress,
    ForeignSource,
    ListenerSource,
    Prober,
    Runtime,
)
from probetui.presentation.durations import took
from probetui.presentation.findings import RULES
from probetui.presentation.probes import handler_words
from probetui.presentation.refusals import why_refused
from probetui.presentation.view import View
from probetui.probers.dispatch import Dispatch
from probetui.runtimes.attached.addresses import ProbesAtOwnAddress
from probetui.runtimes.attached.runtime import AttachedRuntime

_FAILED = 1
_ERRORED = 125
_MILLISECOND = timedelta(milliseconds=1)


class Wanted(NamedTuple):
    """The probe that is meant."""

    pod: Pod
    container: Container
    probe_type: ProbeType
    probe: Probe


class Came(NamedTuple):
    """What came of it, where, and why a connection was refused if that is known.

    `finding` is what it showed to be unwise.
    """

    place: Place
    outcome: ProbeOutcome
    hint: str = ""
    finding: Problem | None = None


class Place(NamedTuple):
    """Where its container runs."""

    runtime: Runtime
    container_id: ContainerID
    pod_ip: str


def probe_once(words: Sequence[str], params: Mapping[str, Any]) -> int:
    """Run the probe that is meant, print what came of it, return the exit status.

    Raises:
        UsageError: more than one probe may be meant, or none.
        NothingToDoError: no container has a probe.
        RuntimeUnavailableError: no runtime answers, or the container does not run.
    """
    manifests = load_pods(pick(ManifestOptions, params))
    notes = Notes(quiet=params["quiet"])
    tell_problems(manifests, notes)
    wanted = choose(manifests.pods, params["container"], params["probe_type"])
    view = View.timeless(Mask(secrets_of(manifests.pods)))
    came = asyncio.run(_run(wanted, words, params, notes))
    if not params["no_findings"]:
        came = came._replace(finding=_finding(manifests.loaded, wanted, came.outcome))
    if params["output"] == "json":
        print_json(_as_json(wanted, came, view))
    else:
        for line in _lines(wanted, came, view):
            print_line(line)
    return status_of(came.outcome)


def choose(
    pods: Sequence[Pod], container_name: str | None, probe_type: str | None
) -> Wanted:
    """Return the only probe that is meant.

    Raises:
        UsageError: there are several, or none of these.
        NothingToDoError: there is none at all.
    """
    probes = [
        Wanted(pod, container, each, probe)
        for pod in pods
        for container in pod.all_containers()
        for each in ProbeType
        if (probe := container.probe(each)) is not None
    ]
    if not probes:
        raise NothingToDoError("no container has a probe")
    if container_name is not None:
        check_containers([container_name], pods)
    found = [
        each
        for each in probes
        if container_name in {None, each.container.name}
        and probe_type in {None, each.probe_type.lower()}
    ]
    if len(found) == 1:
        return found[0]
    has = ", ".join(_label(each) for each in found or probes)
    what = "may be meant by more than one of" if found else "is none of"
    raise UsageError(f"the probe {what}: {has}; say -c and -t")


def status_of(outcome: ProbeOutcome) -> int:
    """Return the exit status: 0 well, 1 failed, 125 errored."""
    last = outcome.last
    if last.error is not None:
        return _ERRORED
    is_well = last.result in {ProbeResult.SUCCESS, ProbeResult.WARNING}
    return 0 if is_well else _FAILED


async def _run(
    wanted: Wanted, words: Sequence[str], params: Mapping[str, Any], notes: Notes
) -> Came:
    clock = SystemClock()
    runtime = await open_runtime(
        pick(RuntimeOptions, params),
        clock,
        exec_errors=params["exec_errors"],
        sees_all=True,
    )
    try:
        place = await find(runtime, wanted, words, clock, notes)
        outcome = await _prober(place.runtime, clock).probe(
            RunProbe(
                1,
                ProbeKey(wanted.pod.uid, wanted.container.name, wanted.probe_type),
                wanted.pod,
                wanted.container,
                wanted.probe,
                place.container_id,
                place.pod_ip,
            )
        )
        return Came(place, outcome, await _hint(wanted, place, outcome))
    finally:
        await runtime.close()


def _finding(
    loaded: Iterable[LoadedPod], wanted: Wanted, outcome: ProbeOutcome
) -> Problem | None:
    """Return what a probe showed to be unwise, as `check` would have it."""
    key = ProbeKey(wanted.pod.uid, wanted.container.name, wanted.probe_type)
    found = finding_of(outcome.last, wanted.pod, key)
    if found is None:
        return None
    severity = RULES[found.rule].severity
    return next(
        (
            each.object.problem(found.path, found.message, severity, found.rule)
            for each in loaded
            if each.pod.uid == wanted.pod.uid
        ),
        None,
    )


async def _hint(wanted: Wanted, place: Place, outcome: ProbeOutcome) -> str:
    """Return where the container listens if it refused the connection."""
    refused_at = outcome.last.refused_at
    if refused_at is None or goes_elsewhere(wanted.container, wanted.probe_type):
        return ""
    if not isinstance(place.runtime, ListenerSource):
        return ""
    try:
        found = await place.runtime.listeners(place.container_id)
    except ContainerRuntimeError as error:
        return f"where it listens is not known: {error}"
    return why_refused(refused_at, narrowed(found, wanted.pod))


async def find(
    runtime: Runtime,
    wanted: Wanted,
    words: Sequence[str],
    clock: Clock,
    notes: Notes,
) -> Place:
    """Return where the container runs: in a pod of ours, or as somebody else's.

    Raises:
        RuntimeUnavailableError: it does not run.
        UsageError: the words fit no container, or more than one.
    """
    if not words:
        for pod in await runtime.relist():
            is_it = (pod.namespace, pod.name) == (
                wanted.pod.namespace,
                wanted.pod.name,
            )
            if is_it and (place := _in(pod, wanted, runtime)):
                return place
    if isinstance(runtime, ForeignSource):
        only = replace(
            attachable(wanted.pod), init_containers=(), containers=(wanted.container,)
        )
        attached = await attach(
            runtime, [only], Attachment(tuple(words), looks_once=True), clock, notes
        )
        (pod,) = await attached.relist()
        if place := _in(pod, wanted, attached):
            return place
    name = f"{wanted.pod.name}/{wanted.container.name}"
    raise RuntimeUnavailableError(f"{name} does not run on {runtime.name}")


def _in(pod: RuntimePodStatus, wanted: Wanted, runtime: Runtime) -> Place | None:
    newest = pod.newest(wanted.container.name)
    if newest is None or newest.state is not RuntimeState.RUNNING:
        return None
    return Place(runtime, newest.container_id, pod.ips[0] if pod.ips else "")


def _prober(runtime: Runtime, clock: Clock) -> Prober:
    dial_address = runtime if isinstance(runtime, DialAddress) else None
    prober = Dispatch(runtime, clock, dial_address)
    if isinstance(runtime, AttachedRuntime):
        return ProbesAtOwnAddress(prober, runtime.address_of)
    return prober


def _lines(wanted: Wanted, came: Came, view: View) -> Iterator[str]:
    place, outcome = came.place, came.outcome
    where = f" at {place.pod_ip}" if place.pod_ip else ""
    words = handler_words(wanted.probe, view)
    yield view.safe(f"{_label(wanted)}: {words} in {place.container_id}{where}")
    for number, each in enumerate(outcome.attempts, start=1):
        attempt = f"attempt {number}: " if len(outcome.attempts) > 1 else ""
        detail = f" ({view.safe(each.detail)})" if each.detail else ""
        yield f"{attempt}{_word(each)} in {took(each.duration)}{detail}"
        for line in _said(each).splitlines():
            yield f"  {view.safe(line)}"
    if came.hint:
        yield f"hint: {view.safe(came.hint)}"
    if (found := came.finding) is not None:
        yield view.safe(f"finding: {found.severity}: {found} ({found.rule})")


def _as_json(wanted: Wanted, came: Came, view: View) -> dict[str, object]:
    place, outcome = came.place, came.outcome
    return {
        "namespace": wanted.pod.namespace,
        "pod": wanted.pod.name,
        "container": wanted.container.name,
        "containerID": place.container_id,
        "probe": wanted.probe_type.lower(),
        "result": _word(outcome.last),
        "hint": view.mask.text(came.hint) or None,
        "finding": None if came.finding is None else _problem(came.finding, view),
        "attempts": [
            {
                "result": _word(each),
                "ms": each.duration / _MILLISECOND,
                "detail": view.mask.text(each.detail),
                "output": view.mask.text(each.output),
                "error": None if each.error is None else view.mask.text(each.error),
            }
            for each in outcome.attempts
        ],
    }


def _problem(problem: Problem, view: View) -> dict[str, object]:
    return {
        "rule": problem.rule,
        "severity": problem.severity,
        "place": str(problem.position),
        "path": problem.path,
        "message": view.mask.text(problem.message),
    }


def _word(attempt: Attempt) -> str:
    return "errored" if attempt.error is not None else attempt.result.value


def _said(attempt: Attempt) -> str:
    return attempt.output if attempt.error is None else attempt.error


def _label(wanted: Wanted) -> str:
    name = f"{wanted.pod.name}/{wanted.container.name}"
    return f"{name} {wanted.probe_type.lower()}"
