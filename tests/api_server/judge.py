"""Compare what we say of a manifest with what a real API server answered."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any

from lightkube.models import core_v1
from msgspec import Struct, field

from probetui.kubelet_rules import KubeletRules
from probetui.manifest.admission import Classes, admit
from probetui.manifest.draft import (
    PodManifest,
    assign_identity,
    draft_pod,
    finish_draft,
)
from probetui.manifest.manifests import FieldValidation
from probetui.manifest.validation.api_warnings import find_api_warnings
from probetui.manifest.validation.pod import validate_pod
from probetui.manifest.workloads import WorkloadObject, classify_object
from probetui.manifest.yaml.parser import SourceFile, parse_yaml

Json = dict[str, Any]
Cause = tuple[str, str, str]
"""Field, reason and message."""


class Figure(StrEnum):
    """What is counted, each for itself."""

    VERDICT = "accepted or refused"
    FIELDS = "fields and reasons"
    TEXTS = "texts"
    UNKNOWN = "unknown fields"
    TYPES = "values of a wrong type"
    WARNINGS = "warnings"
    DEFAULTS = "defaults"
    FORBIDDEN = "refused by admission"


ACCEPTED, MALFORMED, FORBIDDEN, INVALID = 201, 400, 403, 422
_UNKNOWN = re.compile(r'unknown field ("(?:[^"\\]|\\.)*")')
_DECODING = re.compile(
    r'Pod in version "v1" cannot be handled as a Pod: (?!strict)(.*)', re.DOTALL
)
_TEXT = re.compile(r'pods "(?:[^"\\]|\\.)*" is forbidden: (.*)')
_WAITS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_INJECTED = "kube-api-access-"


class Answer(Struct):
    """What is said of one manifest; `spec` is the pod's once it is accepted."""

    unknown: list[str] = field(default_factory=list)
    malformed: list[str] = field(default_factory=list)
    causes: list[Cause] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    spec: Json = field(default_factory=dict)

    @property
    def is_accepted(self) -> bool:
        """Whether a strict API server takes the pod."""
        return not (self.unknown or self.malformed or self.causes)


def ask(manifest: object, rules: KubeletRules, *, is_admitted: bool) -> Answer:
    """Return our answer to a manifest, as that of a strict API server.

    Args:
        manifest: the object, or its text.
        rules: those of the version.
        is_admitted: ServiceAccount admission is on.
    """
    text = manifest if isinstance(manifest, str) else json.dumps(manifest)
    source = SourceFile("case.yaml", text)
    (document,) = parse_yaml(source).documents
    found = classify_object(document.root)
    if not isinstance(found, WorkloadObject):
        return Answer(malformed=[str(found)])
    pod_manifest = PodManifest(found, document, source)
    draft = draft_pod(pod_manifest, FieldValidation.STRICT, None, rules)
    assign_identity(draft, "host")
    by_rule: dict[str, list[str]] = {}
    for problem in draft.problems:
        said = problem.message if problem.rule == "type" else problem.path
        by_rule.setdefault(problem.rule, []).append(said)
    unknown = by_rule.get("unknown-field", []) + by_rule.get("later-field", [])
    if unknown or "type" in by_rule:
        return Answer(unknown, by_rule.get("type", []))
    spec = draft.pod.spec or core_v1.PodSpec(containers=[])
    refusals = [text for _, text in admit(spec, Classes())]
    causes = [
        (error.field, error.type.value, error.message.removeprefix(f"{error.field}: "))
        for error in validate_pod(draft.pod, rules=rules, is_admitted=is_admitted)
    ]
    warnings = [
        (problem.path, problem.message)
        for problem in draft.problems
        if problem.rule == "api-warning"
    ]
    warnings += find_api_warnings(draft.pod, rules)
    answer = Answer([], [], causes, warnings, refusals)
    if not causes:
        finish_draft(draft)
        answer.spec = spec.to_dict()
    return answer


