"""Declarations of the commands that run a session: run, attach, sim, replay, demo."""

from pathlib import Path
from typing import Annotated

import click

from probetui.cli import completions
from probetui.cli.option_groups import (
    Opt,
    OptionGroup,
    Setting,
    takes_options,
)
from probetui.cli.options import (
    RUNTIMES,
    AutosaveOptions,
    ClusterOptions,
    CommonSessionOptions,
    EndOptions,
    EngineOptions,
    Freeze,
    Keep,
    Metrics,
    OutputOptions,
    PlayOptions,
    PodOptions,
    ProgramOptions,
    Pull,
    RarePlayOptions,
    RecordOptions,
    RunningOptions,
    RuntimeEvents,
    ScreenSettings,
    Seed,
    SessionEngineOptions,
    Step,
    VersionOptions,
    WebOptions,
    act_option,
    takes_files,
    takes_files_among,
)
from probetui.cli.parameters import OneOf, SectionedCommand, examples
from probetui.cli.printing import print_short_help

_POD_WORDS = ("pod/", "pods/", "po/")


class StepOptions(OptionGroup):
    """How a session is stepped without a screen."""

    step: Step = False


class RunOptions(
    PodOptions,
    SessionEngineOptions,
    RunningOptions,
    StepOptions,
    RarePlayOptions,
    CommonSessionOptions,
    WebOptions,
):
    """The options of `run`."""


@click.command(
    "run",
    cls=SectionedCommand,
    epilog=examples(
        "probetui -f pod.yaml",
        "probetui -f pod.yaml --until ready --timeout 90s",
        "kustomize build . | probetui -f - -l app=web",
        "probetui -f pods/ --watch --runtime process",
    ),
)
@takes_files
@takes_options
def run(options: RunOptions) -> int:
    """Create the containers of pods and run the kubelet's prober on them.

    The session ends when you leave the screen, when --until or --timeout ends it, and,
    without a screen, when every pod has ended: with status 0 if all succeeded, else 1.
    """
    if not (options.filenames or options.static):
        return print_short_help()
    from probetui.cli.session.start import run_pods

    return run_pods(options)


class ClusterPodChoices(ClusterOptions, section="Cluster"):
    """How a pod of a cluster is reached, and what may be done to it."""

    reach: Annotated[
        str,
        Opt(
            type=OneOf(("auto", "direct", "forward")),
            help="How ports of a cluster's pod are reached: at its IP (direct), by "
            "port-forward, or by port-forward where its IP does not answer (auto).",
        ),
    ] = "auto"
    act_by: Annotated[
        str,
        Opt(
            type=OneOf(("evict", "delete")),
            help="What --act does to a cluster's pod instead of killing its container.",
        ),
    ] = "evict"
    yes: Annotated[
        bool,
        Opt("-y", help="Let --act evict or delete a cluster's pod without asking."),
    ] = False


class AttachingOptions(OptionGroup, section="Runtime"):
    """What is done to containers that are attached to."""

    act: Annotated[bool, act_option(is_rare=False)] = False
    no_wait: Annotated[
        bool, Opt(help="Fail at once if a container is not running.")
    ] = False
    metrics: Metrics = None
    runtime_events: RuntimeEvents = False
    freeze: Freeze = False


class AttachCommandOptions(
    PodOptions,
    EngineOptions,
    ClusterPodChoices,
    AttachingOptions,
    CommonSessionOptions,
):
    """The options of `attach`, and the pod of a cluster, as NAMESPACE/NAME."""

    cluster_pod: str | None = None


@click.command(
    "attach",
    cls=SectionedCommand,
    epilog=examples(
        "probetui attach pod.yaml",
        "probetui attach -f pod.yaml web=shop-web-1",
        "probetui attach -f pod.yaml --runtime process web=4711",
        "probetui attach pod/web-7d4b9 --context kind-kind -n shop",
    ),
)
@click.argument(
    "words",
    nargs=-1,
    metavar="[FILE | CONTAINER=NAME_OR_ID | pod/NAME]...",
    shell_complete=completions.complete_container_targets,
)
@takes_files_among("words")
@takes_options
def attach(words: tuple[str, ...], options: AttachCommandOptions) -> int:
    """Run the kubelet's prober on containers that already exist.

    Each container of the manifest is found by its Kubernetes or Compose labels, by its
    name, or by CONTAINER=: a name, an ID or the start of one, KEY=VALUE of a label, a
    Compose service, PROJECT/SERVICE, [NAMESPACE/]POD or POD/CONTAINER; with --runtime
    process also the ID or the name of a process. Nothing is created. Without --act
    nothing is killed or restarted: the session only shows what the kubelet would do.
    It waits for containers that are not running.

    pod/NAME is a pod of a cluster, with its own manifest and by the rules of its
    node's kubelet, which goes on probing beside. Commands are run by the API. The
    kubelet's other probes connect to the pod's IP; where that does not answer, ports
    are forwarded, which reaches 127.0.0.1 in the pod.
    """
    waits = not options.no_wait
    options = options.replace(no_wait=False)  # a record does not say it
    if any(word.lower().startswith(_POD_WORDS) for word in words):
        from probetui.cli.session.cluster_attachment import attach_cluster_pod

        return attach_cluster_pod(words, options, waits=waits)
    if options.kube_context is not None:
        raise click.UsageError(
            "--context names a context of the kubeconfig, for pod/NAME; a context of "
            "Docker is --docker-context"
        )
    if not (options.filenames or options.static):
        if words:
            raise click.UsageError(
                "attach needs the manifest with the probes: probetui attach FILE "
                "CONTAINER=NAME_OR_ID; or a pod of a cluster: probetui attach pod/NAME"
            )
        return print_short_help()
    from probetui.cli.session.start import attach_pods

    return attach_pods(words, options, waits=waits)


