"""The record of a session read, and what it tells of containers printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from probetui.cli.autosave import LAST, last_session, sessions_folder
from probetui.cli.parameters import nearest
from probetui.cli.printing import print_line
from probetui.cli.session_options import recorded_runtime
from probetui.drive.masking import Mask, secrets_of
from probetui.drive.record_reader import Recording, read_recording
from probetui.errors import NothingToDoError, UsageError
from probetui.k8s.pod import Pod
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import Validation
from probetui.manifest.parse import Source
from probetui.presentation.containers import object_name, pod_names
from probetui.presentation.durations import Times
from probetui.presentation.past import Past
from probetui.presentation.view import View
from probetui.presentation.why import Case
from probetui.presentation.why_report import report

_MOST_ARGUMENTS = 2


class _Wanted(NamedTuple):
    """What was asked for: a record, None for the last one; a container, empty: all."""

    path: Path | None
    name: str


class _Told(NamedTuple):
    """What a record tells: of pods by UID, and of everything that happened."""

    pods: Mapping[str, Pod]
    names: Mapping[str, str]
    past: Past
    view: View


def print_report(arguments: Sequence[str]) -> int:
    """Print why containers ended; return the exit status, which is 0.

    Raises:
        UsageError: there is no container of that name.
        RecordError: the record cannot be read.
        NothingToDoError: there is no record, or no container in it.
    """
    wanted = _meant(arguments)
    path = wanted.path or _last_record()
    recording = read_recording(path)
    if recording.problem:
        print_line(f"probetui: {path}: {recording.problem}", err=True)
    told = _told(recording)
    for number, key in enumerate(_chosen(told, wanted.name, path)):
        if number:
            print_line()
        for each in report(_case(told, key), told.past, key[0]):
            print_line(each)
    return 0


def _meant(arguments: Sequence[str]) -> _Wanted:
    """Tell the record from the container: the record is a file, or is called so."""
    if len(arguments) > _MOST_ARGUMENTS:
        raise UsageError("why takes a record and POD/CONTAINER, no more")
    files = [each for each in arguments if _is_record(each)]
    names = [each for each in arguments if not _is_record(each)]
    if len(files) > 1 or len(names) > 1:
        kind = "records" if len(files) > 1 else "containers"
        raise UsageError(f"why takes one record and one POD/CONTAINER, not two {kind}")
    return _Wanted(Path(files[0]) if files else None, names[0] if names else "")


def _is_record(argument: str) -> bool:
    return argument.endswith((".jsonl", ".jsonl.gz")) or Path(argument).is_file()


def _last_record() -> Path:
    path = last_session()
    if path is None:
        raise NothingToDoError(
            f"no session has been kept yet ({sessions_folder() / LAST}); name a "
            "record, which `probetui run --record FILE` writes"
        )
    return path


def _told(recording: Recording) -> _Told:
    pods = _pods(recording)
    past = Past(recording.entries)
    past.feed(recording.entries, 0)
    started_at = datetime.fromisoformat(recording.session.ts)
    now = recording.entries[-1].at if recording.entries else started_at
    mask = Mask(secrets_of(pods.values()))
    known = {
        uid: pods.get(uid) or Pod(uid, name, namespace)
        for uid, (namespace, name) in recording.pods.items()
    }
    reach = recorded_runtime(recording.session.options).reach
    view = View(Times(now, started_at), mask=mask, reach=reach)
    return _Told(pods, pod_names(known.values()), past, view)


def _pods(recording: Recording) -> dict[str, Pod]:
    """Return the pods that the session began with, as their manifests have them."""
    sources = [
        Source(each.name, each.text.encode("utf-8", "surrogatepass"))
        for each in recording.session.manifests
    ]
    manifests = load_manifests(sources, validation=Validation.IGNORE)
    return {each.pod.uid: each.pod for each in manifests.loaded}


def _chosen(told: _Told, name: str, path: Path) -> list[tuple[str, str]]:
    keys = told.past.containers()
    if not keys:
        raise NothingToDoError(f"{path}: no container is in it")
    if not name:
        ended = [each for each in keys if told.past.container(*each).last_ends]
        return ended or keys
    names = {key: object_name(told.names, *key) for key in keys}
    chosen = [key for key, known in names.items() if _is_meant(name, known)]
    if not chosen:
        known_names = list(names.values())
        raise UsageError(
            f'"{name}" is not in {path} (has: {", ".join(known_names)})'
            f"{nearest(name, known_names)}"
        )
    return chosen


def _is_meant(name: str, known: str) -> bool:
    pod, _, container = known.rpartition("/")
    return name in {known, pod, container}


def _case(told: _Told, key: tuple[str, str]) -> Case:
    pod_uid, container_name = key
    return Case(
        told.pods.get(pod_uid),
        object_name(told.names, pod_uid, container_name),
        container_name,
        told.past.pod_ip(pod_uid),
        told.past.container(pod_uid, container_name),
        told.view,
    )
