"""The options of all commands, in groups that commands ask for."""

import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, cast

import click

from probetui.cli import completions
from probetui.cli.option_groups import Opt, OptionGroup, Setting
from probetui.cli.parameters import (
    ByteCount,
    F,
    KeymapSource,
    KubeletVersion,
    OneOf,
    OutputForm,
    Pace,
    WholeNumber,
)
from probetui.cli.usage_hints import MANIFEST_SUFFIXES

RUNTIMES = ("auto", "docker", "cri", "process")
_LAST_PORT = (1 << 16) - 1
LOG_LEVELS = ("debug", "info", "warning", "error")

_PODS, _RUNTIME, _KUBELET, _CLUSTER = "Pods", "Runtime", "Kubelet", "Cluster"
_RECORD = "Record"
_ENDING, _OUTPUT, _SCREEN, _PROGRAM = "When to stop", "Output", "Screen", "Program"


def _read_settings(
    ctx: click.Context, _option: click.Parameter, path: Path | None
) -> Path | None:
    """Read the defaults of the other options from the configuration file."""
    if ctx.resilient_parsing:  # a shell that completes a line needs none
        return path
    from probetui.cli.settings import load_settings

    ctx.default_map = load_settings(path, wanted=ctx.command.params)
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


# -- pods

Static = Annotated[
    tuple[str, ...],
    Opt(
        section=_PODS,
        is_rare=True,
        type=click.Path(),
        metavar="FILE",
        help="Static pods, as a kubelet reads them from a file, a folder or a URL. "
        "Repeatable.",
    ),
]

SkipTlsVerify = Annotated[
    bool,
    Setting(
        section=_PODS,
        is_rare=True,
        help="Do not verify the certificates of the servers of URLs.",
    ),
]


class FilenameOptions(OptionGroup, section=_PODS):
    """The files with pods."""

    filenames: Annotated[
        tuple[str, ...],
        Opt(
            "-f",
            "--filename",
            type=click.Path(allow_dash=True),
            callback=_split_at_commas,
            metavar="FILE",
            help="Pod YAML: a file, a folder, a URL (read every 20s), or - for "
            "standard input. Repeatable.",
        ),
    ] = ()
    static: Static = ()
    recursive: Annotated[
        bool, Opt("-R", is_rare=True, help="Search folders recursively.")
    ] = False
    insecure_skip_tls_verify: SkipTlsVerify = False


Selector = Annotated[
    str | None,
    Opt(
        "-l",
        section=_PODS,
        metavar="LABELS",
        help="Only pods with these labels: app=web,tier!=db,env in (a, b),canary,!old",
    ),
]

ListedNamespace = Annotated[
    str | None,
    Opt(
        "-n",
        section=_PODS,
        metavar="NS",
        help="Only pods of this namespace.  [default: all]",
    ),
]


GivenNamespace = Annotated[
    str | None,
    Opt(
        "-n",
        section=_PODS,
        metavar="NS",
        help="Namespace of the pods.  [default: the manifest's]",
    ),
]


class ChosenPodOptions(FilenameOptions):
    """Which of the pods of the files, and what is changed of them."""

    namespace: GivenNamespace = None
    selector: Selector = None
    changes: Annotated[
        tuple[str, ...],
        Opt(
            "--set",
            metavar="PATH=VALUE",
            help="Change the manifest in memory, as in "
            "web.livenessProbe.periodSeconds=2. Repeatable.",
        ),
    ] = ()


Validate = Annotated[
    str,
    Setting(
        section=_PODS,
        is_rare=True,
        type=OneOf(("strict", "warn", "ignore")),
        help="How to treat unknown or duplicate fields: error, warn or ignore.",
    ),
]

StubMissing = Annotated[
    bool,
    Opt(
        section=_PODS,
        is_rare=True,
        help="Use stubs of ConfigMaps, Secrets and claims that the files do not have.",
    ),
]


