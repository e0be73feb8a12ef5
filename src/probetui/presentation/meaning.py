"""What each kind of probe means for a container, with its own numbers."""

from __future__ import annotations

from collections.abc import Iterator

from probetui.k8s.pod import Pod
from probetui.k8s.probe import Probe, ProbeType
from probetui.presentation.spans import EMPTY, Line, line, strong


def meaning_lines(pod: Pod) -> Iterator[Line]:
    """Yield what the kinds of probes that a pod has mean, each kind once."""
    for kind in ProbeType:
        probes = [
            probe
            for container in pod.all_containers()
            if (probe := container.probe(kind)) is not None
        ]
        if not probes:
            continue
        yield EMPTY
        yield line("what ", strong(kind.lower()), " means here")
        for each in _MEANINGS[kind](probes[0]):
            yield line(f"  {each}")


def _liveness(probe: Probe) -> Iterator[str]:
    yield f"The container is killed for {_failures(probe)};"
    yield "whether it is started again is up to restartPolicy."
    yield "Fewer failures do nothing, and an errored probe counts for nothing."
    yield "After the kill it is on hold until a tick sees a new container id."
    yield "It says nothing about being ready."


def _readiness(probe: Probe) -> Iterator[str]:
    yield f"It is not ready after {_failures(probe)},"
    yield f"and ready again after {_in_a_row(probe.success_threshold, 'success')}."
    yield "It never kills anything: a container may be not ready for ever."


def _startup(probe: Probe) -> Iterator[str]:
    yield "Until it has succeeded, liveness and readiness are gated: not probed."
    yield f"The container is killed for {_failures(probe)}."
    yield "One success ends it: it never probes this container again."


_MEANINGS = {
    ProbeType.LIVENESS: _liveness,
    ProbeType.READINESS: _readiness,
    ProbeType.STARTUP: _startup,
}


def _failures(probe: Probe) -> str:
    return _in_a_row(probe.failure_threshold, "failure")


def _in_a_row(count: int, word: str) -> str:
    if count == 1:
        return f"1 {word}"
    return f"{count} {word}{'es' if word.endswith('s') else 's'} in a row"
