"""The values of options as structs: runtime, screen, session."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from probetui.analysis.reproduce import CommandLineReach
from probetui.errors import UsageError
from probetui.kubelet_rules import (
    DEFAULT_VERSION,
    KubeletRules,
    rules_of,
    settable_gates,
)

T = TypeVar("T", bound=Struct)
_RESTART_PERIODS = timedelta(seconds=1), timedelta(seconds=300)


def choose_rules(kubelet: str | None, feature_gates: str | None) -> KubeletRules:
    """Return the rules of the kubelet that `--kubelet` and `--feature-gates` choose.

    Raises:
        UsageError: the version has no such gate.
    """
    gates = (feature_gates or "").split(",")
    given = tuple(text for gate in gates if (text := gate.strip()))
    return rules_of(kubelet or DEFAULT_VERSION, given)


def rules_by(params: Mapping[str, Any]) -> KubeletRules:
    """Return the rules that the parameters of a command choose; see `choose_rules`."""
    return choose_rules(params.get("kubelet"), params.get("feature_gates"))


def check_restart_period(period: timedelta | None, rules: KubeletRules) -> None:
    """Check `--max-container-restart-period`.

    Raises:
        UsageError: the kubelet would not start with it.

    Source: kubelet/apis/config/validation/validation.go, v1.36.2,
    ValidateKubeletConfiguration.
    """
    if period is None:
        return
    option, gate = "--max-container-restart-period", "KubeletCrashLoopBackOffMax"
    if not rules.limits_back_off:
        is_known = gate in settable_gates(rules.version)
        lack = f"the feature gate {gate} off" if is_known else "no such setting"
        raise UsageError(f"{option}: kubelet {rules.version} has {lack}")
    least, most = _RESTART_PERIODS
    if not least <= period <= most:
        raise UsageError(f"{option}: must be between 1s and 300s")


def pick_options(kind: type[T], params: Mapping[str, Any]) -> T:
    """Make a struct of those parameters that are its fields.

    A command without one of them leaves it at its default.
    """
    names = kind.__struct_fields__
    return kind(**{name: params[name] for name in names if name in params})


class RuntimeOptions(Struct, frozen=True):
    """Which container runtime, and how pods are run on it."""

    runtime: str = "auto"
    docker_context: str | None = None
    host: str | None = None
    runtime_endpoint: str | None = None

    @property
    def reach(self) -> CommandLineReach:
        """The options with which the runtime's own programs reach it."""
        return CommandLineReach.by(
            host=self.host,
            context=self.docker_context,
            runtime_endpoint=self.runtime_endpoint,
        )


class ClusterPodRuntime(RuntimeOptions, frozen=True):
    """Pods of a cluster in place of a runtime.

    `cluster_pod` is the namespace and name of the one that is probed, with a slash
    between, and empty where pods are only watched.
    """

    cluster_pod: str = ""
    kubeconfig: str | None = None
    kube_context: str | None = None

    @property
    def reach(self) -> CommandLineReach:
        """The options with which kubectl reaches the cluster."""
        words = ["--kubeconfig", self.kubeconfig] if self.kubeconfig else []
        words += ["--context", self.kube_context] if self.kube_context else []
        return CommandLineReach(kubectl=tuple(words))


def pick_runtime(params: Mapping[str, Any]) -> RuntimeOptions:
    """Return where the containers are, by the parameters of a command."""
    of_cluster = params.get("cluster_pod") is not None
    return pick_options(ClusterPodRuntime if of_cluster else RuntimeOptions, params)


class NodeOptions(Struct, frozen=True):
    """Of which cluster a session is a node, and how.

    `node_name` is None for one made of this machine's name.
    """

    node_name: str | None = None
    kubeconfig: str | None = None
    kube_context: str | None = None
    address: str | None = None
    adopt: bool = False
    keep_node: bool = False


class ServeOptions(Struct, frozen=True):
    """How a session is served as a Kubernetes API.

    Port 0 is any that is free. `write_kubeconfig` is None for a file of ours.
    """

    port: int = 0
    write_kubeconfig: Path | None = None
    no_token: bool = False


def recorded_runtime(options: Mapping[str, Any]) -> RuntimeOptions:
    """Return how a recorded session reached its runtime; what cannot be is left out."""
    possible = {
        name: value
        for name, value in options.items()
        if value is None or isinstance(value, str)
    }
    return pick_runtime(possible)


class ScreenChoices(Struct, frozen=True):
    """How the screen looks, by the names of the options."""

    theme: str | None = None
    color: str = "auto"
    ascii: bool = False
    no_motion: bool = False
    no_mouse: bool = False
    pause_opens_step: bool = False
    keymap: Path | Mapping[str, object] | None = None
    read_only: bool = False
    show_secrets: bool = False


class SessionOptions(Struct, frozen=True):
    """How a session runs, ends and is shown, by the names of the options."""

    until: str | None
    for_at_least: timedelta | None
    timeout: timedelta | None
    output: str
    containers: tuple[str, ...]
    types: tuple[str, ...]
    record: str | None
    since_start: bool
    show_secrets: bool
    form: str | None
    paused: bool
    log_file: Path | None
    log_level: str
    verbose: bool
    quiet: bool
    kubelet: str | None = None
    feature_gates: str | None = None
    exec_errors: str | None = None
    kubelet_age: str = "old"
    max_container_restart_period: timedelta | None = None
    seed: int | None = None
    watch: bool = False
    metrics: str | None = None
    image_gc: bool = False
    pull: str | None = None
    keep: bool = False
    beside_kubelet: bool = False
    act: bool = True
    freeze: bool = False
    time_scale: float | None = None
    play_for: timedelta | None = None
    autosave: bool = False
    autosave_limit: int = 1 << 30
    no_findings: bool = False
    runtime_events: bool = False
    step: bool = False
