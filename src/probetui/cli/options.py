"""The options of all commands, in groups that commands are decorated with."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, cast

import click

from probetui.cli import completions
from probetui.cli.parameters import (
    ByteCount,
    Duration,
    F,
    KeymapSource,
    KubeletVersion,
    OneOf,
    Option,
    OutputForm,
    Pace,
    WholeNumber,
    option,
    output_option,
    setting,
)
from probetui.cli.usage_hints import MANIFEST_SUFFIXES

RUNTIMES = ("auto", "docker", "cri", "process")
LOG_LEVELS = ("debug", "info", "warning", "error")

_PODS, _RUNTIME, _KUBELET, _CLUSTER = "Pods", "Runtime", "Kubelet", "Cluster"
_RECORD = "Record"
_ENDING, _OUTPUT, _SCREEN, _PROGRAM = "When to stop", "Output", "Screen", "Program"


def _group(*decorators: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return one decorator that adds all these options, listed in this order."""

    def decorate(command: F) -> F:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def _read_settings(
    ctx: click.Context, _option: click.Parameter, path: Path | None
) -> Path | None:
    """Read the defaults of the other options from the configuration file."""
    if ctx.resilient_parsing:  # a shell that completes a line needs none
        return path
    from probetui.cli.settings import load_settings

    ctx.default_map = load_settings(path, known=ALL_SETTINGS, wanted=ctx.command.params)
    return path


def _split_at_commas(
    _ctx: click.Context, _option: click.Parameter, names: tuple[str, ...]
) -> tuple[str, ...]:
    """Return names of files; one with commas that is no file and no URL is several."""
    return tuple(part for name in names for part in _parts(name))


def _parts(name: str) -> list[str]:
    # Not by pathlib, which raises an error for a name that is too long.
    is_whole = "://" in name or os.path.exists(name)  # noqa: PTH110
    return [name] if is_whole else name.split(",")


def takes_files(command: F) -> F:
    """Accept files without `-f`, too; has to be a command's first decorator."""

    @wraps(command)
    def with_files(*, files: tuple[str, ...], **params: Any) -> Any:
        return command(**(params | {"filenames": (*params["filenames"], *files)}))

    argument = click.argument(
        "files",
        nargs=-1,
        type=click.Path(allow_dash=True),
        callback=_split_at_commas,
        metavar="[FILE]...",
    )
    return cast("F", argument(with_files))


static_option = option(
    "--static",
    "static",
    section=_PODS,
    is_rare=True,
    multiple=True,
    type=click.Path(),
    metavar="FILE",
    help="Static pods, as a kubelet reads them from a file, a folder or a URL. "
    "Repeatable.",
)

skip_tls_verify_option = setting(
    "--insecure-skip-tls-verify",
    section=_PODS,
    is_rare=True,
    is_flag=True,
    help="Do not verify the certificates of the servers of URLs.",
)


def takes_files_among(words: str) -> Callable[[F], F]:
    """Accept files without `-f` among other words: `pod.yaml web=shop-1`.

    The name of a file there ends as manifests do.

    Args:
        words: the parameter with the words; the files are taken out of it.
    """

    def decorate(command: F) -> F:
        @wraps(command)
        def with_files(**params: Any) -> Any:
            given = params[words]
            files = tuple(word for word in given if word.endswith(MANIFEST_SUFFIXES))
            return command(
                **params
                | {
                    words: tuple(word for word in given if word not in files),
                    "filenames": (*params["filenames"], *files),
                }
            )

        return cast("F", with_files)

    return decorate


filename_options = _group(
    option(
        "-f",
        "--filename",
        "filenames",
        section=_PODS,
        multiple=True,
        type=click.Path(allow_dash=True),
        callback=_split_at_commas,
        metavar="FILE",
        help="Pod YAML: a file, a folder, a URL (read every 20s), or - for standard "
        "input. Repeatable.",
    ),
    static_option,
    option(
        "-R",
        "--recursive",
        section=_PODS,
        is_rare=True,
        is_flag=True,
        help="Search folders recursively.",
    ),
    skip_tls_verify_option,
)

