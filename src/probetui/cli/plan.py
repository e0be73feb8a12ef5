"""A session as it was asked for; whatever can be refused beforehand is refused here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

from probetui.cli.attachment import Attachment, attachable
from probetui.cli.files import STDIN, STDOUT
from probetui.cli.host_notice import HostNotice
from probetui.cli.lessons import Page
from probetui.cli.log import start_log
from probetui.cli.notes import Notes
from probetui.cli.pods import (
    ManifestOptions,
    check_containers,
    load_pods,
    tell_problems,
)
from probetui.cli.recording import open_writer
from probetui.cli.roster import Wanted
from probetui.cli.runtimes import SIM, engines, shortcomings_of
from probetui.cli.session_options import (
    RuntimeOptions,
    ScreenChoices,
    SessionOptions,
    pick,
    recorded_runtime,
)
from probetui.cli.terminal import Form, Terminal, choose_form, take_keyboard
from probetui.drive.record_writer import RecordWriter
from probetui.errors import ManifestError, ProbetuiError, UsageError
from probetui.headless.condition import ConditionWatch, parse_condition
from probetui.headless.output import Selection
from probetui.k8s.pod import Container, Pod, PullPolicy
from probetui.k8s.probe import ProbeType
from probetui.manifest.manifests import LoadedObject, LoadedPod, Manifests
from probetui.manifest.probe_places import places_of_probes
from probetui.manifest.problem import Severity

if TYPE_CHECKING:
    from probetui.drive.scenario import Scenario

_PULL_POLICIES = {
    "missing": PullPolicy.IF_NOT_PRESENT,
    "always": PullPolicy.ALWAYS,
    "never": PullPolicy.NEVER,
}


class Stdout(Enum):
    """What goes to standard output."""

    LINES = "lines"
    SELECTED_RECORDS = "selected records"
    RECORDS = "records"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a session needs to know before it begins.

    `pods` are the loaded ones with what the command line changes of them, `objects`
    what they may refer to. `scenario` is how a simulated world goes, if anybody said
    so. `arguments` are the options as they go into the record. `intro` is said before
    anything else; on a screen, a lesson's `page` is open instead. `told_later` tells
    what the runtime does not carry out, by its kind, where that was not known before.
    `host_notice` tells what the pods may do to this machine.
    """

    loaded: Sequence[LoadedPod]
    pods: Sequence[Pod]
    objects: Sequence[LoadedObject]
    runtime: RuntimeOptions
    options: SessionOptions
    screen: ScreenChoices
    form: Form
    watch: ConditionWatch | None
    selection: Selection
    stdout: Stdout
    record: RecordWriter | None
    notes: Notes
    arguments: Mapping[str, Any]
    intro: str = ""
    source: ManifestOptions | None = None
    attachment: Attachment | None = None
    scenario: Scenario | None = None
    page: Page | None = None
    told_later: Callable[[str], None] | None = None
    host_notice: HostNotice | None = None

    @property
    def wanted(self) -> Wanted:
        """What the manifests ask for."""
        objects = tuple(each.value for each in self.objects)
        return Wanted(tuple(self.pods), objects, places_of_probes(self.loaded))

    def reload(self) -> Wanted:
        """Read the manifests again and return what they ask for.

        Raises:
            UsageError: there are no files to read again.
            ManifestError: what is wrong with the files, all of it.
            NothingToDoError: nothing is left to run.
        """
        if self.source is None or self.source.reads_stdin:
            raise UsageError("the manifests cannot be read a second time")
        manifests = load_pods(self.source)
        if self.host_notice is not None:
            self.host_notice.tell_again(manifests.loaded)
        pull = self.options.pull
        pods = tuple(_with_pull_policy(each, pull) for each in manifests.pods)
        places = places_of_probes(manifests.loaded)
        return Wanted(pods, manifests.config_objects, places)


def make_plan(
    manifests: Manifests,
    params: Mapping[str, Any],
    intro: str = "",
    source: ManifestOptions | None = None,
    attachment: Attachment | None = None,
) -> Plan:
    """Return the plan of a session that runs these pods.

    Warnings and notes about the manifests are told on the way. Afterwards standard
    input is the keyboard, if there will be a screen.

    Args:
        manifests: what was loaded, with at least one pod.
        params: the command's parameters, by name.
        intro: said before anything else.
        source: where the manifests came from, if they may be read again.
        attachment: how to attach to containers that exist, instead of running pods.

    Raises:
        UsageError: an option cannot be used.
        ManifestError: the runtime cannot carry out some fields, and is to be strict.
        RecordError: the record cannot be written.
        ImpossibleError: what `--until` waits for can never be.
    """
    options = pick(SessionOptions, params)
    screen = pick(ScreenChoices, params)
    start_log(options.log_file, options.log_level)
    notes = Notes(quiet=options.quiet)
    runtime = pick(RuntimeOptions, params)
    _check_time(options, runtime)
    host_notice = HostNotice(
        notes, is_wanted=not options.no_findings, trusts=source is None
    )
    told_later = None
    if attachment is None:
        # In a simulation every field is as good as any other.
        is_real = runtime.runtime != SIM
        tell_problems(manifests, notes, unsupported=is_real)
        strict = bool(params.get("strict"))
        tell = partial(_tell_kind, manifests, notes, strict, host_notice)
        kind, *others = engines(runtime)
        if others:
            told_later = tell
        else:
            tell(kind)
        pods = [_with_pull_policy(each, options.pull) for each in manifests.pods]
    else:
        # What a container was created with is nothing that is to be carried out.
        tell_problems(manifests, notes)
        pods = [attachable(each) for each in manifests.pods]
    check_containers(options.containers, pods)
    watch = _watch(options.until, pods)
    if screen.theme is not None or screen.keymap is not None:
        # Late: the screen's library is slow to import, and few have wishes.
        from probetui.cli.looks import read_looks  # noqa: PLC0415

        read_looks(screen)
    if options.watch and (source is None or source.reads_stdin):
        raise UsageError("--watch: standard input cannot be read a second time")
    reads_stdin = STDIN in (params.get("filenames") or ())
    form = choose_form(
        Terminal.here(),
        wanted=options.form,
        reads_stdin=reads_stdin,
        records_to_stdout=options.record == STDOUT,
    )
    record = None
    if options.record not in {None, STDOUT}:
        record = open_writer(str(options.record))
    if form is Form.SCREEN and reads_stdin:
        take_keyboard()
    return Plan(
        loaded=manifests.loaded,
        pods=pods,
        objects=manifests.objects,
        runtime=runtime,
        options=options,
        screen=screen,
        form=form,
        watch=watch,
        selection=_selection(options),
        stdout=_stdout(options, form),
        record=record,
        notes=notes,
        arguments=_arguments(params),
        intro=intro,
        source=source,
        attachment=_asking(attachment, form),
        told_later=told_later,
        host_notice=host_notice,
    )


