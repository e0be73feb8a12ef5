"""Other settings of recorded pods: `[POD/]CONTAINER.PROBE.FIELD=VALUE`.

Values are decoded and validated like those of a manifest. Fields that would change what
was measured, such as the handler, cannot be set: the record has no answers to another
request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from probetui.errors import ManifestError, UsageError
from probetui.k8s.api.pod import POD
from probetui.k8s.api.probe import PROBE
from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.probe import Probe, ProbeType
from probetui.kubelet_rules import KubeletRules
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import FieldValidation
from probetui.manifest.yaml.dump import dump_yaml
from probetui.manifest.yaml.parser import SourceFile
from probetui.suggestions import nearest_hint

PROBE_FIELDS = {
    "livenessProbe": ProbeType.LIVENESS,
    "readinessProbe": ProbeType.READINESS,
    "startupProbe": ProbeType.STARTUP,
}
SETTABLE = (
    "initialDelaySeconds",
    "periodSeconds",
    "timeoutSeconds",
    "successThreshold",
    "failureThreshold",
    "terminationGracePeriodSeconds",
)
_HANDLERS = frozenset({"exec", "httpGet", "tcpSocket", "grpc"})
_NAMES = {kind: name for name, kind in PROBE_FIELDS.items()}


class RecordedProbe(NamedTuple):
    """A probe of a record; an edited pod is identified by its name."""

    namespace: str
    pod: str
    container: str
    probe_type: ProbeType

    @property
    def path(self) -> str:
        """The path to display: `web/app.livenessProbe`."""
        return f"{self.pod}/{self.container}.{_NAMES[self.probe_type]}"

    def find(self, pod: Pod) -> Probe | None:
        """Return the probe in a pod, None if the pod is another one."""
        if (pod.namespace, pod.name) != (self.namespace, self.pod):
            return None
        container = pod.container(self.container)
        return None if container is None else container.probe(self.probe_type)


class ProbeSetting(Struct, frozen=True):
    """One setting of one recorded probe; `option` is the text after `flag`."""

    option: str
    probe: RecordedProbe
    field: str
    value: str
    flag: str = "--set"

    def with_value(self, value: str) -> ProbeSetting:
        """Return the setting with another value."""
        option = f"{self.option.partition('=')[0]}={value}"
        return replace(self, option=option, value=value)


class ChangedPods(Struct, frozen=True):
    """Pods as recorded and as changed, where these differ."""

    pairs: tuple[tuple[Pod, Pod], ...] = ()

    def of(self, recorded: Pod) -> Pod:
        """Return the pod that replaces a recorded one."""
        for before, after in self.pairs:
            if before is recorded:
                return after
        return recorded

    @property
    def uids(self) -> frozenset[str]:
        """The UIDs of the changed pods."""
        return frozenset(pod.uid for pod, _ in self.pairs)


def probes_of(pods: Iterable[Pod]) -> list[RecordedProbe]:
    """Return the distinct probes of some pods."""
    probes = (
        RecordedProbe(pod.namespace, pod.name, container.name, kind)
        for pod in pods
        for container in pod.all_containers()
        for kind in _NAMES
        if container.probe(kind) is not None
    )
    return list(dict.fromkeys(probes))


def parse_probe_setting(
    option: str, pods: Sequence[Pod], flag: str = "--set"
) -> ProbeSetting:
    """Parse a setting of a recorded probe.

    A pod or container that is the only one with such a probe may be left out; so may
    everything before the field where there is one probe.

    Args:
        option: as it was typed.
        pods: the recorded ones.
        flag: the option that it belongs to, for messages.

    Raises:
        UsageError: there is no such probe, or more than one, or the field would change
            what was measured.
    """
    path, equals, value = option.partition("=")
    steps = path.split(".")
    where = f"{flag} {option}"
    if not equals or not value or not all(steps):
        raise UsageError(
            f"{where}: must be [POD/]CONTAINER.PROBE.FIELD=VALUE, as in "
            "app.livenessProbe.failureThreshold=5"
        )
    place = next((at for at, step in enumerate(steps) if step in PROBE_FIELDS), None)
    if place is None and len(steps) > 1:
        raise UsageError(
            f"{where}: only probe settings can be changed, as in "
            "app.livenessProbe.failureThreshold=5"
        )
    owner = "" if place is None else ".".join(steps[:place])
    probe = "" if place is None else steps[place]
    field = ".".join(steps if place is None else steps[place + 1 :])
    _check_field(where, field)
    probes = probes_of(pods)
    matching = [
        candidate for candidate in probes if _is_meant(candidate.path, owner, probe)
    ]
    if len(matching) == 1:
        return ProbeSetting(option, matching[0], field, value, flag)
    known = ", ".join(candidate.path for candidate in matching or probes)
    if matching:
        raise UsageError(f"{where}: there is more than one such probe ({known})")
    raise UsageError(f"{where}: the record has no such probe (has: {known or 'none'})")


def _check_field(where: str, field: str) -> None:
    if field.partition(".")[0] in _HANDLERS:
        raise UsageError(
            f"{where}: the record has no results of another handler: run the pod "
            "with it and record that"
        )
    if field not in SETTABLE:
        raise UsageError(
            f'{where}: "{field}" is not a probe setting that can be changed '
            f"(can be: {', '.join(SETTABLE)}){nearest_hint(field, SETTABLE)}"
        )


def _is_meant(name: str, owner: str, probe: str) -> bool:
    full_owner, _, own_probe = name.rpartition(".")
    container = full_owner.partition("/")[2]
    return owner in {"", full_owner, container} and probe in {"", own_probe}


def apply_settings(
    pods: Iterable[Pod], settings: Iterable[ProbeSetting], rules: KubeletRules
) -> ChangedPods:
    """Return the pods that settings or another version's rules change.

    Args:
        pods: the recorded ones, all versions of each.
        settings: of their probes.
        rules: those of the version by which their probes are read.

    Raises:
        ManifestError: an API server would refuse a value; all problems.
    """
    wanted = tuple(settings)
    changed = []
    for pod in pods:
        own = [setting for setting in wanted if setting.probe.find(pod) is not None]
        probes = _read_again(pod, own, rules)
        new = replace(
            pod,
            containers=_with_probes(pod.containers, probes),
            init_containers=_with_probes(pod.init_containers, probes),
        )
        if new != pod:
            changed.append((pod, new))
    return ChangedPods(tuple(changed))


def _read_again(
    pod: Pod, settings: Sequence[ProbeSetting], rules: KubeletRules
) -> dict[str, Container]:
    """Decode the probes of a pod from a minimal manifest."""
    skeleton = Pod(
        pod.uid,
        pod.name,
        pod.namespace,
        containers=tuple(map(_probes_only, pod.containers)),
        init_containers=tuple(map(_probes_only, pod.init_containers)),
    )
    json = {"apiVersion": "v1", "kind": "Pod", **POD.write(skeleton)}
    options = [
        f"{setting.probe.container}.{_NAMES[setting.probe.probe_type]}"
        f".{setting.field}={setting.value}"
        for setting in settings
    ]
    manifests = load_manifests(
        [SourceFile(f"pod {pod.name}", dump_yaml(json))],
        validation=FieldValidation.IGNORE,
        settings=options,
        rules=rules,
    )
    if manifests.errors:
        written = {
            f"--set {option}": f"{setting.flag} {setting.option}"
            for option, setting in zip(options, settings, strict=True)
        }
        raise ManifestError(
            [
                f"{_origin(problem.file, pod, written, rules)}: "
                f"{problem.path}: {problem.message}"
                for problem in manifests.errors
            ],
            consequence="nothing was tried",
        )
    return {
        container.name: container for container in manifests.pods[0].all_containers()
    }


def _origin(
    file: str, pod: Pod, written: Mapping[str, str], rules: KubeletRules
) -> str:
    """Return the cause of a problem: a setting as typed, or the version."""
    if file in written:
        return written[file]
    return f"pod {pod.name}, read as Kubernetes {rules.version} does"


def _probes_only(container: Container) -> Container:
    return Container(
        container.name,
        "image",
        ports=container.ports,
        startup_probe=container.startup_probe,
        liveness_probe=container.liveness_probe,
        readiness_probe=container.readiness_probe,
        restart_policy=RestartPolicy.ALWAYS if container.is_sidecar else None,
    )


def _with_probes(
    containers: tuple[Container, ...], probes: Mapping[str, Container]
) -> tuple[Container, ...]:
    return tuple(
        replace(
            container,
            startup_probe=probes[container.name].startup_probe,
            liveness_probe=probes[container.name].liveness_probe,
            readiness_probe=probes[container.name].readiness_probe,
        )
        for container in containers
    )


def replaced_values(
    settings: Iterable[ProbeSetting], pods: Sequence[Pod], changed: ChangedPods
) -> Iterator[str]:
    """Yield a line for each value that an API server replaces by the default.

    Source: apis/core/v1/defaults.go, v1.32.10, SetDefaults_Probe.
    """
    for setting in settings:
        probes = (setting.probe.find(changed.of(pod)) for pod in pods)
        recorded = next((probe for probe in probes if probe is not None), None)
        if recorded is None or set(setting.value) != {"0"}:
            continue
        if default := PROBE.write(recorded).get(setting.field):
            yield (
                f"{setting.flag} {setting.option}: as in a manifest that is the "
                f"default, {default}"
            )


def recorded_value(setting: ProbeSetting, pods: Iterable[Pod]) -> str:
    """Return the newest recorded value of a setting, empty if it was not set."""
    value = None
    for pod in pods:
        probe = setting.probe.find(pod)
        if probe is not None:
            value = PROBE.write(probe).get(setting.field)
    return "" if value is None else str(value)
