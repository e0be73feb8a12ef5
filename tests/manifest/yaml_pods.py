"""Pods in YAML for the tests of this folder, as short as they can be."""

from __future__ import annotations

from lightkube.models import core_v1

from probetui.manifest import defaults
from probetui.manifest.decode import decode
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import FieldValidation, Manifests
from probetui.manifest.yaml.parser import SourceFile, parse_yaml

PROBED = "livenessProbe: {tcpSocket: {port: 80}}"


def pod_yaml(container: str = "", spec: str = "", metadata: str = "name: web") -> str:
    """Write a pod with one container; each part is in flow style, without braces."""
    inner = ", ".join(filter(None, ["name: app, image: 'busybox:1.36'", container]))
    fields = ", ".join(filter(None, [f"containers: [{{{inner}}}]", spec]))
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{{metadata}}}\nspec: {{{fields}}}\n"


def load(
    text: str | bytes,
    *,
    validation: FieldValidation = FieldValidation.WARN,
    settings: tuple[str, ...] = (),
    namespace: str | None = None,
    namespace_suffix: str = "",
) -> Manifests:
    """Load one file that is called pod.yaml."""
    source = SourceFile("pod.yaml", text)
    return load_manifests(
        [source],
        validation=validation,
        settings=settings,
        namespace=namespace,
        namespace_suffix=namespace_suffix,
    )


def lines(manifests: Manifests) -> list[str]:
    """Return every problem as it is printed, with its severity in front."""
    return [f"{problem.severity}: {problem}" for problem in manifests.problems]


def pod_model(container: str = "", spec: str = "", metadata: str = "name: web") -> (
    core_v1.Pod
):  # fmt: skip
    """Return the model of such a pod with its defaults."""
    (document,) = parse_yaml(
        SourceFile("pod.yaml", pod_yaml(container, spec, metadata))
    ).documents
    decoded = decode(document.root, core_v1.Pod)
    assert not decoded.problems
    defaults.set_defaults(decoded.value)
    return decoded.value