class PodOptions(ChosenPodOptions):
    """The pods of the files, and how strictly they are read."""

    validate: Validate = "warn"
    strict: Annotated[
        bool,
        Setting(
            is_rare=True,
            help="Like --validate strict; also refuse unsupported fields and pods "
            "without a probe.",
        ),
    ] = False
    stub_missing: StubMissing = False


# -- runtime and cluster

_RUNTIME_HELP = (
    "Container runtime. auto tries docker, then cri; process runs the commands on this "
    "machine, without images or isolation"
)


class DockerEndpointOptions(OptionGroup, section=_RUNTIME):
    """How Docker is reached."""

    docker_context: Annotated[
        str | None,
        Setting(
            is_rare=True,
            metavar="NAME",
            help="Docker context.  [default: DOCKER_HOST, DOCKER_CONTEXT, the current "
            "one]",
        ),
    ] = None
    host: Annotated[
        str | None,
        Setting(
            "-H",
            is_rare=True,
            metavar="URL",
            help="Docker endpoint, as in unix:///var/run/docker.sock.",
        ),
    ] = None


class EngineChoice(OptionGroup, section=_RUNTIME):
    """Which container runtime."""

    runtime: Annotated[str, Setting(type=OneOf(RUNTIMES), help=f"{_RUNTIME_HELP}.")] = (
        "auto"
    )


class EngineOptions(EngineChoice, DockerEndpointOptions):
    """Which container runtime, and how it is reached."""

    runtime_endpoint: Annotated[
        str | None,
        Setting(
            "-r",
            is_rare=True,
            metavar="URL",
            help="CRI socket, as in unix:///run/containerd/containerd.sock.  [default: "
            "CONTAINER_RUNTIME_ENDPOINT, crictl's configuration, the known sockets]",
        ),
    ] = None


class SessionEngineOptions(EngineOptions):
    """The same for a session, which may be simulated."""

    runtime: Annotated[
        str,
        Setting(
            type=OneOf((*RUNTIMES, "sim")),
            help=f"{_RUNTIME_HELP}; sim simulates them on virtual time.",
        ),
    ] = "auto"


class ClusterOptions(OptionGroup, section=_CLUSTER):
    """How a cluster is reached."""

    kubeconfig: Annotated[
        str | None,
        Opt(
            metavar="FILE",
            type=click.Path(),
            help="Kubeconfig file.  [default: those of KUBECONFIG, merged; "
            "~/.kube/config; this pod's service account]",
        ),
    ] = None
    kube_context: Annotated[
        str | None,
        Opt(
            "--context",
            metavar="NAME",
            help="Context of the kubeconfig.  [default: the current one]",
        ),
    ] = None


# -- how pods are run

Pull = Annotated[
    str | None,
    Setting(
        section=_RUNTIME,
        is_rare=True,
        type=OneOf(("missing", "always", "never")),
        help="When to pull images.  [default: each container's imagePullPolicy]",
    ),
]

Keep = Annotated[
    bool,
    Setting(
        section=_RUNTIME,
        help="Keep the containers at the end; `probetui down` removes them.",
    ),
]


def act_option(*, is_rare: bool) -> Opt:
    """Return the switch for kills and restarts.

    It is no setting: what a file says for `run` must not let `attach` kill something.
    """
    return Opt(
        "--act/--no-act",
        section=_RUNTIME,
        is_rare=is_rare,
        help="Kill and restart containers as the probes require, or only report it.",
    )


Act = Annotated[bool, act_option(is_rare=True)]

Metrics = Annotated[
    str | None,
    Setting(
        metavar="ADDR",
        section=_OUTPUT,
        is_rare=True,
        help="Serve metrics of the probes at HOST:PORT: the kubelet's, and what it "
        "keeps to itself.  [default host: 127.0.0.1]",
    ),
]

RuntimeEvents = Annotated[
    bool,
    Setting(
        section=_OUTPUT,
        is_rare=True,
        help="On Docker, show commands that others run in the containers. Each exec "
        "probe then costs the daemon a little more.",
    ),
]

