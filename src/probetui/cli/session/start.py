"""Sessions as commands ask for them: read the manifests, make a plan, run it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING

from msgspec.structs import replace

from probetui.cli.files import read_sources
from probetui.cli.lessons import Lesson, OpenLesson, load_lesson
from probetui.cli.option_groups import pick_options
from probetui.cli.option_values import rules_by
from probetui.cli.options import NodeOptions, ServeOptions
from probetui.cli.pods import ManifestOptions, load_pods
from probetui.cli.printing import print_line
from probetui.cli.runtimes import AUTO, PROCESS, SIM
from probetui.cli.session.locks import PodLocks
from probetui.cli.session.plan import (
    AttachPlan,
    NodePlan,
    RunPlan,
    ServePlan,
    SimPlan,
)
from probetui.cli.session.planning import (
    check_own_sessions,
    make_attach_plan,
    make_plan,
    make_sim_plan,
)
from probetui.cli.session.terminal_hold import TerminalHold
from probetui.cli.terminal import Form
from probetui.errors import PodInUseError, UsageError
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import Manifests

if TYPE_CHECKING:
    from probetui.cli.commands.node import NodeCommandOptions
    from probetui.cli.commands.serve import ServeCommandOptions
    from probetui.cli.commands.sessions import (
        AttachCommandOptions,
        DemoOptions,
        RunOptions,
        SimOptions,
    )
    from probetui.cli.session.signal_watch import Signals
    from probetui.cli.web.tab import Tab

_LESSONS = "lessons"
"""What the locks of lessons' names are of, besides those of each runtime."""

_LESSON_LENGTH = timedelta(minutes=3)
"""Simulated time of a lesson without a screen, unless an option ends it."""


def run_pods(options: RunOptions) -> int:
    """Run the pods of the manifests and return the exit status."""
    source = pick_options(ManifestOptions, options)
    reader = source.reader(awaits_urls=True)
    manifests = load_pods(source, reader)
    if options.runtime == SIM:
        return _simulate(make_sim_plan(manifests, options, None, source, reader))
    return _run(make_plan(manifests, options, source, reader))


def run_node(options: NodeCommandOptions) -> int:
    """Be a node of a cluster and return the exit status."""
    node = pick_options(NodeOptions, options)
    # Late: few sessions are a node.
    from probetui.cluster.node.machine import check_node_name, default_node_name

    name = node.node_name or default_node_name()
    check_node_name(name)
    options = options.replace(keep=node.keep_node)
    source = pick_options(ManifestOptions, options)
    reader = source.reader(awaits_urls=True)
    manifests = Manifests()
    if source.static:
        manifests = load_pods(source, reader, host=name)
    plan = make_plan(manifests, options, source, reader)
    return _run(NodePlan.of(plan, name=name, node=node))


def serve_pods(options: ServeCommandOptions) -> int:
    """Run the pods of the manifests as a Kubernetes API; return the exit status."""
    source = pick_options(ManifestOptions, options)
    reader = source.reader(awaits_urls=True)
    # The line with the kubeconfig is to stay in sight.
    options = options.replace(form=options.form or "plain")
    plan = make_plan(load_pods(source, reader), options, source, reader)
    return _run(ServePlan.of(plan, serve=pick_options(ServeOptions, options)))


def attach_pods(
    words: tuple[str, ...], options: AttachCommandOptions, *, waits: bool
) -> int:
    """Probe containers that already exist and return the exit status.

    Args:
        words: `CONTAINER=NAME_OR_ID` each.
        options: those of the command.
        waits: wait for containers that are not running, instead of failing.
    """
    # Late: few sessions attach to anything.
    from probetui.cli.session.attachment import AttachOptions

    source = pick_options(ManifestOptions, options)
    attachment = AttachOptions(words, acts=options.act, waits=waits)
    reader = source.reader()
    manifests = load_pods(source, reader)
    return _run(make_attach_plan(manifests, options, attachment, reader))


def simulate_pods(options: SimOptions) -> int:
    """Simulate the pods of the manifests and return the exit status."""
    source = pick_options(ManifestOptions, options)
    reader = source.reader()
    manifests = load_pods(source, reader)
    scenario, script = None, options.script
    if script is not None:
        sources = read_sources([script], recursive=False)
        if len(sources) > 1:
            raise UsageError(f"--script {script}: is a folder; name one file")
        from probetui.drive.scenario.reader import read_scenario

        scenario = read_scenario(sources[0], manifests.pods)
    # A record has the script behind what other commands have, too.
    others = tuple(name for name in options.given_order if name != "script")
    options = options.replace(given_order=others)
    return _simulate(make_sim_plan(manifests, options, scenario, reader=reader))


