"""The plan of a session: options and manifests, checked before anything is started."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from probetui.cli.files import STDIN, STDOUT, SourceReader
from probetui.cli.lessons import OpenLesson
from probetui.cli.log import start_log
from probetui.cli.option_values import (
    NodeOptions,
    RuntimeOptions,
    ScreenChoices,
    ServeOptions,
    SessionOptions,
    check_restart_period,
    pick_options,
    pick_runtime,
    recorded_runtime,
    rules_by,
)
from probetui.cli.pods import (
    ManifestOptions,
    check_containers,
    load_pods,
    report_problems,
)
from probetui.cli.printing import Notes
from probetui.cli.runtimes import SIM, candidate_engines, unsupported_fields_of
from probetui.cli.session.attachment import (
    AttachOptions,
    without_creation_fields,
    without_creation_problems,
)
from probetui.cli.session.host_access_warning import HostAccessWarning
from probetui.cli.session.pod_registry import DesiredState
from probetui.cli.session.recording import open_writer
from probetui.cli.terminal import Form, Terminal, choose_form, take_keyboard
from probetui.errors import ManifestError, NothingToDoError, ProbetuiError, UsageError
from probetui.headless.output import EntryFilter
from probetui.k8s.pod import Container, Pod, PullPolicy
from probetui.k8s.probe import ProbeType
from probetui.k8s.service import Service
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.manifest.manifests import LoadedConfigObject, LoadedPod, Manifests
from probetui.manifest.problem import Problem, Severity
from probetui.record.credentials import mask_credentials
from probetui.record.writer import RecordWriter

if TYPE_CHECKING:
    from probetui.cli.session.cluster_attachment import ClusterTarget
    from probetui.drive.scenario.script import Scenario
    from probetui.headless.cases.progress import CaseProgress
    from probetui.headless.condition import ConditionWatch

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


class Plan(Struct, frozen=True):
    """What a session needs to know before it begins.

    Attributes:
        loaded: the pods as they were read.
        pods: the same, with what the command line changes of them.
        objects: the ConfigMaps and Secrets that they may refer to.
        services: the Services of the manifests that select pods.
        watch: what `--until` waits for.
        selection: which entries are printed.
        record: the file of `--record`.
        arguments: the options as they go into the record.
        rules: those of the kubelet's version.
        intro: printed before anything else.
        source: how to read the manifests again, None if they are in no files.
        reader: what read them, and reads them again; None as for `source`.
        attachment: how to attach, None to run the pods.
        scenario: the script of a simulation.
        page: the lesson that the screen shows instead of `intro`.
        warn_for_runtime: reports the fields that a kind of runtime does not support,
            None if the kind was known and they have been reported.
        host_access_warning: reports what the pods may do to this machine.
        warnings: about what is likely a mistake in the manifests; they have been
            printed, before a screen covers the terminal.
        node: the node of a cluster that the session is, None if it is none.
        serve: how it is served as a Kubernetes API, None if it is not.
        case: the case of `probetui test` that it is, None if it is none.
        cluster: the pod of a cluster that it attaches to, None if it does not.
    """

    loaded: Sequence[LoadedPod]
    pods: Sequence[Pod]
    objects: Sequence[LoadedConfigObject]
    runtime: RuntimeOptions
    options: SessionOptions
    screen: ScreenChoices
    form: Form
    watch: ConditionWatch | None
    selection: EntryFilter
    stdout: Stdout
    record: RecordWriter | None
    notes: Notes
    arguments: Mapping[str, Any]
    rules: KubeletRules = PORTED_RULES
    intro: str = ""
    source: ManifestOptions | None = None
    reader: SourceReader | None = None
    attachment: AttachOptions | None = None
    scenario: Scenario | None = None
    page: OpenLesson | None = None
    services: tuple[Service, ...] = ()
    warn_for_runtime: Callable[[str], None] | None = None
    host_access_warning: HostAccessWarning | None = None
    warnings: tuple[Problem, ...] = ()
    node: NodeOptions | None = None
    serve: ServeOptions | None = None
    case: CaseProgress | None = None
    cluster: ClusterTarget | None = None

    @property
    def desired(self) -> DesiredState:
        """What the manifests ask for."""
        objects = [config.value for config in self.objects]
        desired = DesiredState.of(
            self.loaded, self.pods, objects, self.reader
        )._replace(warnings=self.warnings)
        return desired if self.node is None else desired.beside_api()

    @property
    def exec_errors(self) -> str:
        """What a command is on Docker that cannot be started."""
        return self.options.exec_errors or self.rules.exec_errors_on_docker

    def reload(
        self, *, only_static: bool = False, may_be_empty: bool = False
    ) -> DesiredState:
        """Read the manifests again and return what they ask for.

        Args:
            only_static: read only the files of static pods again.
            may_be_empty: that nothing is left to run is no error.

        Raises:
            UsageError: there are no files to read again.
            ManifestError: what is wrong with the files, all of it.
            NothingToDoError: nothing is left to run.
        """
        if self.source is None or self.reader is None:
            raise UsageError("the manifests cannot be read a second time")
        try:
            host = "" if self.node is None else self.node.node_name or ""
            manifests = load_pods(
                self.source, self.reader, only_static=only_static, host=host
            )
        except NothingToDoError:
            if not may_be_empty:
                raise
            manifests = Manifests()
        if self.host_access_warning is not None:
            self.host_access_warning.warn_again(manifests.loaded)
        pull = self.options.pull
        pods = [_with_pull_policy(pod, pull) for pod in manifests.pods]
        desired = DesiredState.of(
            manifests.loaded, pods, manifests.config_objects, self.reader
        )
        return desired._replace(warnings=manifests.warnings)

    def kubelet_config(self, *, default_seed: int) -> KubeletConfig:
        """Return the kubelet's configuration by the options of the session."""
        options = self.options
        config = KubeletConfig(
            version=self.rules.release,
            feature_gates=self.rules.feature_gates,
            seed=default_seed if options.seed is None else options.seed,
            queues_while_waiting=True,
            counts_generations=self.node is None,
            max_container_restart_period=options.max_container_restart_period,
            kills=options.act,
            restarts=options.act,
            freezes=options.freeze,
            tells_findings=not options.no_findings,
            sources=self.desired.sources,
        )
        is_fresh = options.kubelet_age == "fresh"
        return replace(config, age=timedelta()) if is_fresh else config

    def without_screen(self) -> Plan:
        """Return the plan of the same session, in plain lines from now on."""
        form = Form.LINES
        return replace(self, form=form, stdout=_stdout(self.options, form))

    def print_intro(self) -> None:
        """Print what there is to watch in a lesson."""
        if self.intro:
            self.notes.note(self.intro)