def compare(
    case: Json, rules: KubeletRules, *, is_admitted: bool
) -> Iterator[tuple[Figure, str]]:
    """Yield each figure that a case counts for, with the difference if there is one."""
    ours = ask(case["manifest"], rules, is_admitted=is_admitted)
    match case["code"]:
        case 201:
            yield Figure.VERDICT, _unlike(ours=ours.is_accepted, theirs=True)
            if ours.is_accepted:
                yield Figure.WARNINGS, _compare_warnings(case, ours)
                theirs = _as_written(case["pod"]["spec"])
                yield Figure.DEFAULTS, _unlike(_as_written(ours.spec), theirs)
        case 400:
            yield Figure.VERDICT, _unlike(ours=ours.is_accepted, theirs=False)
            unknown = sorted(map(json.loads, _UNKNOWN.findall(case["message"])))
            if unknown:
                yield Figure.UNKNOWN, _unlike(sorted(ours.unknown), unknown)
            elif (found := _DECODING.fullmatch(case["message"])) is not None:
                # It ends with the first one, in an order of its own.
                is_said = any(text.endswith(f"({found[1]})") for text in ours.malformed)
                yield Figure.TYPES, "" if is_said else _unlike(ours.malformed, found[1])
        case 422:
            yield Figure.VERDICT, _unlike(ours=ours.is_accepted, theirs=False)
            causes = [tuple(cause) for cause in case["causes"]]
            ours_short = [cause[:2] for cause in ours.causes]
            yield Figure.FIELDS, _unlike(ours_short, [cause[:2] for cause in causes])
            yield Figure.TEXTS, _unlike(ours.causes, causes)
        case 403:
            found = _TEXT.fullmatch(case["message"])
            assert found is not None, case["message"]
            yield Figure.FORBIDDEN, _unlike(ours.refusals[:1], [found[1]])
        case 404:
            # The namespace that the manifest names is not there.
            pass
        case code:
            yield Figure.VERDICT, f"no rule for the code {code}"


def count(
    cases: Iterable[Json], rules: KubeletRules, *, is_admitted: bool
) -> tuple[Counter[Figure], dict[Figure, dict[str, str]]]:
    """Return how many cases count for each figure, and the differences by case."""
    counted: Counter[Figure] = Counter()
    unlike: dict[Figure, dict[str, str]] = {figure: {} for figure in Figure}
    for case in cases:
        for figure, difference in compare(case, rules, is_admitted=is_admitted):
            counted[figure] += 1
            if difference:
                unlike[figure][case["id"]] = difference
    return counted, unlike


def _unlike(ours: object, theirs: object) -> str:
    return "" if ours == theirs else f"ours: {ours!r}\ntheirs: {theirs!r}"


def _compare_warnings(case: Json, ours: Answer) -> str:
    """Compare warnings in any order; the field of some is ours, not in their text."""
    theirs = case.get("warnings", [])
    written = {
        text if text in theirs else f"{path}: {text}" for path, text in ours.warnings
    }
    return _unlike(sorted(written), sorted(set(theirs)))


def _as_written(spec: Mapping[str, Any]) -> object:
    """Return a spec without what is empty and what admission gives every pod."""
    plain = dict(spec)
    for name, usual in (("priority", 0), ("preemptionPolicy", "PreemptLowerPriority")):
        if plain.get(name) == usual:
            del plain[name]
    plain["tolerations"] = [
        one for one in plain.get("tolerations") or () if one.get("key") not in _WAITS
    ]
    if plain.get("serviceAccountName") == "default":
        del plain["serviceAccountName"]
    # The old name of the other field, which the API server sets beside it.
    plain.pop("serviceAccount", None)
    return _without_empty(_without_injected(plain))


def _without_injected(value: object) -> object:
    """Leave out the volume that admission mounts into each container."""
    if isinstance(value, dict):
        return {key: _without_injected(one) for key, one in value.items()}
    if isinstance(value, list):
        return [
            _without_injected(one)
            for one in value
            if not (
                isinstance(one, dict) and str(one.get("name", "")).startswith(_INJECTED)
            )
        ]
    return value


def _without_empty(value: object) -> object:
    if isinstance(value, dict):
        cleaned = {key: _without_empty(one) for key, one in value.items()}
        return {key: one for key, one in cleaned.items() if one or one == "0"}
    if isinstance(value, list):
        return [_without_empty(one) for one in value]
    return value
