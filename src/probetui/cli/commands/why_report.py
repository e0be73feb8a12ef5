"""`probetui why`: a report on containers, from the record of a session."""

from __future__ import annotations

import re
import shlex
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from probetui.analysis.causes.answer import WELL, explain, last_endings
from probetui.analysis.causes.cause import WhyAnswer
from probetui.analysis.container_history import SessionHistory
from probetui.analysis.observed_past import history_at
from probetui.cli.commands.fleet import asks_store
from probetui.cli.option_values import recorded_runtime
from probetui.cli.printing import print_line
from probetui.cli.reports import emit
from probetui.cli.session.autosave import LAST, last_session, sessions_folder
from probetui.durations import format_age, parse_instant
from probetui.errors import NothingToDoError, RecordError, UsageError
from probetui.k8s.pod import Container, Pod
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet_rules import KubeletRules
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import FieldValidation
from probetui.manifest.yaml.parser import SourceFile
from probetui.presentation.container.table import object_name, pod_names
from probetui.presentation.container.why_report import ExplainedContainer, WhyReport
from probetui.presentation.text.markdown import code_span, markdown_line
from probetui.presentation.text.view import TimeFormatter, View
from probetui.presentation.tick.why import WhyContext
from probetui.record.file import names_record
from probetui.record.masking import Mask, find_pod_secrets
from probetui.record.reader import Recording, read_recording
from probetui.record.values import decode_value
from probetui.safe_text import safe_line
from probetui.suggestions import nearest_hint

if TYPE_CHECKING:
    from probetui.cli.commands.inspection import WhyOptions
    from probetui.cli.commands.stored_past import PastRecord

SETTINGS_ARE_OF_TODAY = "settings_are_of_today"
"""An option of a record's header: its settings may have been others at that time."""

_OF_TODAY = (
    "Settings are those of the template as it is today: they may have been others at "
    "that time."
)
_HOLES = 1
_MOST_ARGUMENTS = 2
_WORD = re.compile(r"[^\s\"',{}]+")
"""A word of a manifest, as a uid is one."""


class _Request(Struct, frozen=True):
    """The record (None: the last session's) and the container (empty: all)."""

    path: Path | None
    name: str


class _RecordedSession(Struct, frozen=True):
    """A session as recorded: its pods by UID, and its history.

    `pods` are those of the manifests; `full_names` have namespace and name of all.
    """

    pods: Mapping[str, Pod]
    full_names: Mapping[str, tuple[str, str]]
    names: Mapping[str, str]
    past: SessionHistory
    view: View


def print_report(arguments: Sequence[str], options: WhyOptions) -> int:
    """Print why containers ended; return the exit status, which is 0.

    Raises:
        UsageError: there is no container of that name, or --at is no instant of the
            record.
        RecordError: the record cannot be read.
        NothingToDoError: there is no record, or no container in it.
    """
    form = _chosen_form(options)
    wanted = _parse_arguments(arguments)
    if asks_store(options):
        # Late: it is seldom asked.
        from probetui.cli.commands.stored_past import named_container, past_record

        if wanted.path is not None or not wanted.name:
            raise UsageError(
                "with --prometheus, why takes the pod of the cluster: NAMESPACE/POD or "
                "NAMESPACE/POD/CONTAINER"
            )
        named = named_container(wanted.name)
        with past_record(named, options) as past:
            name = "/".join(filter(None, named))
            _print(past.path, name, None, form, options, past.asked)
        return _HOLES if options.strict and past.has_holes else 0
    if options.record is not None:
        raise UsageError("--record is of a store's samples: --prometheus names one")
    path = wanted.path or last_record()
    _print(path, wanted.name, options.at, form, options)
    return 0


def _print(
    path: Path,
    name: str,
    at: str | None,
    form: str,
    options: WhyOptions,
    asked: datetime | None = None,
) -> None:
    recording = read_recording(path, options.record_limit)
    if recording.problem:
        print_line(f"probetui: {path}: {recording.problem}", err=True)
    if at is not None:
        asked = _instant(at, recording)
    emit(_report(recording, path, name, asked), form)


def _report(
    recording: Recording,
    path: Path,
    name: str,
    asked: datetime | None = None,
) -> WhyReport:
    session = _load_session(recording, asked)
    keys = _selected_containers(session, name, path)
    containers = [_explained(session, key) for key in keys]
    is_of_today = bool(recording.session.options.get(SETTINGS_ARE_OF_TODAY))
    doubt = _OF_TODAY if is_of_today else ""
    return WhyReport(containers, session.past, _origin(recording), doubt)


def past_lines(past: PastRecord, name: str, most_bytes: int) -> list[str]:
    """Return what `why` prints of a container's past.

    Raises:
        RecordError: the record cannot be read.
        UsageError: the container is not in it.
    """
    recording = read_recording(past.path, most_bytes)
    report = _report(recording, past.path, name, past.asked)
    return [part for part in report.parts("text") if isinstance(part, str)]


class RecordedStory(Struct, frozen=True):
    """All containers of a record, of which some have ended or are not well."""

    containers: Sequence[ExplainedContainer]
    telling: Sequence[ExplainedContainer]
    past: SessionHistory
    pods: Mapping[str, Pod]
    view: View
    started_with: str