def make_plan(
    manifests: Manifests,
    params: Mapping[str, Any],
    intro: str = "",
    source: ManifestOptions | None = None,
    attachment: AttachOptions | None = None,
    reader: SourceReader | None = None,
) -> Plan:
    """Return the plan of a session that runs these pods.

    Warnings and notes about the manifests are printed on the way. Afterwards standard
    input is the keyboard, if there will be a screen.

    Args:
        manifests: what was loaded, with at least one pod.
        params: the command's parameters, by name.
        intro: printed before anything else.
        source: where the manifests came from, if they may be read again.
        reader: what read them.
        attachment: how to attach to containers that exist, instead of running pods.

    Raises:
        UsageError: an option cannot be used.
        ManifestError: with `--strict`, the runtime does not support some fields.
        RecordError: the record cannot be written.
        ImpossibleConditionError: what `--until` waits for can never happen.
    """
    options = pick_options(SessionOptions, params)
    start_log(options.log_file, options.log_level)
    notes = Notes(quiet=options.quiet)
    runtime = pick_runtime(params)
    rules = rules_by(params)
    _check_time_options(options, runtime)
    check_restart_period(options.max_container_restart_period, rules)
    host_access_warning = HostAccessWarning(
        notes, is_wanted=not options.no_findings, trusts=source is None
    )
    warn_for_runtime = None
    if attachment is None:
        is_simulated = runtime.runtime == SIM  # then every field is supported
        report_problems(manifests, notes, unsupported=not is_simulated)
        strict = bool(params.get("strict"))
        warn = partial(_warn_for_runtime, manifests, notes, strict, host_access_warning)
        kind, *others = candidate_engines(runtime)
        if others:
            warn_for_runtime = warn
        else:
            warn(kind)
        pods = [_with_pull_policy(pod, options.pull) for pod in manifests.pods]
    else:
        # Fields that matter when a container is created are not carried out here.
        report_problems(without_creation_problems(manifests), notes)
        pods = [without_creation_fields(pod) for pod in manifests.pods]
    if options.watch and (reader is None or not reader.can_reread):
        raise UsageError("--watch: standard input cannot be read a second time")
    for problem in () if reader is None else reader.unread.values():
        notes.warning(f"{problem}; nothing is cleaned up until it is read")
    plan = _complete_plan(
        params,
        options,
        pick_options(ScreenChoices, params),
        pods,
        reads_stdin=STDIN in (params.get("filenames") or ()),
        loaded=manifests.loaded,
        objects=manifests.objects,
        services=manifests.services,
        runtime=runtime,
        notes=notes,
        rules=rules,
        intro=intro,
        source=source,
        reader=reader,
        warn_for_runtime=warn_for_runtime,
        host_access_warning=host_access_warning,
        warnings=() if source is None or options.quiet else manifests.warnings,
    )
    if attachment is None:
        return plan
    asks = plan.form is Form.SCREEN
    return replace(plan, attachment=replace(attachment, asks=asks))