def make_replay_plan(
    pods: Sequence[Pod], params: Mapping[str, Any], recorded: Mapping[str, Any]
) -> Plan:
    """Return the plan of a session that was recorded, with these pods.

    Args:
        pods: all that were in it.
        params: the command's parameters, by name.
        recorded: those of the session.

    Raises:
        UsageError: an option cannot be used.
        ImpossibleError: what `--until` waits for can never be.
    """
    options = pick(SessionOptions, params)
    start_log(options.log_file, options.log_level)
    screen = replace(pick(ScreenChoices, params), read_only=True)
    check_containers(options.containers, pods)
    if screen.theme is not None or screen.keymap is not None:
        # Late: the screen's library is slow to import, and few have wishes.
        from probetui.cli.looks import read_looks  # noqa: PLC0415

        read_looks(screen)
    form = choose_form(
        Terminal.here(),
        wanted=options.form,
        reads_stdin=False,
        records_to_stdout=options.record == STDOUT,
    )
    record = None
    if options.record not in {None, STDOUT}:
        record = open_writer(str(options.record))
    return Plan(
        loaded=(),
        pods=pods,
        objects=(),
        runtime=recorded_runtime(recorded),
        options=options,
        screen=screen,
        form=form,
        watch=_watch(options.until, pods),
        selection=_selection(options),
        stdout=_stdout(options, form),
        record=record,
        notes=Notes(quiet=options.quiet),
        arguments=_arguments(params),
    )


class ImpossibleError(ProbetuiError):
    """What `--until` waits for can never be; known before anything was started."""


def _check_time(options: SessionOptions, runtime: RuntimeOptions) -> None:
    """Refuse what only a clock of one's own can do."""
    given = {"--time-scale": options.time_scale, "--for": options.play_for}
    for name, value in given.items():
        if value is not None and runtime.runtime != SIM:
            raise UsageError(f"{name}: time can be played with in sim only")


def _selection(options: SessionOptions) -> Selection:
    types = [ProbeType(each.capitalize()) for each in options.types]
    return Selection(options.containers, types)


def _asking(attachment: Attachment | None, form: Form) -> Attachment | None:
    """Return it with whether a person is there to be asked."""
    if attachment is None:
        return None
    return replace(attachment, asks=form is Form.SCREEN)


def _tell_kind(
    manifests: Manifests,
    notes: Notes,
    strict: bool,  # noqa: FBT001  # bound long before it is called
    host_notice: HostNotice,
    kind: str,
) -> None:
    """Warn of each field that such a runtime does not carry out, or refuse it.

    Then tell what the pods may do to this machine.
    """
    look = shortcomings_of(kind)
    shortcomings = [
        str(loaded.object.problem(*each, Severity.WARNING, "runtime"))
        for loaded in manifests.loaded
        for each in look(loaded.pod)
    ]
    if shortcomings and strict:
        raise ManifestError(shortcomings)
    for each in shortcomings:
        notes.warning(each)
    if kind != SIM:
        host_notice.tell(manifests.loaded, kind)


def _with_pull_policy(pod: Pod, pull: str | None) -> Pod:
    if pull is None:
        return pod
    policy = _PULL_POLICIES[pull]

    def changed(containers: Sequence[Container]) -> tuple[Container, ...]:
        return tuple(replace(each, image_pull_policy=policy) for each in containers)

    return replace(
        pod,
        init_containers=changed(pod.init_containers),
        containers=changed(pod.containers),
    )


def _watch(until: str | None, pods: Sequence[Pod]) -> ConditionWatch | None:
    if until is None:
        return None
    try:
        watch = ConditionWatch(parse_condition(until), pods)
    except UsageError as error:
        raise UsageError(f"--until: {error}") from error
    if watch.impossible:
        raise ImpossibleError(f"--until {until} can never be: {watch.impossible}")
    return watch


def _stdout(options: SessionOptions, form: Form) -> Stdout:
    if options.record == STDOUT:
        return Stdout.RECORDS
    if form is Form.SCREEN:
        return Stdout.NOTHING
    if options.output == "jsonl":
        return Stdout.SELECTED_RECORDS
    return Stdout.NOTHING if options.quiet else Stdout.LINES


def _arguments(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options as JSON can say them, those that were not given left out."""
    return {
        name: value if isinstance(value, bool | int | str | list) else str(value)
        for name, raw in params.items()
        if (value := list(raw) if isinstance(raw, tuple) else raw)
        not in (None, [], False)
    }
