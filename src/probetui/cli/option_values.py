"""Groups of options by what is done with them: runtime, screen, session."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from probetui.analysis.reproduce import CommandLineReach
from probetui.cli.option_groups import OptionGroup, pick_options
from probetui.cli.options import (
    Autosave,
    ClusterOptions,
    CommonSessionOptions,
    EngineOptions,
    PlayOptions,
    RunningOptions,
    ScreenSettings,
    ShowSecrets,
    Step,
    VersionOptions,
)
from probetui.errors import UsageError
from probetui.kubelet_rules import (
    DEFAULT_VERSION,
    KubeletRules,
    rules_of,
    settable_gates,
)

_RESTART_PERIODS = timedelta(seconds=1), timedelta(seconds=300)


def rules_by(options: VersionOptions) -> KubeletRules:
    """Return the rules of the kubelet that `--kubelet` and `--feature-gates` choose.

    Raises:
        UsageError: the version has no such gate.
    """
    gates = (options.feature_gates or "").split(",")
    given = tuple(text for gate in gates if (text := gate.strip()))
    return rules_of(options.kubelet or DEFAULT_VERSION, given)


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


class RuntimeOptions(EngineOptions):
    """Which container runtime, and how its own programs reach it."""

    @property
    def reach(self) -> CommandLineReach:
        """The options with which the runtime's own programs reach it."""
        return CommandLineReach.by(
            host=self.host,
            context=self.docker_context,
            runtime_endpoint=self.runtime_endpoint,
        )


class ClusterPodRuntime(RuntimeOptions, ClusterOptions):
    """Pods of a cluster in place of a runtime.

    `cluster_pod` is the namespace and name of the one that is probed, with a slash
    between, and empty where pods are only watched.
    """

    cluster_pod: str = ""

    @property
    def reach(self) -> CommandLineReach:
        """The options with which kubectl reaches the cluster."""
        words = ["--kubeconfig", self.kubeconfig] if self.kubeconfig else []
        words += ["--context", self.kube_context] if self.kube_context else []
        return CommandLineReach(kubectl=tuple(words))


def pick_runtime(options: OptionGroup) -> RuntimeOptions:
    """Return where the containers are, by the options of a command."""
    of_cluster = getattr(options, "cluster_pod", None) is not None
    return pick_options(ClusterPodRuntime if of_cluster else RuntimeOptions, options)


def recorded_runtime(options: Mapping[str, Any]) -> RuntimeOptions:
    """Return how a recorded session reached its runtime; what cannot be is left out."""
    possible: dict[str, Any] = {
        name: value
        for name, value in options.items()
        if value is None or isinstance(value, str)
    }
    of_cluster = possible.get("cluster_pod") is not None
    kind = ClusterPodRuntime if of_cluster else RuntimeOptions
    return kind(
        **{name: possible[name] for name in possible.keys() & kind.field_names()}
    )


class ScreenChoices(ScreenSettings):
    """How the screen looks, and whether it shows what is secret."""

    show_secrets: ShowSecrets = False


class SessionOptions(RunningOptions, PlayOptions, CommonSessionOptions):
    """How a session runs, ends and is shown; a command has not all of the options.

    One that cannot be told to save its sessions saves none.
    """

    autosave: Autosave = False
    step: Step = False