class ScenarioOptions(OptionGroup, section="Pods"):
    """What happens in a simulation."""

    script: Annotated[
        str | None,
        Opt(
            metavar="FILE",
            type=click.Path(allow_dash=True),
            help="YAML file with what containers and probes do.  [default: all stay "
            "healthy]",
        ),
    ] = None
    freeze: Freeze = False


class SimOptions(
    PodOptions,
    ScenarioOptions,
    StepOptions,
    PlayOptions,
    CommonSessionOptions,
    WebOptions,
):
    """The options of `sim`."""

    runtime: str = "sim"


@click.command(
    "sim",
    cls=SectionedCommand,
    epilog=examples(
        "probetui sim -f pod.yaml",
        "probetui sim -f pod.yaml --script script.yaml --plain --for 24h",
    ),
)
@takes_files
@takes_options
def sim(options: SimOptions) -> int:
    """Simulate pods on virtual time, without a container runtime.

    The kubelet's decisions are real; what containers and probes do comes from a script
    or from your keys. Without a screen the simulation runs as fast as possible, and
    --until, --timeout and --for use simulated time. The same script always gives the
    same record.
    """
    if not (options.filenames or options.static):
        return print_short_help()
    from probetui.cli.session.start import simulate_pods

    return simulate_pods(options)


class ReplayOptions(
    RecordOptions,
    PlayOptions,
    EndOptions,
    OutputOptions,
    ScreenSettings,
    WebOptions,
    ProgramOptions,
):
    """The options of `replay`."""


@click.command(
    "replay",
    cls=SectionedCommand,
    epilog=examples(
        "probetui replay",
        "probetui replay session.jsonl --time-scale 4",
    ),
)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@takes_options
def replay(file: Path | None, options: ReplayOptions) -> int:
    """Replay the record FILE; without FILE, a saved session.

    On a terminal you choose it from a list, with its lanes beside; without a terminal
    it is the last that is no lesson.

    It shows the screens of the session: seek, step back, go faster or slower. Without a
    screen it prints the session as fast as possible; --timeout uses recorded time.
    """
    from probetui.cli.session.playback import replay_record

    return replay_record(file, options)


class LessonOptions(OptionGroup, section="Runtime"):
    """Where a lesson runs."""

    lists: Annotated[
        bool, Opt("--list", section="Lesson", help="List the lessons.")
    ] = False
    quiz: Annotated[
        bool,
        Opt(
            "--quiz/--no-quiz",
            section="Lesson",
            help="Pause before the tick that decides, and ask what happens next.",
        ),
    ] = True
    runtime: Annotated[
        str,
        Setting(
            type=OneOf((*RUNTIMES, "sim")),
            help="Where the lesson runs. process, which auto means here: as commands "
            "on this machine, without images or isolation; docker or cri: in "
            "containers; sim: simulated on virtual time.",
        ),
    ] = "auto"
    pull: Pull = None
    keep: Keep = False


class LessonKubelet(VersionOptions):
    """Which kubelet decides in a lesson."""

    seed: Seed = None


class DemoOptions(
    LessonOptions,
    PlayOptions,
    LessonKubelet,
    EndOptions,
    OutputOptions,
    AutosaveOptions,
    ScreenSettings,
    WebOptions,
    ProgramOptions,
):
    """The options of `demo`."""


@click.command(
    "demo",
    cls=SectionedCommand,
    epilog=examples(
        "probetui demo",
        "probetui demo grace --runtime sim",
        "probetui demo --list",
    ),
)
@click.argument("name", default="liveness", shell_complete=completions.complete_lessons)
@takes_options
def demo(name: str, options: DemoOptions) -> int:
    """Run the built-in lesson NAME (default: liveness) and explain what to watch.

    Its pod runs as plain processes on this machine: it needs no container engine and
    pulls no image. With --runtime docker it runs in containers, with --runtime sim it
    is simulated. On the screen, { and } open the previous and the next lesson.
    """
    if options.lists:
        from probetui.cli.lessons import print_lessons

        return print_lessons()
    from probetui.cli.session.start import run_lesson

    return run_lesson(name, options)
