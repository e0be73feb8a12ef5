"""Judge of `validation.jsonl`: decoding, defaulting and validating one manifest."""

from __future__ import annotations

from typing import Any

from lightkube.models import core_v1, meta_v1

from probetui.kubelet_rules import PORTED_RULES
from probetui.manifest import defaults, workloads
from probetui.manifest.decode import Decoded, decode
from probetui.manifest.validation import pod as pod_validation
from probetui.manifest.validation.api_warnings import find_api_warnings
from probetui.manifest.validation.field_error import FieldError, GoSyntax
from probetui.manifest.yaml.nodes import YamlDocument, split_path
from probetui.manifest.yaml.parser import SourceFile, parse_yaml

_NODE = "node1"
_POD_FIELDS = (
    "restartPolicy",
    "terminationGracePeriodSeconds",
    "dnsPolicy",
    "schedulerName",
    "enableServiceLinks",
    "volumes",
)
_CONTAINER_FIELDS = (
    "name",
    "image",
    "imagePullPolicy",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
    "ports",
    "env",
    "restartPolicy",
)


def judge(case: dict[str, Any]) -> None:
    """Compare our decoding of a manifest with that of the real code."""
    expect = case["expect"]
    document, decoded = _read(case["yaml"])

    assert (decoded is None) == (expect["decodeError"] is not None)
    assert expect["staticPodFile"]["parsed"] == (decoded is not None)
    if document is None or decoded is None:
        return
    pod = decoded.value
    defaults.set_defaults(pod)
    strict_errors = _strict_errors(document, decoded)
    errors = list(pod_validation.validate_pod(pod))
    strict_names = list(pod_validation.validate_pod(pod, strict_env_names=True))

    assert expect["gvk"] == f"/{pod.apiVersion}, Kind={pod.kind}"
    assert strict_errors == expect["strictErrors"]
    _compare(errors, expect["errors"])
    _compare(strict_names, expect.get("errorsKubeletOptions", expect["errors"]))
    assert expect["valid"] == (not errors and not strict_errors)
    assert _static_pod(pod) == _without_words(expect["staticPodFile"])
    if not errors:
        assert _same(_defaults(pod), expect["defaults"])
        assert [f"{path}: {text}" for path, text in find_api_warnings(pod)] == (
            expect["warnings"]
        )


def _read(text: str) -> tuple[YamlDocument | None, Decoded[core_v1.Pod] | None]:
    """Return document and pod; without a pod there was a decoding error."""
    parsed = parse_yaml(SourceFile("case.yaml", text))
    # Go reads only the first document; the rest may be anything.
    if not parsed.documents or parsed.starts_empty:
        return None, None
    document = parsed.documents[0]
    found = workloads.classify_object(document.root)
    if not isinstance(found, workloads.WorkloadObject) or found.workload.kind != "Pod":
        return document, None
    decoded = decode(document.root, core_v1.Pod, version=PORTED_RULES.version)
    return document, None if decoded.problems else decoded


def _strict_errors(document: YamlDocument, decoded: Decoded[core_v1.Pod]) -> list[str]:
    doubled = [
        f'  line {duplicate.value.line}: key "{duplicate.key}" already set in map'
        for duplicate in document.duplicates
    ]
    found = ["\n".join(["yaml: unmarshal errors:", *doubled])] if doubled else []
    # Go converts YAML to JSON first, whose keys are sorted.
    unknown = sorted(
        (field.path for field in decoded.unknown),
        key=lambda path: [
            (step.isdecimal(), int(step) if step.isdecimal() else 0, step)
            for step in split_path(path)
        ],
    )
    return found + [f'unknown field "{path}"' for path in unknown]


def _compare(ours: list[FieldError], theirs: list[dict[str, Any]]) -> None:
    """Compare errors; a value that is not JSON is Go's dump of an internal type."""
    assert len(ours) == len(theirs)
    for error, expected in zip(ours, theirs, strict=True):
        is_dump = isinstance(error.bad_value, GoSyntax)
        unlike = {"badValue", "message"} if is_dump else set()
        assert {k: v for k, v in _plain(error).items() if k not in unlike} == {
            k: v for k, v in expected.items() if k not in unlike
        }


def _plain(error: FieldError) -> dict[str, object]:
    return {
        "type": error.type.value,
        "field": error.field,
        "badValue": error.bad_value,
        "detail": error.detail,
        "message": error.message,
    }


def _static_pod(pod: core_v1.Pod) -> dict[str, object]:
    """Return the pod as the kubelet's file source on that node would."""
    metadata = pod.metadata or meta_v1.ObjectMeta()
    if not metadata.name:
        return {"accepted": False, "errors": None}
    name = f"{metadata.name}-{_NODE}"
    renamed = core_v1.Pod(
        metadata=meta_v1.ObjectMeta(
            name=name,
            namespace=metadata.namespace,
            labels=metadata.labels,
            annotations=metadata.annotations,
        ),
        spec=pod.spec,
    )
    messages = [
        field_error.message
        for field_error in pod_validation.validate_pod(renamed, strict_env_names=True)
    ]
    if messages:
        return {"accepted": False, "errors": f"invalid pod: [{' '.join(messages)}]"}
    namespace = metadata.namespace or "default"
    return {"accepted": True, "name": name, "namespace": namespace}


def _without_words(expected: dict[str, Any]) -> dict[str, object]:
    """Keep only what is comparable: the pod's name, or its field errors."""
    if expected["error"] is None:
        return {"accepted": True} | {k: expected[k] for k in ("name", "namespace")}
    is_listed = expected["error"].startswith("invalid pod: [")
    return {"accepted": False, "errors": expected["error"] if is_listed else None}


def _defaults(pod: core_v1.Pod) -> dict[str, object]:
    spec = pod.spec or core_v1.PodSpec(containers=[])
    plain = spec.to_dict()
    return {name: plain.get(name) for name in _POD_FIELDS} | {
        group: [
            {name: container.get(name) for name in _CONTAINER_FIELDS}
            for container in plain.get(group) or ()
        ]
        for group in ("containers", "initContainers")
    }


def _same(ours: object, theirs: object) -> bool:
    """Compare; an absent value equals the zero value that Go leaves out."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = ours.keys() | theirs.keys()
        return all(_same(ours.get(key), theirs.get(key)) for key in keys)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_same, ours, theirs))
    if isinstance(ours, dict) and theirs is None:
        return all(_same(value, None) for value in ours.values())
    return ours == theirs or (not ours and not theirs)
