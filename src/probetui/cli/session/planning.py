"""Planning: the options and manifests of a session, checked before anything is started.

Each function makes the plan of a kind of session. On the way it starts the log, prints
warnings and notes about the manifests, opens the record, and makes the keyboard
standard input if a manifest came from there and there will be a screen. Each raises

- `UsageError` if an option cannot be used,
- `RecordError` if the record cannot be written,
- `ImpossibleConditionError` if what `--until` waits for can never happen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from probetui.cli.files import STDOUT, SourceReader
from probetui.cli.log import start_log
from probetui.cli.option_groups import OptionGroup, pick_options, values_of
from probetui.cli.option_values import (
    RuntimeOptions,
    ScreenChoices,
    SessionOptions,
    check_restart_period,
    pick_runtime,
    recorded_runtime,
    rules_by,
)
from probetui.cli.options import WebOptions
from probetui.cli.pods import ManifestOptions, check_containers, report_problems
from probetui.cli.printing import Notes
from probetui.cli.runtimes import SIM, candidate_engines, unsupported_fields_of
from probetui.cli.session.host_access_warning import HostAccessWarning
from probetui.cli.session.plan import (
    NO_MANIFESTS,
    AttachPlan,
    Plan,
    ReplayPlan,
    RunPlan,
    SessionManifests,
    SimPlan,
    Stdout,
    WatchPlan,
    pods_to_run,
)
from probetui.cli.session.recording import open_writer
from probetui.cli.terminal import Form, Terminal, choose_form, take_keyboard
from probetui.errors import ManifestError, NothingToDoError, ProbetuiError, UsageError
from probetui.headless.output import EntryFilter
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.manifest.manifests import Manifests
from probetui.manifest.problem import Severity
from probetui.record.credentials import mask_credentials

if TYPE_CHECKING:
    from probetui.cli.session.attachment import AttachOptions
    from probetui.drive.scenario.script import Scenario
    from probetui.headless.condition import ConditionWatch


class ImpossibleConditionError(ProbetuiError):
    """What `--until` waits for can never happen; known before anything is started."""


def make_plan(
    manifests: Manifests,
    given: OptionGroup,
    source: ManifestOptions | None = None,
    reader: SourceReader | None = None,
) -> RunPlan:
    """Return the plan of a session that runs these pods on a runtime.

    Args:
        manifests: what was loaded, with at least one pod.
        given: the command's options.
        source: where the manifests came from, if they may be read again.
        reader: what read them.

    Raises:
        ManifestError: with `--strict`, the runtime does not support some fields.
    """
    options, runtime, rules = _engine_options(given)
    strict = pick_options(ManifestOptions, given).strict
    notes = Notes(quiet=options.quiet)
    host_access = HostAccessWarning(
        notes, is_wanted=not options.no_findings, trusts=source is None
    )
    report_problems(manifests, notes, unsupported=True)
    if not options.no_findings and source is not None:
        _warn_of_findings(manifests, rules, notes)
    warn = partial(_warn_for_runtime, manifests, notes, strict, host_access)
    kind, *others = candidate_engines(runtime)
    if not others:
        warn(kind)
    plan = _complete_plan(
        given,
        options,
        pods_to_run(manifests, options),
        runtime,
        notes,
        rules,
        _session_manifests(manifests, options, source, reader, notes),
    )
    return RunPlan.of(
        plan, host_access=host_access, warn_for_runtime=warn if others else None
    )


def make_sim_plan(
    manifests: Manifests,
    given: OptionGroup,
    scenario: Scenario | None,
    source: ManifestOptions | None = None,
    reader: SourceReader | None = None,
) -> SimPlan:
    """Return the plan of a session that runs these pods on virtual time.

    Args:
        manifests: what was loaded, with at least one pod.
        given: the command's options.
        scenario: what containers and probes do, None if all is well.
        source: where the manifests came from, if they may be read again.
        reader: what read the manifests.
    """
    options, runtime, rules = _engine_options(given)
    notes = Notes(quiet=options.quiet)
    report_problems(manifests, notes)  # every field is supported
    if not options.no_findings and source is not None:
        _warn_of_findings(manifests, rules, notes)
    plan = _complete_plan(
        given,
        options,
        pods_to_run(manifests, options),
        runtime,
        notes,
        rules,
        _session_manifests(manifests, options, source, reader, notes),
    )
    return SimPlan.of(plan, scenario=scenario)


def make_attach_plan(
    manifests: Manifests,
    given: OptionGroup,
    attachment: AttachOptions,
    reader: SourceReader | None = None,
) -> AttachPlan:
    """Return the plan of a session that probes containers that exist.

    Args:
        manifests: what was loaded, with at least one pod.
        given: the command's options.
        attachment: how to attach.
        reader: what read the manifests.
    """
    # Late: few sessions attach to anything.
    from probetui.cli.session.attachment import (
        without_creation_fields,
        without_creation_problems,
    )

    options, runtime, rules = _engine_options(given)
    notes = Notes(quiet=options.quiet)
    # Fields that matter when a container is created are not carried out here.
    report_problems(without_creation_problems(manifests), notes)
    plan = _complete_plan(
        given,
        options,
        [without_creation_fields(pod) for pod in manifests.pods],
        runtime,
        notes,
        rules,
        _session_manifests(manifests, options, None, reader, notes),
    )
    asks = plan.form is Form.SCREEN
    return AttachPlan.of(plan, attachment=replace(attachment, asks=asks))


def make_replay_plan(
    pods: Sequence[Pod], given: OptionGroup, recorded: Mapping[str, Any]
) -> ReplayPlan:
    """Return the plan of a replay of a session with these pods.

    Args:
        pods: all that were in it.
        given: the command's options.
        recorded: those of the session.
    """
    options = pick_options(SessionOptions, given)
    start_log(options.log_file, options.log_level)
    notes = Notes(quiet=options.quiet)
    runtime = recorded_runtime(recorded)
    return ReplayPlan.of(
        _read_only(_complete_plan(given, options, pods, runtime, notes))
    )


def make_watch_plan(pods: Sequence[Pod], given: OptionGroup, intro: str) -> WatchPlan:
    """Return the plan of a session that watches pods of a cluster.

    Args:
        pods: those that are there at first.
        given: the command's options.
        intro: printed before anything else.

    Raises:
        NothingToDoError: `--until` is to wait for pods that are not there.
    """
    options = pick_options(SessionOptions, given)
    start_log(options.log_file, options.log_level)
    if options.until is not None and not pods:
        raise NothingToDoError("--until: there are no such pods yet")
    notes = Notes(quiet=options.quiet)
    plan = _complete_plan(given, options, pods, pick_runtime(given), notes)
    return WatchPlan.of(replace(_read_only(plan), intro=intro))


def _engine_options(
    given: OptionGroup,
) -> tuple[SessionOptions, RuntimeOptions, KubeletRules]:
    """Start the log; return the options of an engine's session, which are checked."""
    options = pick_options(SessionOptions, given)
    start_log(options.log_file, options.log_level)
    runtime = pick_runtime(given)
    rules = rules_by(options)
    of_virtual_time = {"--time-scale": options.time_scale, "--for": options.play_for}
    for name, value in of_virtual_time.items():
        if value is not None and runtime.runtime != SIM:
            raise UsageError(f"{name} works in a simulation only")
    check_restart_period(options.max_container_restart_period, rules)
    return options, runtime, rules