Freeze = Annotated[
    bool,
    Opt(
        section=_RUNTIME,
        is_rare=True,
        help="Freeze the containers while probes are paused.",
    ),
]

Step = Annotated[
    bool,
    Opt(
        section=_OUTPUT,
        help="No screen: step by lines on standard input. An empty line runs the next "
        "tick and shows its decisions; help lists the others.",
    ),
]


class PullOptions(OptionGroup, section=_RUNTIME):
    """What is done before containers are created."""

    pull: Pull = None
    beside_kubelet: Annotated[
        bool,
        Setting(
            is_rare=True,
            help="Run the pods though a kubelet uses the same container runtime, which "
            "kills each pod that it does not know. Without it that is refused.",
        ),
    ] = False


class CreationOptions(PullOptions):
    """The same, and images that are removed when the disk is full."""

    image_gc: Annotated[
        bool,
        Setting(
            is_rare=True,
            help="When the disk is full, remove images that probetui pulled, as the "
            "kubelet does; see `probetui images gc --help`.",
        ),
    ] = False


class RunningOptions(CreationOptions, section=_RUNTIME):
    """How the pods of files are run."""

    keep: Keep = False
    act: Act = True
    watch: Annotated[
        bool,
        Setting(
            help="Reload the files when they change: start new pods, stop removed "
            "ones.",
        ),
    ] = False
    metrics: Metrics = None
    runtime_events: RuntimeEvents = False
    freeze: Freeze = False


class PlayOptions(OptionGroup, section=_ENDING):
    """The speed and the length of what is simulated or replayed."""

    time_scale: Annotated[
        float | None,
        Opt(
            type=Pace(),
            metavar="N",
            help="Simulation and replay only: speed as a multiple of real time, as in "
            "0.5 or 100.  [default: 1 on the screen, else as fast as possible]",
        ),
    ] = None
    play_for: Annotated[
        timedelta | None,
        Opt(
            "--for",
            metavar="DUR",
            help="Simulation and replay only: stop after this much simulated or "
            "recorded time.  [default of a simulation: 10m without a screen]",
        ),
    ] = None


class RarePlayOptions(PlayOptions, is_rare=True):
    """The same of a command that seldom simulates."""


# -- kubelet

FeatureGates = Annotated[
    str | None,
    Setting(
        section=_KUBELET,
        is_rare=True,
        metavar="NAME=BOOL,...",
        help="Set feature gates of that version, as in ExecProbeTimeout=false.",
    ),
]

ExecErrors = Annotated[
    str | None,
    Setting(
        section=_KUBELET,
        is_rare=True,
        type=OneOf(("cri", "docker")),
        help="On Docker, treat a probe command that cannot be started as an error, "
        "which is ignored (cri), or as a failure (docker, as dockershim did).  "
        "[default: cri; docker for versions that had dockershim]",
    ),
]

NoFindings = Annotated[
    bool, Setting(section=_OUTPUT, is_rare=True, help="Do not report findings.")
]

Seed = Annotated[
    int | None,
    Setting(
        section=_KUBELET,
        is_rare=True,
        type=WholeNumber(min=0),
        metavar="N",
        help="Seed for random numbers, to repeat a session.",
    ),
]


class VersionOptions(OptionGroup, section=_KUBELET):
    """The kubelet's version."""

    kubelet: Annotated[
        str | None,
        Setting(
            "--kubelet",
            "--kubelet-version",
            type=KubeletVersion(),
            metavar="VERSION",
            help="Decide as a kubelet of this version does: 1.15, 1.20, 1.32...; see "
            "`probetui info`.  [default: 1.36]",
        ),
    ] = None
    feature_gates: FeatureGates = None


