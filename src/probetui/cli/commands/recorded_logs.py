"""Logs of a record: what each instance of a container printed last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from probetui.cli.printing import Notes, print_notice, print_output
from probetui.errors import NothingToDoError, UsageError
from probetui.k8s.pod_names import UnknownPodError, find_pods
from probetui.k8s.runtime import LogLine
from probetui.kubelet.journal import ContainerEntry, LastOutputEntry
from probetui.presentation.plain.lines import format_rfc3339
from probetui.record.reader import Recording, read_recording

if TYPE_CHECKING:
    from probetui.cli.commands.management import LogsOptions

_AS_READ = "surrogateescape"
"""Bytes that are not UTF-8 are printed as the container wrote them."""


class _RecordedPod(Struct, frozen=True):
    """A pod of a record, with the containers of which it has an instance."""

    uid: str
    namespace: str
    name: str
    containers: tuple[str, ...]

    def container_names(self) -> Sequence[str]:
        """Return the names of those containers."""
        return self.containers


def print_log_line(line: LogLine, since: datetime | None, *, shows_time: bool) -> None:
    """Print a line that a container printed, unless it is too old.

    Raises:
        UsageError: its time is asked for, and it has none.
    """
    if line.at is None and (since is not None or shows_time):
        raise UsageError(
            "--since, --timestamps: the lines of a plain process have no times"
        )
    if since is None or (line.at is not None and line.at >= since):
        if line.is_after_gap:
            print_notice(
                "warning", "lines may be missing here, gone before they were read"
            )
        stamp = f"{format_rfc3339(line.at)} " if shows_time and line.at else ""
        print_output(f"{stamp}{line.text}\n".encode(errors=_AS_READ))


def has_recorded_pod(path: Path, target: str) -> bool:
    """Return whether a record has the pod that a target means.

    Raises:
        RecordError: it cannot be read.
    """
    try:
        find_pods(target, _pods(read_recording(path)))
    except UnknownPodError:
        return False
    return True


def print_recorded_logs(path: Path, target: str, options: LogsOptions) -> None:
    """Print what an instance of a container printed last, as a record has it.

    Raises:
        RecordError: the record cannot be read.
        UsageError: there is no such container, or several, or a record is followed.
        NothingToDoError: the record does not have what it printed.
    """
    if options.follow:
        raise UsageError(f"-f: {path} is a record, in which nothing new is printed")
    notes = Notes(quiet=options.quiet)
    recording = read_recording(path)
    if recording.problem:
        notes.error(f"{path}: {recording.problem}")
    pod, container = _chosen(recording, target, options)
    where = f"{pod.namespace}/{pod.name}/{container}"
    outputs = [*_outputs(recording, pod.uid, container)]
    if not outputs:
        raise NothingToDoError(
            f"{path} does not have what {where} printed: no instance has exited, or "
            "an earlier probetui wrote the record"
        )
    if options.previous and len(outputs) == 1:
        raise NothingToDoError(f"{where}: {path} has no earlier instance of it")
    entry = outputs[-2 if options.previous else -1]
    number = entry.restart_count + 1
    if entry.lines is None:
        raise NothingToDoError(
            f"{where}: what instance {number} printed last could not be read: "
            f"{entry.problem}"
        )
    notes.note(
        f"{path} has what instance {number} of {where} printed last, at most 10 lines"
    )
    since = None if options.since is None else recording.ended_at - options.since
    tail = len(entry.lines) if options.tail is None else options.tail
    for line in entry.lines[max(len(entry.lines) - tail, 0) :]:
        print_log_line(line, since, shows_time=options.timestamps)


def _chosen(
    recording: Recording, target: str, options: LogsOptions
) -> tuple[_RecordedPod, str]:
    """Return the pod and the container that are meant.

    Raises:
        UsageError: there is not one such container.
    """
    known = [
        pod for pod in _pods(recording) if options.namespace in {None, pod.namespace}
    ]
    pods, of_target = find_pods(target, known)
    if len(pods) > 1:
        has = ", ".join(f"{pod.namespace}/{pod.name}" for pod in pods)
        raise UsageError(f"more than one pod is meant: {has}; use -n")
    (pod,) = pods
    wanted = options.container or of_target
    meant = [name for name in pod.containers if wanted in {"", name}]
    if len(meant) != 1:
        has = ", ".join(pod.containers)
        raise UsageError(
            f"-c: which container of {pod.namespace}/{pod.name} (has: {has})"
        )
    return pod, meant[0]


def _pods(recording: Recording) -> list[_RecordedPod]:
    containers: dict[str, dict[str, None]] = {}
    for entry in recording.entries:
        if isinstance(entry, ContainerEntry):
            containers.setdefault(entry.pod_uid, {})[entry.container_name] = None
    return [
        _RecordedPod(uid, namespace, name, tuple(containers.get(uid, ())))
        for uid, (namespace, name) in recording.pods.items()
    ]


def _outputs(
    recording: Recording, pod_uid: str, container: str
) -> Iterator[LastOutputEntry]:
    """Yield what the instances of a container printed last, in their order."""
    for entry in recording.entries:
        if isinstance(entry, LastOutputEntry) and (
            entry.pod_uid,
            entry.container_name,
        ) == (pod_uid, container):
            yield entry
