"""Declarations of the commands that run a session: run, attach, sim, replay, demo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from probetui.cli import completions
from probetui.cli.options import (
    RUNTIMES,
    act_option,
    autosave_options,
    beside_kubelet_option,
    cluster_options,
    ending_options,
    freeze_option,
    image_gc_option,
    keep_option,
    kubelet_options,
    manifest_options,
    metrics_option,
    output_options,
    play_options,
    program_options,
    pull_option,
    record_limit_option,
    runtime_events_option,
    runtime_options,
    screen_options,
    seed_option,
    session_options,
    session_runtime_options,
    step_option,
    takes_files,
    takes_files_among,
    version_options,
    watch_option,
)
from probetui.cli.parameters import OneOf, SectionedCommand, examples, option, setting
from probetui.cli.printing import print_short_help

_CLUSTER = "Cluster"
_POD_WORDS = ("pod/", "pods/", "po/")


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
@manifest_options
@session_runtime_options
@pull_option
@beside_kubelet_option
@image_gc_option
@keep_option
@act_option(default=True)
@watch_option
@metrics_option
@runtime_events_option
@freeze_option
@step_option
@play_options(is_rare=True)
@session_options
@takes_files
def run(**params: Any) -> int:
    """Create the containers of pods and run the kubelet's prober on them.

    The session ends when you leave the screen, when --until or --timeout ends it, and,
    without a screen, when every pod has ended: with status 0 if all succeeded, else 1.
    """
    if not (params["filenames"] or params["static"]):
        return print_short_help()
    from probetui.cli.session.start import run_pods

    return run_pods(params)


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
@manifest_options
@runtime_options
@cluster_options
@option(
    "--reach",
    section=_CLUSTER,
    type=OneOf(("auto", "direct", "forward")),
    default="auto",
    show_default=True,
    help="How ports of a cluster's pod are reached: at its IP (direct), by "
    "port-forward, or by port-forward where its IP does not answer (auto).",
)
@option(
    "--act-by",
    section=_CLUSTER,
    type=OneOf(("evict", "delete")),
    default="evict",
    show_default=True,
    help="What --act does to a cluster's pod instead of killing its container.",
)
@option(
    "-y",
    "--yes",
    section=_CLUSTER,
    is_flag=True,
    help="Let --act evict or delete a cluster's pod without asking.",
)
@act_option(default=False)
@option(
    "--no-wait",
    section="Runtime",
    is_flag=True,
    help="Fail at once if a container is not running.",
)
@metrics_option
@runtime_events_option
@kubelet_options
@ending_options
@output_options
@autosave_options
@freeze_option
@screen_options
@program_options
@takes_files_among("words")
def attach(words: tuple[str, ...], *, no_wait: bool, **params: Any) -> int:
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
    if any(word.lower().startswith(_POD_WORDS) for word in words):
        from probetui.cli.session.cluster_attachment import attach_cluster_pod

        return attach_cluster_pod(words, params, waits=not no_wait)
    if params["kube_context"] is not None:
        raise click.UsageError(
            "--context names a context of the kubeconfig, for pod/NAME; a context of "
            "Docker is --docker-context"
        )
    if not (params["filenames"] or params["static"]):
        if words:
            raise click.UsageError(
                "attach needs the manifest with the probes: probetui attach FILE "
                "CONTAINER=NAME_OR_ID; or a pod of a cluster: probetui attach pod/NAME"
            )
        return print_short_help()
    from probetui.cli.session.start import attach_pods

    return attach_pods(words, params, waits=not no_wait)


@click.command(
    "sim",
    cls=SectionedCommand,
    epilog=examples(
        "probetui sim -f pod.yaml",
        "probetui sim -f pod.yaml --script script.yaml --plain --for 24h",
    ),
)
@manifest_options
@option(
    "--script",
    section="Pods",
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="YAML file with what containers and probes do.  [default: all stay healthy]",
)
@freeze_option
@step_option
@play_options()
@session_options
@takes_files
def sim(*, script: str | None, **params: Any) -> int:
    """Simulate pods on virtual time, without a container runtime.

    The kubelet's decisions are real; what containers and probes do comes from a script
    or from your keys. Without a screen the simulation runs as fast as possible, and
    --until, --timeout and --for use simulated time. The same script always gives the
    same record.
    """
    if not (params["filenames"] or params["static"]):
        return print_short_help()
    from probetui.cli.session.start import simulate_pods

    return simulate_pods(script, params)


@click.command(
    "replay",
    cls=SectionedCommand,
    epilog=examples(
        "probetui replay",
        "probetui replay session.jsonl --time-scale 4",
    ),
)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@record_limit_option
@play_options()
@ending_options
@output_options
@screen_options
@program_options
def replay(*, file: Path | None, **params: Any) -> int:
    """Replay the record FILE; without FILE, the record of the last session.

    It shows the screens of the session: seek, step back, go faster or slower. Without a
    screen it prints the session as fast as possible; --timeout uses recorded time.
    """
    from probetui.cli.session.playback import replay_record

    return replay_record(file, params)


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
@option("--list", "lists", section="Lesson", is_flag=True, help="List the lessons.")
@setting(
    "--runtime",
    section="Runtime",
    type=OneOf((*RUNTIMES, "sim")),
    default="auto",
    show_default=True,
    help="Where the lesson runs. process, which auto means here: as commands on this "
    "machine, without images or isolation; docker or cri: in containers; sim: "
    "simulated on virtual time.",
)
@pull_option
@keep_option
@play_options()
@version_options
@seed_option
@ending_options
@output_options
@autosave_options
@screen_options
@program_options
def demo(name: str, *, lists: bool, **params: Any) -> int:
    """Run the built-in lesson NAME (default: liveness) and explain what to watch.

    Its pod runs as plain processes on this machine: it needs no container engine and
    pulls no image. With --runtime docker it runs in containers, with --runtime sim it
    is simulated. On the screen, { and } open the previous and the next lesson.
    """
    if lists:
        from probetui.cli.lessons import print_lessons

        return print_lessons()
    from probetui.cli.session.start import run_lesson

    return run_lesson(name, params)