def tell_recording(path: Path, recording: Recording) -> RecordedStory:
    """Return the containers of a record at its end.

    Raises:
        NothingToDoError: there is none.
        RecordError: the record is damaged.
    """
    session = _load_session(recording)
    keys = _by_pods(session, _all_containers(session, path))
    explained = {key: _explained(session, key) for key in keys}
    return RecordedStory(
        [*explained.values()],
        [explained[key] for key in keys if _is_telling(session, key)],
        session.past,
        session.pods,
        session.view,
        _started_with(recording),
    )


def _by_pods(
    session: _RecordedSession, keys: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return containers by their pods, and by their places in the manifests."""
    pods = [*dict.fromkeys(uid for uid, _ in keys)]

    def place(key: tuple[str, str]) -> tuple[int, int]:
        uid, name = key
        pod = session.pods.get(uid)
        names = [] if pod is None else [*pod.container_names()]
        return pods.index(uid), names.index(name) if name in names else len(names)

    return sorted(keys, key=place)


def _chosen_form(options: WhyOptions) -> str:
    """Return the form of the report.

    Raises:
        UsageError: there is more than one.
    """
    forms = {
        f"-o {options.output}": options.output != "text",
        "--md": options.md,
        "--short": options.short,
    }
    chosen = [name for name, is_chosen in forms.items() if is_chosen]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} are two forms: choose one")
    return chosen[0].split()[-1].lstrip("-") if chosen else "text"


def _parse_arguments(arguments: Sequence[str]) -> _Request:
    """Split a record from a container: a record is a file, or has its suffix."""
    if len(arguments) > _MOST_ARGUMENTS:
        raise UsageError("why takes at most a record and POD/CONTAINER")
    files = [argument for argument in arguments if names_record(argument)]
    names = [argument for argument in arguments if not names_record(argument)]
    if len(files) > 1 or len(names) > 1:
        kind = "records" if len(files) > 1 else "containers"
        raise UsageError(f"why takes one record and one POD/CONTAINER, not two {kind}")
    return _Request(Path(files[0]) if files else None, names[0] if names else "")


def last_record() -> Path:
    """Return the record of the last session.

    Raises:
        NothingToDoError: none has been saved.
    """
    path = last_session()
    if path is None:
        raise NothingToDoError(
            f"no session has been saved yet ({sessions_folder() / LAST}); name a "
            "record, which `probetui run --record FILE` writes"
        )
    return path


def _instant(text: str | None, recording: Recording) -> datetime:
    """Return the instant that --at names, or the end of a record.

    Raises:
        UsageError: it is not an instant, or not one of the record.
    """
    started_at = datetime.fromisoformat(recording.session.ts)
    # Nothing may have happened for a while before the end.
    last = recording.end or recording.session
    told = [entry.at for entry in recording.entries[-1:]]
    ended_at = max([datetime.fromisoformat(last.ts), *told])
    if text is None:
        return ended_at
    is_from_end = text.startswith("-")
    instant = parse_instant(text, started_at, ended_at if is_from_end else started_at)
    if instant is None:
        try:
            instant = datetime.fromisoformat(text)
        except ValueError:
            instant = None
    if instant is None or instant.tzinfo is None:
        raise UsageError(
            f'--at "{text}" is no instant: 40s or 1:30 after the start, -10s before '
            "the end, or RFC 3339 as in 2026-01-31T12:00:00Z"
        )
    if not started_at <= instant <= ended_at:
        lasts = format_age(ended_at - started_at)
        raise UsageError(
            f"--at {text} is not in the record, which begins at "
            f"{started_at:%Y-%m-%dT%H:%M:%SZ} and lasts {lasts}"
        )
    return instant


def _load_session(
    recording: Recording, asked: datetime | None = None
) -> _RecordedSession:
    """Return a session as of an instant, None for its end.

    Of what was observed it has what became known later, with what is not decided.
    """
    config = _config(recording)
    rules = config.rules
    pods = _pods(recording, rules)
    entries = recording.entries
    now = _instant(None, recording) if asked is None else asked
    if asked is not None and recording.session.observed:
        past = history_at(entries, now)
    else:
        entries = entries[: bisect_right(entries, now, key=lambda entry: entry.at)]
        past = SessionHistory(entries)
        past.add_entries(entries, 0)
    started_at = datetime.fromisoformat(recording.session.ts)
    mask = Mask(find_pod_secrets(pods.values()))
    known = {
        uid: pods.get(uid) or Pod(uid, name, namespace)
        for uid, (namespace, name) in recording.pods.items()
    }
    reach = recorded_runtime(recording.session.options).reach
    view = View(
        TimeFormatter(now, started_at),
        mask=mask,
        acts=config.kills,
        reach=reach,
        rules=rules,
    )
    names = pod_names(known.values())
    return _RecordedSession(pods, recording.pods, names, past, view)


def _origin(recording: Recording) -> tuple[str, ...]:
    """Return how a session was started, and with what, as Markdown."""
    session = recording.session
    version = session.kubelet.removeprefix("v")
    origin = markdown_line(safe_line(_started_with(recording)))
    files = session.options.get("filenames")
    if not isinstance(files, list) or not files:
        return (origin,)
    is_simulated = session.runtime == "sim"
    words = ["probetui", "sim" if is_simulated else "run"]
    for file in files:
        words += ["-f", str(file)]
    option = "script" if is_simulated else "runtime"
    if value := session.options.get(option):
        words += [f"--{option}", str(value)]
    command = safe_line(shlex.join([*words, "--kubelet", version]))
    return (f"To repeat the session: {code_span(command)}", "", origin)


def _started_with(recording: Recording) -> str:
    """Return with what a session was started, and when."""
    session = recording.session
    version = session.kubelet.removeprefix("v")
    program = f"probetui {session.probetui}, kubelet {version}, {session.runtime}"
    # With the zone that the times of day above are in.
    began = datetime.fromisoformat(session.ts).astimezone().isoformat(" ", "seconds")
    return f"{program}; the session began at {began}"


def _config(recording: Recording) -> KubeletConfig:
    """Return the settings of the kubelet that a session had.

    Raises:
        RecordError: they are damaged, or there are no rules of its version.
    """
    try:
        config: KubeletConfig = decode_value(KubeletConfig, recording.session.config)
        _ = config.rules
    except (UsageError, ValueError) as error:
        raise RecordError(f"the session record is damaged: {error}") from error
    return config


def _pods(recording: Recording, rules: KubeletRules) -> dict[str, Pod]:
    """Return the pods that the session began with, as their manifests have them.

    Those that the record has nothing else of are left out, and so is all but the first
    of a pod: reading a manifest takes longer than reading a hundred lines.
    """
    missing = set(recording.pods)
    sources = []
    for manifest in recording.session.manifests:
        if uids := missing.intersection(_WORD.findall(manifest.text)):
            missing -= uids
            data = manifest.text.encode("utf-8", "surrogatepass")
            sources.append(SourceFile(manifest.name, data))
    manifests = load_manifests(sources, validation=FieldValidation.IGNORE, rules=rules)
    return {**recording.added, **{pod.pod.uid: pod.pod for pod in manifests.loaded}}


def _selected_containers(
    session: _RecordedSession, name: str, path: Path
) -> list[tuple[str, str]]:
    keys = _all_containers(session, path)
    if not name:
        return [key for key in keys if _is_telling(session, key)] or keys
    chosen = [key for key in keys if _is_named(name, session, key)]
    if not chosen:
        known_names = [object_name(session.names, *key) for key in keys]
        raise UsageError(
            f'"{name}" is not in {path} (has: {", ".join(known_names)})'
            f"{nearest_hint(name, known_names)}"
        )
    return chosen


def _all_containers(session: _RecordedSession, path: Path) -> list[tuple[str, str]]:
    keys = [*dict.fromkeys((*session.past.containers(), *_of_manifests(session)))]
    if not keys:
        raise NothingToDoError(f"{path}: it has no containers")
    return keys


def _of_manifests(session: _RecordedSession) -> Iterator[tuple[str, str]]:
    """Yield the containers of the manifests, also those that were never created."""
    for uid, pod in session.pods.items():
        if uid in session.full_names:
            yield from ((uid, name) for name in pod.container_names())


def _is_telling(session: _RecordedSession, key: tuple[str, str]) -> bool:
    """Return whether a container has ended once, or is not up and ready."""
    if session.past.container(*key).last_ends:
        return True
    answer = _answer(session, key)
    return answer is not None and answer.causes[0].kind not in WELL


def _answer(session: _RecordedSession, key: tuple[str, str]) -> WhyAnswer | None:
    """Return why a container is as it is, None if its manifest is not known."""
    pod_uid, container_name = key
    pod = session.pods.get(pod_uid)
    container = None if pod is None else pod.container(container_name)
    if pod is None or container is None:
        return None
    view = session.view
    return explain(pod, container, session.past, view.now, view.rules, session.pods)


def _is_named(text: str, session: _RecordedSession, key: tuple[str, str]) -> bool:
    pod_uid, container = key
    namespace, pod = session.full_names[pod_uid]
    own = (f"{pod}/{container}", f"{namespace}/{pod}", f"{namespace}/{pod}/{container}")
    return text.replace(":", "/") in {container, pod, *own}


def _explained(session: _RecordedSession, key: tuple[str, str]) -> ExplainedContainer:
    pod_uid, container_name = key
    namespace, pod_name = session.full_names[pod_uid]
    view = session.view
    pod = session.pods.get(pod_uid) or Pod(pod_uid, pod_name, namespace)
    container = pod.container(container_name) or Container(container_name)
    endings = last_endings(pod, container, session.past, view.now, view.rules)
    context = WhyContext(
        session.pods.get(pod_uid),
        object_name(session.names, pod_uid, container_name),
        container_name,
        session.past.pod_ip(pod_uid),
        session.past.container(pod_uid, container_name),
        view,
        _answer(session, key),
        endings,
    )
    return ExplainedContainer(namespace, pod_name, pod_uid, context)