def make_replay_plan(
    pods: Sequence[Pod], params: Mapping[str, Any], recorded: Mapping[str, Any]
) -> Plan:
    """Return the plan of a replay of a session with these pods.

    Args:
        pods: all that were in it.
        params: the command's parameters, by name.
        recorded: those of the session.

    Raises:
        UsageError: an option cannot be used.
        ImpossibleConditionError: what `--until` waits for can never happen.
    """
    options = pick_options(SessionOptions, params)
    start_log(options.log_file, options.log_level)
    return _complete_plan(
        params,
        options,
        replace(pick_options(ScreenChoices, params), read_only=True),
        pods,
        reads_stdin=False,
        loaded=(),
        objects=(),
        runtime=recorded_runtime(recorded),
        notes=Notes(quiet=options.quiet),
    )


def make_watch_plan(pods: Sequence[Pod], params: Mapping[str, Any], intro: str) -> Plan:
    """Return the plan of a session that watches pods of a cluster.

    Args:
        pods: those that are there at first.
        params: the command's parameters, by name.
        intro: printed before anything else.

    Raises:
        UsageError: an option cannot be used.
        NothingToDoError: `--until` is to wait for pods that are not there.
        ImpossibleConditionError: what `--until` waits for can never happen.
    """
    options = pick_options(SessionOptions, params)
    start_log(options.log_file, options.log_level)
    if options.until is not None and not pods:
        raise NothingToDoError("--until: there are no such pods yet")
    return _complete_plan(
        params,
        options,
        replace(pick_options(ScreenChoices, params), read_only=True),
        pods,
        reads_stdin=False,
        loaded=(),
        objects=(),
        runtime=pick_runtime(params),
        notes=Notes(quiet=options.quiet),
        intro=intro,
    )


def _complete_plan(
    params: Mapping[str, Any],
    options: SessionOptions,
    screen: ScreenChoices,
    pods: Sequence[Pod],
    *,
    reads_stdin: bool,
    **fields: Any,
) -> Plan:
    """Return a plan with how the session is shown, ended and recorded."""
    if options.step:
        options = _stepping(options, reads_stdin=reads_stdin)
    check_containers(options.containers, pods)
    watch = _condition_watch(options, pods)
    if screen.theme is not None or screen.keymap is not None:
        # Late: the screen's library is slow to import, and few choose these.
        from probetui.cli.session.appearance import load_appearance

        load_appearance(screen)
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
        pods=pods,
        options=options,
        screen=screen,
        form=form,
        watch=watch,
        selection=_entry_filter(options),
        stdout=_stdout(options, form),
        record=record,
        arguments=_arguments(params),
        **fields,
    )