def _session_manifests(
    manifests: Manifests,
    options: SessionOptions,
    source: ManifestOptions | None,
    reader: SourceReader | None,
    notes: Notes,
) -> SessionManifests:
    """Return the manifests of a session; warn of those that could not be read yet."""
    if options.watch and (reader is None or not reader.can_reread):
        raise UsageError("--watch: standard input cannot be read a second time")
    for problem in () if reader is None else reader.unread.values():
        notes.warning(f"{problem}; nothing is cleaned up until it is read")
    return SessionManifests(
        manifests.loaded,
        manifests.objects,
        manifests.services,
        () if source is None or options.quiet else manifests.warnings,
        source,
        reader,
    )


def _complete_plan(
    given: OptionGroup,
    options: SessionOptions,
    pods: Sequence[Pod],
    runtime: RuntimeOptions,
    notes: Notes,
    rules: KubeletRules = PORTED_RULES,
    manifests: SessionManifests = NO_MANIFESTS,
) -> Plan:
    """Return a plan with how the session is shown, ended and recorded."""
    reads_stdin = pick_options(ManifestOptions, given).reads_stdin
    if options.step:
        # Lines take the place of keys, and a step comes after a pause.
        if options.form == "tui":
            raise UsageError("--step reads lines instead of keys: leave --tui out")
        if reads_stdin:
            raise UsageError(
                "--step reads its lines from standard input: the manifest cannot come "
                "from there"
            )
        options = options.replace(form="plain", paused=True)
    check_containers(options.containers, pods)
    watch = _condition_watch(options, pods)
    screen = pick_options(ScreenChoices, given)
    if screen.theme is not None or screen.keymap is not None:
        # Late: the screen's library is slow to import, and few choose these.
        from probetui.cli.session.appearance import load_appearance

        load_appearance(screen)
    web = pick_options(WebOptions, given)
    if web.web:
        form = _web_form(options)
    else:
        if web.web_port or web.web_control:
            raise UsageError("--web-port and --web-control need --web")
        form = choose_form(
            Terminal.here(),
            wanted=options.form,
            reads_stdin=reads_stdin,
            records_to_stdout=options.record == STDOUT,
        )
    if options.report is not None:
        # Late: few sessions have a report.
        from probetui.cli.commands.session_report import check_report_target

        check_report_target(options.report, "--report")
    record = None
    if options.record not in {None, STDOUT}:
        record = open_writer(str(options.record))
    if form is Form.SCREEN and reads_stdin:
        take_keyboard()
    types = [ProbeType(name.capitalize()) for name in options.types]
    return Plan(
        pods=pods,
        runtime=runtime,
        options=options,
        screen=screen,
        form=form,
        watch=watch,
        selection=EntryFilter(options.containers, types),
        stdout=Stdout.by(options, form),
        record=record,
        notes=notes,
        # Options that were not given are left out.
        arguments={
            name: _argument(value)
            for name, raw in values_of(given).items()
            if (value := list(raw) if isinstance(raw, tuple) else raw)
            not in (None, [], False)
        },
        rules=rules,
        manifests=manifests,
        web=web,
    )