class KubeletOptions(VersionOptions, section=_KUBELET):
    """The kubelet's version and configuration."""

    exec_errors: ExecErrors = None
    no_findings: NoFindings = False
    kubelet_age: Annotated[
        str,
        Setting(
            is_rare=True,
            type=OneOf(("old", "fresh")),
            help="A fresh kubelet delays each first probe by a random part of its "
            "period.",
        ),
    ] = "old"
    max_container_restart_period: Annotated[
        timedelta | None,
        Setting(
            is_rare=True,
            metavar="DUR",
            help="The longest wait of crash-loop back-off, 1s to 300s, as a node's "
            "crashLoopBackOff.maxContainerRestartPeriod.  [default: 300s]",
        ),
    ] = None
    seed: Seed = None


# -- end


class EndOptions(OptionGroup, section=_ENDING):
    """When a session ends."""

    until: Annotated[
        str | None,
        Opt(
            metavar="COND",
            help="Stop when ready, started, killed[=N], restarts=N, backoff, succeeded "
            "or event=REASON: for all pods, or as POD:COND or POD/CONTAINER:COND.",
        ),
    ] = None
    for_at_least: Annotated[
        timedelta | None,
        Opt(
            is_rare=True,
            metavar="DUR",
            help="How long the state of --until ready or started has to hold.  "
            "[default: 0s]",
        ),
    ] = None
    timeout: Annotated[
        timedelta | None,
        Opt(
            metavar="DUR",
            help="Stop after this time, with status 4: 90s, 5m, or a number of "
            "seconds.",
        ),
    ] = None


# -- output


def output_forms(*forms: str) -> Opt:
    """Return `-o`: how a command prints what it found; the first is the default.

    All commands mean the same by a word: `table` or `text` is for people, `wide` has
    more of it, `json` and `yaml` have all for programs, `name` has a name a line.
    """
    return Opt("-o", section=_OUTPUT, type=OutputForm(forms), help="Output format.")


class TableOptions(OptionGroup, section=_OUTPUT):
    """How a table is printed."""

    output: Annotated[str, output_forms("table", "wide", "json", "yaml", "name")] = (
        "table"
    )
    no_headers: Annotated[
        bool, Opt(is_rare=True, help="Do not print column headings.")
    ] = False


class TextOptions(OptionGroup, section=_OUTPUT):
    """How a report is printed."""

    output: Annotated[str, output_forms("text", "json", "yaml")] = "text"


def container_filter(help_text: str) -> Opt:
    """Return the option that selects containers by name."""
    return Opt(
        "-c",
        "--container",
        section=_OUTPUT,
        is_rare=True,
        metavar="NAME",
        shell_complete=completions.complete_containers,
        help=help_text,
    )


ShowSecrets = Annotated[
    bool,
    Setting(
        section=_OUTPUT,
        is_rare=True,
        help="Show the values of variables and headers named token, key, password...",
    ),
]


ShownForm = Annotated[
    str | None,
    Opt(
        "--plain",
        section=_OUTPUT,
        flag_value="plain",
        help="Print lines, even on a terminal.",
    ),
    Opt("--no-tui", section=_OUTPUT, flag_value="plain", hidden=True),
    Opt(
        "--tui",
        section=_OUTPUT,
        is_rare=True,
        flag_value="tui",
        help="Show the screen; fail if the terminal does not allow it.",
    ),
]