def _stepping(options: SessionOptions, *, reads_stdin: bool) -> SessionOptions:
    """Return the options of a session that lines step: paused, and no screen.

    Raises:
        UsageError: the lines cannot come from standard input.
    """
    if options.form == "tui":
        raise UsageError("--step reads lines instead of keys: leave --tui out")
    if reads_stdin:
        raise UsageError(
            "--step reads its lines from standard input: the manifest cannot come "
            "from there"
        )
    return replace(options, form="plain", paused=True)


class ImpossibleConditionError(ProbetuiError):
    """What `--until` waits for can never happen; known before anything is started."""


def _check_time_options(options: SessionOptions, runtime: RuntimeOptions) -> None:
    """Refuse options that only virtual time allows."""
    given = {"--time-scale": options.time_scale, "--for": options.play_for}
    for name, value in given.items():
        if value is not None and runtime.runtime != SIM:
            raise UsageError(f"{name} works in a simulation only")


def _entry_filter(options: SessionOptions) -> EntryFilter:
    types = [ProbeType(name.capitalize()) for name in options.types]
    return EntryFilter(options.containers, types)


def _warn_for_runtime(
    manifests: Manifests,
    notes: Notes,
    strict: bool,  # noqa: FBT001  # bound long before it is called
    host_access_warning: HostAccessWarning,
    kind: str,
) -> None:
    """Warn of each field that a kind of runtime does not support, or refuse it.

    Then report what the pods may do to this machine.
    """
    find_unsupported = unsupported_fields_of(kind)
    problems = [
        str(loaded.object.problem(*unsupported, Severity.WARNING, "runtime"))
        for loaded in manifests.loaded
        for unsupported in find_unsupported(loaded.pod)
    ]
    if problems and strict:
        raise ManifestError(problems)
    for problem in problems:
        notes.warning(problem)
    if kind != SIM:
        host_access_warning.warn(manifests.loaded, kind)


def _with_pull_policy(pod: Pod, pull: str | None) -> Pod:
    if pull is None:
        return pod
    policy = _PULL_POLICIES[pull]

    def changed(containers: Sequence[Container]) -> tuple[Container, ...]:
        return tuple(
            replace(container, image_pull_policy=policy) for container in containers
        )

    return replace(
        pod,
        init_containers=changed(pod.init_containers),
        containers=changed(pod.containers),
    )


def _condition_watch(
    options: SessionOptions, pods: Sequence[Pod]
) -> ConditionWatch | None:
    until, hold_for = options.until, options.for_at_least
    if until is None:
        if hold_for is not None:
            raise UsageError("--for-at-least needs --until ready or --until started")
        return None
    if not pods:  # those of a cluster's node come later
        raise UsageError("--until is about pods of --static, and there are none")
    # Late: many sessions wait for nothing.
    from probetui.headless.condition import (
        ConditionWatch,
        parse_condition,
    )

    try:
        watch = ConditionWatch(parse_condition(until), pods, hold_for or timedelta())
    except UsageError as error:
        raise UsageError(f"--until: {error}") from error
    if watch.impossible:
        raise ImpossibleConditionError(
            f"--until {until} can never happen: {watch.impossible}"
        )
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
    """Return the options as JSON can say them, those that were not given left out.

    What is secret in a URL is masked.
    """
    return {
        name: _argument(value)
        for name, raw in params.items()
        if (value := list(raw) if isinstance(raw, tuple) else raw)
        not in (None, [], False)
    }


def _argument(value: object) -> object:
    if isinstance(value, bool | int):
        return value
    if isinstance(value, list):
        return [_argument(one) for one in value]
    return mask_credentials(str(value))