namespace_option = option(
    "-n",
    "--namespace",
    section=_PODS,
    metavar="NS",
    help="Namespace of the pods.  [default: the manifest's]",
)

listed_namespace_option = option(
    "-n",
    "--namespace",
    section=_PODS,
    metavar="NS",
    help="Only pods of this namespace.  [default: all]",
)

selector_option = option(
    "-l",
    "--selector",
    section=_PODS,
    metavar="LABELS",
    help="Only pods with these labels: app=web,tier!=db,env in (a, b),canary,!old",
)

pod_choice_options = _group(
    selector_option,
    option(
        "--set",
        "changes",
        section=_PODS,
        multiple=True,
        metavar="PATH=VALUE",
        help="Change the manifest in memory, as in "
        "web.livenessProbe.periodSeconds=2. Repeatable.",
    ),
)


def validate_option(default: str) -> Callable[[F], F]:
    """Return the option for unknown and duplicate fields."""
    return setting(
        "--validate",
        section=_PODS,
        is_rare=True,
        type=OneOf(("strict", "warn", "ignore")),
        default=default,
        show_default=True,
        help="How to treat unknown or duplicate fields: error, warn or ignore.",
    )


stub_missing_option = option(
    "--stub-missing",
    section=_PODS,
    is_rare=True,
    is_flag=True,
    help="Use stubs of ConfigMaps, Secrets and claims that the files do not have.",
)

selection_options = _group(
    pod_choice_options,
    validate_option("warn"),
    setting(
        "--strict",
        section=_PODS,
        is_rare=True,
        is_flag=True,
        help="Like --validate strict; also refuse unsupported fields and pods without "
        "a probe.",
    ),
    stub_missing_option,
)

manifest_options = _group(filename_options, namespace_option, selection_options)

table_options = _group(
    output_option("table", "wide", "json", "yaml", "name"),
    option(
        "--no-headers",
        section=_OUTPUT,
        is_rare=True,
        is_flag=True,
        help="Do not print column headings.",
    ),
)


docker_options = _group(
    setting(
        "--docker-context",
        section=_RUNTIME,
        is_rare=True,
        metavar="NAME",
        help="Docker context.  [default: DOCKER_HOST, DOCKER_CONTEXT, the current one]",
    ),
    setting(
        "-H",
        "--host",
        section=_RUNTIME,
        is_rare=True,
        metavar="URL",
        help="Docker endpoint, as in unix:///var/run/docker.sock.",
    ),
)

cluster_options = _group(
    option(
        "--kubeconfig",
        section=_CLUSTER,
        metavar="FILE",
        type=click.Path(),
        help="Kubeconfig file.  [default: those of KUBECONFIG, merged; "
        "~/.kube/config; this pod's service account]",
    ),
    option(
        "--context",
        "kube_context",
        section=_CLUSTER,
        metavar="NAME",
        help="Context of the kubeconfig.  [default: the current one]",
    ),
)

_RUNTIME_HELP = (
    "Container runtime. auto tries docker, then cri; process runs the commands on this "
    "machine, without images or isolation"
)

_cri_option = setting(
    "-r",
    "--runtime-endpoint",
    section=_RUNTIME,
    is_rare=True,
    metavar="URL",
    help="CRI socket, as in unix:///run/containerd/containerd.sock.  [default: "
    "CONTAINER_RUNTIME_ENDPOINT, crictl's configuration, the known sockets]",
)

_endpoint_options = _group(docker_options, _cri_option)

_runtime_option = setting(
    "--runtime",
    section=_RUNTIME,
    type=OneOf(RUNTIMES),
    default="auto",
    show_default=True,
    help=f"{_RUNTIME_HELP}.",
)

runtime_options = _group(_runtime_option, _endpoint_options)

session_runtime_options = _group(
    setting(
        "--runtime",
        section=_RUNTIME,
        type=OneOf((*RUNTIMES, "sim")),
        default="auto",
        show_default=True,
        help=f"{_RUNTIME_HELP}; sim simulates them on virtual time.",
    ),
    _endpoint_options,
)

