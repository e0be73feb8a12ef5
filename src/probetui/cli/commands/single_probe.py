"""`probetui probe`: one probe run once, on a container wherever it is found."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from probetui.analysis.causes.probe_failure import (
    FailedProbe,
    ProbeFailure,
    probe_failure,
)
from probetui.analysis.findings import FINDING_RULES
from probetui.cli.option_groups import pick_options
from probetui.cli.option_values import RuntimeOptions, rules_by
from probetui.cli.pods import (
    ManifestOptions,
    check_containers,
    load_pods,
    report_problems,
)
from probetui.cli.printing import Notes
from probetui.cli.reports import emit
from probetui.cli.runtimes import open_runtime, open_runtimes, runtime_kind
from probetui.cli.session.attachment import (
    AttachOptions,
    attach,
    without_creation_fields,
    without_creation_problems,
)
from probetui.drive.clocks import SystemClock
from probetui.engine.diagnostics import (
    find_finding,
    narrow_to_container,
    targets_other_host,
)
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
from probetui.kubelet.journal import ListenersEntry
from probetui.kubelet.outcome import ProbeOutcome, ProbeResult
from probetui.manifest.manifests import LoadedPod
from probetui.manifest.problem import Problem
from probetui.ports import (
    Clock,
    Prober,
    Runtime,
)
from probetui.presentation.cause.probe_failure import failure_clause
from probetui.presentation.probe.outcome_report import ProbeReport, probe_label
from probetui.presentation.text.view import View
from probetui.probers.prober import ProbeDispatcher
from probetui.record.masking import Mask, find_pod_secrets
from probetui.runtimes.attached.addresses import ContainerAddressProber
from probetui.runtimes.attached.runtime import AttachedRuntime

if TYPE_CHECKING:
    from probetui.cli.commands.inspection import ProbeOptions

_LOG = logging.getLogger(__name__)

_FAILED = 1
_ERRORED = 125


class ChosenProbe(Struct, frozen=True):
    """The probe to run."""

    pod: Pod
    container: Container
    probe_type: ProbeType
    probe: Probe


class _ProbeRun(NamedTuple):
    """The outcome, where it ran, and why it failed if it did."""

    place: ContainerLocation
    outcome: ProbeOutcome
    failure: ProbeFailure | None


class ContainerLocation(Struct, frozen=True):
    """Where its container runs."""

    runtime: Runtime
    container_id: ContainerID
    pod_ip: str


def probe_once(words: Sequence[str], options: ProbeOptions) -> int:
    """Run one probe, print its outcome and return the exit status.

    Raises:
        UsageError: the options select no probe, or more than one.
        NothingToDoError: no container has a probe.
        RuntimeUnavailableError: no runtime answers, or the container does not run.
    """
    manifests = load_pods(pick_options(ManifestOptions, options))
    notes = Notes(quiet=options.quiet)
    report_problems(without_creation_problems(manifests), notes)
    chosen = choose_probe(manifests.pods, options.container, options.probe_type)
    view = View.timeless(Mask(find_pod_secrets(manifests.pods)))
    place, outcome, failure = asyncio.run(_run(chosen, words, options, notes))
    report = ProbeReport(
        pod=chosen.pod,
        container_name=chosen.container.name,
        probe_type=chosen.probe_type,
        probe=chosen.probe,
        container_id=place.container_id,
        pod_ip=place.pod_ip,
        outcome=outcome,
        hint="" if failure is None else failure_clause(failure, view),
        finding=None
        if options.no_findings
        else _finding(manifests.loaded, chosen, outcome),
        view=view,
    )
    emit(report, options.output)
    return exit_status_of(outcome)


def choose_probe(
    pods: Sequence[Pod], container_name: str | None, probe_type: str | None
) -> ChosenProbe:
    """Return the only probe that the options select.

    Raises:
        UsageError: there are several, or none of these.
        NothingToDoError: there is none at all.
    """
    probes = [
        ChosenProbe(pod, container, kind, probe)
        for pod in pods
        for container in pod.all_containers()
        for kind in ProbeType
        if (probe := container.probe(kind)) is not None
    ]
    if not probes:
        raise NothingToDoError("no container has a probe")
    if container_name is not None:
        check_containers([container_name], pods)
    matching = [
        chosen
        for chosen in probes
        if container_name in {None, chosen.container.name}
        and probe_type in {None, chosen.probe_type.lower()}
    ]
    if len(matching) == 1:
        return matching[0]
    has = ", ".join(
        probe_label(chosen.pod, chosen.container.name, chosen.probe_type)
        for chosen in matching or probes
    )
    what = "more than one probe matches" if matching else "no probe matches, there are"
    raise UsageError(f"{what}: {has}; use -c and -t")


def exit_status_of(outcome: ProbeOutcome) -> int:
    """Return the exit status: 0 for success, 1 for failure, 125 for an error."""
    last = outcome.last
    if last.error is not None:
        return _ERRORED
    is_success = last.result in {ProbeResult.SUCCESS, ProbeResult.WARNING}
    return 0 if is_success else _FAILED


async def _run(
    chosen: ChosenProbe, words: Sequence[str], options: ProbeOptions, notes: Notes
) -> _ProbeRun:
    clock, rules = SystemClock(), rules_by(options)
    runtime = await open_runtime(
        pick_options(RuntimeOptions, options),
        clock,
        exec_errors=options.exec_errors or rules.exec_errors_on_docker,
        rules=rules,
        sees_all=True,
    )
    try:
        try:
            place = await locate_container(runtime, chosen, words, clock, notes)
        except RuntimeUnavailableError as error:
            others, _ = await open_runtimes(RuntimeOptions(), clock)
            kind = await find_other_runtime(runtime, others, chosen)
            if not kind:
                raise
            message = f"{error}, but on {kind}: --runtime {kind}"
            raise RuntimeUnavailableError(message) from error
        outcome = await _prober(place.runtime, clock).probe(
            RunProbe(
                1,
                ProbeKey(chosen.pod.uid, chosen.container.name, chosen.probe_type),
                chosen.pod,
                chosen.container,
                chosen.probe,
                place.container_id,
                place.pod_ip,
                rules,
            )
        )
        listeners = await _find_listeners(chosen, place, outcome, clock)
        failed = FailedProbe(
            outcome.last, chosen.probe, chosen.container, listeners, rules
        )
        return _ProbeRun(place, outcome, probe_failure(failed))
    finally:
        await runtime.close()


def _finding(
    loaded: Iterable[LoadedPod], chosen: ChosenProbe, outcome: ProbeOutcome
) -> Problem | None:
    """Return what a probe showed to be unwise, as `check` would have it."""
    key = ProbeKey(chosen.pod.uid, chosen.container.name, chosen.probe_type)
    finding = find_finding(outcome.last, chosen.pod, key)
    if finding is None:
        return None
    severity = FINDING_RULES[finding.rule].severity
    return next(
        (
            pod.object.problem(finding.path, finding.message, severity, finding.rule)
            for pod in loaded
            if pod.pod.uid == chosen.pod.uid
        ),
        None,
    )


async def _find_listeners(
    chosen: ChosenProbe, place: ContainerLocation, outcome: ProbeOutcome, clock: Clock
) -> ListenersEntry | None:
    """Return where the container listens if it refused the connection."""
    refused_at = outcome.last.refused_at
    if refused_at is None or targets_other_host(chosen.container, chosen.probe_type):
        return None
    listeners, problem = None, ""
    try:
        host_listeners = await place.runtime.listeners(place.container_id)
        listeners = narrow_to_container(host_listeners, chosen.pod)
    except ContainerRuntimeError as error:
        problem = str(error)
    key = ProbeKey(chosen.pod.uid, chosen.container.name, chosen.probe_type)
    return ListenersEntry(
        0, clock.now(), key, place.container_id, refused_at, listeners, problem
    )


async def locate_container(
    runtime: Runtime,
    chosen: ChosenProbe,
    words: Sequence[str],
    clock: Clock,
    notes: Notes,
) -> ContainerLocation:
    """Return where the container runs: in a pod of ours, or as somebody else's.

    Raises:
        RuntimeUnavailableError: it does not run.
        UsageError: the words fit no container, or more than one.
    """
    if not words and (place := await _in_own_pod(runtime, chosen)):
        return place
    if runtime.supports(Runtime.unmanaged):
        only = replace(
            without_creation_fields(chosen.pod),
            init_containers=(),
            containers=(chosen.container,),
        )
        attached = await attach(
            runtime, [only], AttachOptions(tuple(words), looks_once=True), clock, notes
        )
        (pod,) = await attached.relist()
        if place := _in(pod, chosen, attached):
            return place
    name = f"{chosen.pod.name}/{chosen.container.name}"
    raise RuntimeUnavailableError(f"{name} does not run on {runtime.name}")


async def find_other_runtime(
    asked: Runtime, runtimes: Iterable[Runtime], chosen: ChosenProbe
) -> str:
    """Return which kind of runtime runs the container in a pod of ours, "" for none.

    The runtimes are closed. One that does not answer has not been asked for: why the
    other one has no such container is what counts.
    """
    kind = ""
    for runtime in runtimes:
        try:
            if runtime.name != asked.name and await _in_own_pod(runtime, chosen):
                kind = kind or runtime_kind(runtime)
        except ContainerRuntimeError as error:
            _LOG.info("%s: %s", runtime.name, error)
        finally:
            await runtime.close()
    return kind


async def _in_own_pod(
    runtime: Runtime, chosen: ChosenProbe
) -> ContainerLocation | None:
    for pod in await runtime.relist():
        is_it = (pod.namespace, pod.name) == (chosen.pod.namespace, chosen.pod.name)
        if is_it and (place := _in(pod, chosen, runtime)):
            return place
    return None


def _in(
    pod: RuntimePodStatus, chosen: ChosenProbe, runtime: Runtime
) -> ContainerLocation | None:
    newest = pod.newest(chosen.container.name)
    if newest is None or newest.state is not RuntimeState.RUNNING:
        return None
    return ContainerLocation(
        runtime, newest.container_id, pod.ips[0] if pod.ips else ""
    )


def _prober(runtime: Runtime, clock: Clock) -> Prober:
    prober = ProbeDispatcher(runtime, clock, runtime)
    if isinstance(runtime, AttachedRuntime):
        return ContainerAddressProber(prober, runtime.address_of)
    return prober