def run_lesson(name: str, options: DemoOptions) -> int:
    """Run a lesson, and those that the user turns to; return the exit status.

    A lesson runs on plain processes unless the parameters name a runtime. One about
    versions is printed, both side by side, unless a runtime or a version is named; so
    is one about samples.
    """
    # Late: few sessions are lessons.
    from probetui.analysis.quiz import Quiz, QuizScore

    lesson = load_lesson(name)
    is_plain = options.runtime == AUTO and options.kubelet is None
    if lesson.versions and is_plain and options.web:
        raise UsageError(
            f"--web: {name} is printed, side by side; --kubelet shows one of them"
        )
    if lesson.is_past and is_plain and options.web:
        raise UsageError(f"--web: {name} is printed; --runtime shows its pod")
    if lesson.is_past and is_plain:
        from probetui.cli.commands.past_lesson import print_past

        return print_past(lesson)
    if lesson.versions and is_plain:
        from probetui.cli.commands.side_by_side import print_side_by_side

        return print_side_by_side(lesson)
    if options.runtime == AUTO:
        options = options.replace(runtime=PROCESS)
    if options.web:
        return _serve_lessons(name, options)
    with TerminalHold() as terminal:
        score, following = QuizScore(), name
        while True:
            quiz = Quiz(options.quiz, score)
            page = OpenLesson(load_lesson(following), terminal, quiz=quiz)
            with _lesson_plan(page, options) as plan:
                status = _simulate(plan) if isinstance(plan, SimPlan) else _run(plan)
            if not page.turned:
                break
            following = page.following
    if score.answered:
        print_line(f"{score.right} of {score.answered} questions answered right")
    return status


def _serve_lessons(name: str, options: DemoOptions) -> int:
    """Serve a lesson, and those that follow, to each tab of a browser."""
    # Late, as above.
    from probetui.analysis.quiz import Quiz, QuizScore
    from probetui.cli.session.live import run_live
    from probetui.cli.session.playback import simulate_in_tab
    from probetui.cli.session.web_screens import serve_own_sessions

    async def run(tab: Tab, signals: Signals) -> None:
        score, following = QuizScore(), name
        while True:
            quiz = Quiz(options.quiz, score)
            page = OpenLesson(load_lesson(following), quiz=quiz)
            with _lesson_plan(page, options) as plan:
                if isinstance(plan, SimPlan):
                    await simulate_in_tab(plan, tab, signals)
                else:
                    await run_live(plan.in_tab(tab), signals)
            if not page.turned:
                break
            following = page.following

    with _lesson_plan(OpenLesson(load_lesson(name)), options) as plan:
        check_own_sessions(plan)
    return serve_own_sessions(plan, run)


@contextmanager
def _lesson_plan(page: OpenLesson, options: DemoOptions) -> Iterator[RunPlan | SimPlan]:
    """Plan a lesson, by its script if it is simulated.

    While the context lasts no other lesson has its pod's name.
    """
    lesson = page.lesson
    intro = f"{lesson.name}: {lesson.text}"
    if options.runtime != SIM:
        with unused_name(lesson, options) as manifests:
            run = make_plan(manifests, options)
            yield replace(run, intro=intro, page=page)
        return
    manifests = _lesson_pods(lesson, options)
    from probetui.drive.scenario.reader import read_scenario

    scenario = read_scenario(lesson.script, manifests.pods)
    plan = make_sim_plan(manifests, options, scenario)
    plan = replace(plan, intro=intro, page=page)
    limits = (plan.options.until, plan.options.timeout, plan.options.play_for)
    if plan.form is Form.LINES and limits == (None, None, None):
        plan = replace(plan, options=plan.options.replace(play_for=_LESSON_LENGTH))
    yield plan


def _lesson_pods(lesson: Lesson, options: DemoOptions, number: int = 1) -> Manifests:
    manifests = load_manifests([lesson.numbered(number)], rules=rules_by(options))
    manifests.raise_for_errors()
    return manifests


@contextmanager
def unused_name(lesson: Lesson, options: DemoOptions) -> Iterator[Manifests]:
    """Give the lesson's pod a name that no other lesson has while the context lasts."""
    with ExitStack() as stack:
        for number in count(1):
            manifests = _lesson_pods(lesson, options, number)
            try:
                stack.enter_context(PodLocks(_LESSONS, manifests.pods))
            except PodInUseError:
                continue
            yield manifests
            return


def _run(plan: RunPlan | AttachPlan) -> int:
    # Late: an invalid manifest is refused before the engine is imported.
    from probetui.cli.session.live import run_session

    return run_session(plan)


def _simulate(plan: SimPlan) -> int:
    # Late, as above.
    from probetui.cli.session.playback import run_simulation

    return run_simulation(plan)