autosave_options = _group(
    setting(
        "--autosave/--no-autosave",
        section=_OUTPUT,
        is_rare=True,
        default=True,
        show_default=True,
        help="Save a record of each session; `probetui replay` and `why` read the "
        "last one.",
    ),
    setting(
        "--autosave-limit",
        section=_OUTPUT,
        is_rare=True,
        type=ByteCount(),
        metavar="SIZE",
        default="1Gi",
        show_default=True,
        help="Remove the oldest saved records above this total size: 500M, 1Gi.",
    ),
)

record_limit_option = option(
    "--record-limit",
    section=_RECORD,
    is_rare=True,
    type=ByteCount(),
    metavar="SIZE",
    default="256Mi",
    show_default=True,
    help="Read records of at most this size, unpacked: 256Mi, 2Gi.",
)


def play_options(*, is_rare: bool = False) -> Callable[[F], F]:
    """Return the options for the speed and the length of what is simulated."""
    return _group(
        option(
            "--time-scale",
            section=_ENDING,
            is_rare=is_rare,
            type=Pace(),
            metavar="N",
            help="Simulation and replay only: speed as a multiple of real time, as in "
            "0.5 or 100.  [default: 1 on the screen, else as fast as possible]",
        ),
        option(
            "--for",
            "play_for",
            section=_ENDING,
            is_rare=is_rare,
            type=Duration(),
            metavar="DUR",
            help="Simulation and replay only: stop after this much simulated or "
            "recorded time.  [default of a simulation: 10m without a screen]",
        ),
    )


freeze_option = option(
    "--freeze",
    section=_RUNTIME,
    is_rare=True,
    is_flag=True,
    help="Freeze the containers while probes are paused.",
)

step_option = option(
    "--step",
    section=_OUTPUT,
    is_flag=True,
    help="No screen: step by lines on standard input. An empty line runs the next "
    "tick and shows its decisions; help lists the others.",
)

pull_option = setting(
    "--pull",
    section=_RUNTIME,
    is_rare=True,
    type=OneOf(("missing", "always", "never")),
    help="When to pull images.  [default: each container's imagePullPolicy]",
)

image_gc_option = setting(
    "--image-gc",
    section=_RUNTIME,
    is_rare=True,
    is_flag=True,
    help="When the disk is full, remove images that probetui pulled, as the kubelet "
    "does; see `probetui images gc --help`.",
)

beside_kubelet_option = setting(
    "--beside-kubelet",
    section=_RUNTIME,
    is_rare=True,
    is_flag=True,
    help="Run the pods though a kubelet uses the same container runtime, which kills "
    "each pod that it does not know. Without it that is refused.",
)

keep_option = setting(
    "--keep",
    section=_RUNTIME,
    is_flag=True,
    help="Keep the containers at the end; `probetui down` removes them.",
)


def act_option(*, default: bool) -> Callable[[F], F]:
    """Return the switch for kills and restarts.

    It is no setting: what a file says for `run` must not let `attach` kill something.
    """
    return option(
        "--act/--no-act",
        "act",
        section=_RUNTIME,
        is_rare=default,
        default=default,
        show_default=True,
        help="Kill and restart containers as the probes require, or only report it.",
    )


watch_option = setting(
    "--watch",
    section=_RUNTIME,
    is_flag=True,
    help="Reload the files when they change: start new pods, stop removed ones.",
)

metrics_option = setting(
    "--metrics",
    metavar="ADDR",
    section=_OUTPUT,
    is_rare=True,
    help="Serve the kubelet's probe metrics at HOST:PORT.  [default host: 127.0.0.1]",
)

runtime_events_option = setting(
    "--runtime-events",
    section=_OUTPUT,
    is_rare=True,
    is_flag=True,
    help="On Docker, show commands that others run in the containers. Each exec probe "
    "then costs the daemon a little more.",
)