def _web_form(options: SessionOptions) -> Form:
    """Return the form of a session with `--web`, if there can be one."""
    # Late: few sessions are shown in a browser.
    from probetui.cli.web.server import check_extra

    check_extra()
    if options.form == "tui":
        raise UsageError("--web shows the screen in a browser: leave --tui out")
    if options.step:
        raise UsageError("--step reads lines in the terminal: leave --web out")
    return Form.WEB


def check_own_sessions(plan: Plan) -> None:
    """Check that a session can be started for each tab of `--web`.

    Raises:
        UsageError: an option is about one session.
    """
    options = plan.options
    of_one = {
        "--record": options.record,
        "--report": options.report,
        "--until": options.until,
        "--metrics": options.metrics,
        "--keep": options.keep or None,
    }
    for name, value in of_one.items():
        if value is not None:
            raise UsageError(
                f"--web: every tab has a session of its own here: leave {name} out"
            )


def _read_only(plan: Plan) -> Plan:
    return replace(plan, screen=plan.screen.replace(read_only=True))


def _argument(value: object) -> object:
    """Return an option's value as JSON can say it, with secrets in URLs masked."""
    if isinstance(value, bool | int):
        return value
    if isinstance(value, list):
        return [_argument(item) for item in value]
    return mask_credentials(str(value))


def _warn_of_findings(manifests: Manifests, rules: KubeletRules, notes: Notes) -> None:
    # Late: sessions attach to pods and replay records without it.
    from probetui.cli.manifest_findings import findings_at_start

    for problem in findings_at_start(manifests, rules):
        notes.warning(f"{problem} [{problem.rule}]")


def _warn_for_runtime(
    manifests: Manifests,
    notes: Notes,
    strict: bool,  # noqa: FBT001  # bound long before it is called
    host_access: HostAccessWarning,
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
    host_access.warn(manifests.loaded, kind)


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