class OutputOptions(OptionGroup, section=_OUTPUT):
    """What a session prints and records."""

    output: Annotated[
        str,
        Setting(
            "-o",
            type=OutputForm(("plain", "jsonl")),
            help="Output format without a screen.",
        ),
    ] = "plain"
    containers: Annotated[
        tuple[str, ...],
        container_filter("Print only facts about these containers. Repeatable."),
    ] = ()
    types: Annotated[
        tuple[str, ...],
        Opt(
            "-t",
            "--type",
            is_rare=True,
            type=OneOf(("liveness", "readiness", "startup")),
            help="Print only what probes of these types do and lead to. Repeatable.",
        ),
    ] = ()
    since_start: Annotated[
        bool,
        Setting(
            is_rare=True,
            help="Print times as +41.2s instead of the time of day.",
        ),
    ] = False
    verbose: Annotated[
        bool,
        Opt("-v", is_rare=True, help="Print every tick, including skipped ones."),
    ] = False
    show_secrets: ShowSecrets = False
    form: ShownForm = None
    record: Annotated[
        str | None,
        Opt(
            metavar="FILE",
            type=click.Path(allow_dash=True),
            help="Record the session as JSON Lines, compressed if the name ends in "
            ".gz; - is standard output.",
        ),
    ] = None
    report: Annotated[
        str | None,
        Opt(
            metavar="FILE",
            type=click.Path(),
            help="At the end write what `probetui report` writes: a page that is the "
            "record, too, or a picture if the name ends in .svg.",
        ),
    ] = None


Autosave = Annotated[
    bool,
    Setting(
        "--autosave/--no-autosave",
        section=_OUTPUT,
        is_rare=True,
        help="Save a record of each session; `probetui replay` and `why` read the "
        "last one.",
    ),
]


class AutosaveOptions(OptionGroup, section=_OUTPUT):
    """Whether sessions are saved, and how much of them is kept."""

    autosave: Autosave = True
    autosave_limit: Annotated[
        int,
        Setting(
            is_rare=True,
            type=ByteCount(),
            metavar="SIZE",
            default="1Gi",
            help="Remove the oldest saved records above this total size: 500M, 1Gi.",
        ),
    ] = 1 << 30


class RecordOptions(OptionGroup, section=_RECORD):
    """How much of a record is read."""

    record_limit: Annotated[
        int,
        Opt(
            is_rare=True,
            type=ByteCount(),
            metavar="SIZE",
            default="256Mi",
            help="Read records of at most this size, unpacked: 256Mi, 2Gi.",
        ),
    ] = 256 << 20


# -- screen

Ascii = Annotated[
    bool,
    Setting(section=_SCREEN, is_rare=True, help="Use ASCII for marks and borders."),
]


class LookOptions(OptionGroup, section=_SCREEN):
    """How any screen looks."""

    theme: Annotated[
        str | None,
        Setting(
            is_rare=True,
            metavar="NAME",
            shell_complete=completions.complete_themes,
            help="Colour theme of the screen.",
        ),
    ] = None
    color: Annotated[
        str,
        Setting(
            is_rare=True,
            type=OneOf(("auto", "always", "never")),
            help="When to use colours; auto follows NO_COLOR.",
        ),
    ] = "auto"
    ascii: Ascii = False
    no_mouse: Annotated[
        bool, Setting(is_rare=True, help="Do not capture the mouse.")
    ] = False


class AppearanceOptions(LookOptions, section=_SCREEN):
    """How the screen of a session looks."""

    keymap: Annotated[
        Path | Mapping[str, object] | None,
        Setting(
            is_rare=True,
            metavar="FILE",
            type=KeymapSource(),
            help="Custom keys: YAML with action IDs and keys, such as time.step: f9.",
        ),
    ] = None
    lanes: Annotated[
        bool,
        Setting(
            "--lanes/--no-lanes",
            is_rare=True,
            help="Show lanes of time at first; without them, cards.",
        ),
    ] = True
    present: Annotated[
        bool,
        Setting(
            "--present/--no-present",
            is_rare=True,
            help="Show the selected probe to an audience at first.",
        ),
    ] = False
    notify: Annotated[
        bool,
        Setting(
            "--notify/--no-notify",
            is_rare=True,
            help="Ring the bell and send a notification (OSC 9) when a probe kills.",
        ),
    ] = False
    no_motion: Annotated[
        bool,
        Setting(
            is_rare=True,
            help="No animation; update counters at most once a second.",
        ),
    ] = False


class BeginningOptions(OptionGroup, section=_SCREEN):
    """What the screen allows at first."""

    paused: Annotated[bool, Setting(help="Start with all probes paused.")] = False
    read_only: Annotated[
        bool,
        Setting(is_rare=True, help="Disable all keys that change something."),
    ] = False