exec_errors_option = setting(
    "--exec-errors",
    section=_KUBELET,
    is_rare=True,
    type=OneOf(("cri", "docker")),
    help="On Docker, treat a probe command that cannot be started as an error, which "
    "is ignored (cri), or as a failure (docker, as dockershim did).  [default: cri; "
    "docker for versions that had dockershim]",
)

findings_option = setting(
    "--no-findings",
    section=_OUTPUT,
    is_rare=True,
    is_flag=True,
    help="Do not report findings.",
)

feature_gates_option = setting(
    "--feature-gates",
    section=_KUBELET,
    is_rare=True,
    metavar="NAME=BOOL,...",
    help="Set feature gates of that version, as in ExecProbeTimeout=false.",
)

version_options = _group(
    setting(
        "--kubelet",
        "--kubelet-version",
        "kubelet",
        section=_KUBELET,
        type=KubeletVersion(),
        metavar="VERSION",
        help="Decide as a kubelet of this version does: 1.15, 1.20, 1.32...; see "
        "`probetui info`.  [default: 1.36]",
    ),
    feature_gates_option,
)

seed_option = setting(
    "--seed",
    section=_KUBELET,
    is_rare=True,
    type=WholeNumber(min=0),
    metavar="N",
    help="Seed for random numbers, to repeat a session.",
)

kubelet_options = _group(
    version_options,
    exec_errors_option,
    findings_option,
    setting(
        "--kubelet-age",
        section=_KUBELET,
        is_rare=True,
        type=OneOf(("old", "fresh")),
        default="old",
        show_default=True,
        help="A fresh kubelet delays each first probe by a random part of its period.",
    ),
    setting(
        "--max-container-restart-period",
        section=_KUBELET,
        is_rare=True,
        type=Duration(),
        metavar="DUR",
        help="The longest wait of crash-loop back-off, 1s to 300s, as a node's "
        "crashLoopBackOff.maxContainerRestartPeriod.  [default: 300s]",
    ),
    seed_option,
)

ending_options = _group(
    option(
        "--until",
        section=_ENDING,
        metavar="COND",
        help="Stop when ready, started, killed[=N], restarts=N, backoff, succeeded or "
        "event=REASON: for all pods, or as POD:COND or POD/CONTAINER:COND.",
    ),
    option(
        "--for-at-least",
        section=_ENDING,
        is_rare=True,
        type=Duration(),
        metavar="DUR",
        help="How long the state of --until ready or started has to hold.  [default: "
        "0s]",
    ),
    option(
        "--timeout",
        section=_ENDING,
        type=Duration(),
        metavar="DUR",
        help="Stop after this time, with status 4: 90s, 5m, or a number of seconds.",
    ),
)


def container_filter_option(help_text: str) -> Callable[[F], F]:
    """Return the option that selects containers by name."""
    return option(
        "-c",
        "--container",
        "containers",
        section=_OUTPUT,
        is_rare=True,
        multiple=True,
        metavar="NAME",
        shell_complete=completions.complete_containers,
        help=help_text,
    )


show_secrets_option = setting(
    "--show-secrets",
    section=_OUTPUT,
    is_rare=True,
    is_flag=True,
    help="Show the values of variables and headers named token, key, password...",
)

printing_options = _group(
    setting(
        "-o",
        "--output",
        section=_OUTPUT,
        type=OutputForm(("plain", "jsonl")),
        default="plain",
        show_default=True,
        help="Output format without a screen.",
    ),
    container_filter_option("Print only facts about these containers. Repeatable."),
    option(
        "-t",
        "--type",
        "types",
        section=_OUTPUT,
        is_rare=True,
        multiple=True,
        type=OneOf(("liveness", "readiness", "startup")),
        help="Print only what probes of these types do and lead to. Repeatable.",
    ),
    setting(
        "--since-start",
        section=_OUTPUT,
        is_rare=True,
        is_flag=True,
        help="Print times as +41.2s instead of the time of day.",
    ),
    option(
        "-v",
        "--verbose",
        section=_OUTPUT,
        is_rare=True,
        is_flag=True,
        help="Print every tick, including skipped ones.",
    ),
    show_secrets_option,
    option(
        "--plain",
        "form",
        section=_OUTPUT,
        flag_value="plain",
        help="Print lines, even on a terminal.",
    ),
    option("--no-tui", "form", section=_OUTPUT, flag_value="plain", hidden=True),
    option(
        "--tui",
        "form",
        section=_OUTPUT,
        is_rare=True,
        flag_value="tui",
        help="Show the screen; fail if the terminal does not allow it.",
    ),
)

output_options = _group(
    printing_options,
    option(
        "--record",
        section=_OUTPUT,
        metavar="FILE",
        type=click.Path(allow_dash=True),
        help="Record the session as JSON Lines, compressed if the name ends in .gz; - "
        "is standard output.",
    ),
)

ascii_option = setting(
    "--ascii",
    section=_SCREEN,
    is_rare=True,
    is_flag=True,
    help="Use ASCII for marks and borders.",
)

appearance_options = _group(
    setting(
        "--theme",
        section=_SCREEN,
        is_rare=True,
        metavar="NAME",
        shell_complete=completions.complete_themes,
        help="Colour theme of the screen.",
    ),
    setting(
        "--keymap",
        section=_SCREEN,
        is_rare=True,
        metavar="FILE",
        type=KeymapSource(),
        help="Custom keys: YAML with action IDs and keys, such as time.step: f9.",
    ),
    setting(
        "--color",
        section=_SCREEN,
        is_rare=True,
        type=OneOf(("auto", "always", "never")),
        default="auto",
        show_default=True,
        help="When to use colours; auto follows NO_COLOR.",
    ),
    ascii_option,
    setting(
        "--no-motion",
        section=_SCREEN,
        is_rare=True,
        is_flag=True,
        help="No animation; update counters at most once a second.",
    ),
    setting(
        "--no-mouse",
        section=_SCREEN,
        is_rare=True,
        is_flag=True,
        help="Do not capture the mouse.",
    ),
)

screen_options = _group(
    setting(
        "--paused",
        section=_SCREEN,
        is_flag=True,
        help="Start with all probes paused.",
    ),
    setting(
        "--read-only",
        section=_SCREEN,
        is_rare=True,
        is_flag=True,
        help="Disable all keys that change something.",
    ),
    appearance_options,
    setting(
        "--pause-opens-step/--no-pause-opens-step",
        section=_SCREEN,
        is_rare=True,
        default=False,
        show_default=True,
        help="Pausing on the main screen opens step mode.",
    ),
)

program_options = _group(
    option(
        "--config",
        section=_PROGRAM,
        is_rare=True,
        metavar="FILE",
        type=click.Path(path_type=Path),
        envvar="PROBETUI_CONFIG",
        is_eager=True,
        callback=_read_settings,
        help="Read settings from this file.  [default: see `probetui info`]",
    ),
    setting(
        "--log-file",
        section=_PROGRAM,
        is_rare=True,
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Write the log here.  [default: see `probetui info`]",
    ),
    setting(
        "--log-level",
        section=_PROGRAM,
        is_rare=True,
        type=OneOf(LOG_LEVELS),
        default="info",
        show_default=True,
        help="Lowest level of messages to log.",
    ),
    option(
        "-q",
        "--quiet",
        section=_PROGRAM,
        is_rare=True,
        is_flag=True,
        help="Print errors only.",
    ),
)

session_options = _group(
    kubelet_options,
    ending_options,
    output_options,
    autosave_options,
    screen_options,
    program_options,
)


@manifest_options
@runtime_options
@pull_option
@beside_kubelet_option
@image_gc_option
@keep_option
@watch_option
@metrics_option
@runtime_events_option
@autosave_options
@kubelet_options
@ending_options
@output_options
@screen_options
@program_options
@click.command()
def _every_option() -> None:
    """Declare every option; the settings are listed from here."""


ALL_SETTINGS = tuple(
    parameter
    for parameter in _every_option.params
    if isinstance(parameter, Option) and parameter.is_setting
)