class ScreenSettings(BeginningOptions, AppearanceOptions, section=_SCREEN):
    """How the screen looks, and what it allows."""

    pause_opens_step: Annotated[
        bool,
        Setting(
            "--pause-opens-step/--no-pause-opens-step",
            is_rare=True,
            help="Pausing on the main screen opens step mode.",
        ),
    ] = False


class WebOptions(OptionGroup, section=_SCREEN):
    """Whether the screen is shown in a browser, and what may be done there."""

    web: Annotated[
        bool,
        Opt(
            help="Show the screen in a browser on this machine, at the address that is "
            "printed, instead of in the terminal. Needs probetui[web].",
        ),
    ] = False
    web_port: Annotated[
        int,
        Opt(
            is_rare=True,
            type=WholeNumber(min=0, max=_LAST_PORT),
            help="Port of --web on 127.0.0.1.  [default: any that is free]",
        ),
    ] = 0
    web_control: Annotated[
        bool,
        Opt(
            is_rare=True,
            help="Let the keys of --web change something, not only look.",
        ),
    ] = False


# -- program

Quiet = Annotated[
    bool, Opt("-q", section=_PROGRAM, is_rare=True, help="Print errors only.")
]


class ProgramOptions(OptionGroup, section=_PROGRAM):
    """What every command has."""

    config: Annotated[
        Path | None,
        Opt(
            is_rare=True,
            metavar="FILE",
            envvar="PROBETUI_CONFIG",
            is_eager=True,
            callback=_read_settings,
            help="Read settings from this file.  [default: see `probetui info`]",
        ),
    ] = None
    log_file: Annotated[
        Path | None,
        Setting(
            is_rare=True,
            metavar="FILE",
            help="Write the log here.  [default: see `probetui info`]",
        ),
    ] = None
    log_level: Annotated[
        str,
        Setting(
            is_rare=True,
            type=OneOf(LOG_LEVELS),
            help="Lowest level of messages to log.",
        ),
    ] = "info"
    quiet: Quiet = False


class CommonSessionOptions(
    KubeletOptions,
    EndOptions,
    OutputOptions,
    AutosaveOptions,
    ScreenSettings,
    ProgramOptions,
):
    """What every session has that runs or simulates pods."""


# -- node and server


class NodeIdentity(OptionGroup, section="Node"):
    """Which node it is."""

    node_name: Annotated[
        str | None,
        Opt(
            "--name",
            metavar="NAME",
            help="Name of the node.  [default: probetui- and the name of this machine]",
        ),
    ] = None
    address: Annotated[
        str | None,
        Opt(
            metavar="IP",
            help="Address at which the API server reaches this machine, for logs and "
            "exec.  [default: that of the route to it]",
        ),
    ] = None
    adopt: Annotated[
        bool, Opt(help="Take over a node of that name, unless its lease is alive.")
    ] = False
    keep_node: Annotated[
        bool,
        Opt(
            help="Keep the node, its pods and their containers at the end; --adopt "
            "resumes.",
        ),
    ] = False


class NodeOptions(NodeIdentity, ClusterOptions):
    """Of which cluster a session is a node, and how."""


class ServeOptions(OptionGroup, section="Server"):
    """How a session is served as a Kubernetes API; port 0 is any that is free."""

    port: Annotated[
        int,
        Opt(
            type=WholeNumber(min=0, max=_LAST_PORT),
            help="Port on 127.0.0.1.  [default: any that is free]",
        ),
    ] = 0
    write_kubeconfig: Annotated[
        Path | None,
        Opt(
            metavar="FILE",
            type=click.Path(path_type=Path, dir_okay=False),
            help="Kubeconfig to write, and to remove at the end.  [default: one of "
            "probetui's]",
        ),
    ] = None
    no_token: Annotated[bool, Opt(help="Let every user of this machine read.")] = False
