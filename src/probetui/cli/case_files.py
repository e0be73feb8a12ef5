"""Case files of `probetui test`: YAML to cases, with the place of each mistake.

    cases:
      - name: survives a freeze
        pods: [web]                  # or selector: app=web; all pods without either
        runtimes: [sim, process]     # where it runs; --runtime without it
        set: [web.livenessProbe.periodSeconds=2]
        timeout: 5m                  # of the whole case
        script: {containers: ...}    # as of `probetui sim`, or its file; sim only
        expect:
          - ready within 30s
          - holds for 2m
          - restarts == 0
          - after freeze app 20s: killed within 40s, ready again within 15s

`headless/cases/grammar.py` has the expectations and actions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from probetui.analysis.timing import timing_of
from probetui.cli.files import read_file
from probetui.cli.options import RUNTIMES
from probetui.cli.runtimes import AUTO, SIM
from probetui.drive.scenario.reader import read_scenario, read_scenario_node
from probetui.drive.scenario.script import Scenario
from probetui.durations import format_duration
from probetui.errors import ManifestError, UsageError
from probetui.headless.cases.case import ActionKind, CaseAction, CaseStep, Expectation
from probetui.headless.cases.grammar import parse_action, parse_expectation
from probetui.headless.cases.progress import needs_loss
from probetui.headless.condition import Condition, ConditionKind, ConditionWatch
from probetui.k8s.pod import Pod, RestartPolicy
from probetui.k8s.probe import ProbeType
from probetui.k8s.selector import has_labels, parse_selector
from probetui.kubelet_rules import KubeletRules
from probetui.manifest.manifests import LoadedPod
from probetui.manifest.other_formats import is_case_document
from probetui.manifest.problem import Position
from probetui.manifest.yaml.field_reader import FieldReader, duplicate_problems
from probetui.manifest.yaml.nodes import (
    ListNode,
    MapNode,
    ScalarNode,
    YamlNode,
    join_path,
)
from probetui.manifest.yaml.parser import SourceFile, parse_yaml
from probetui.record.wire import DIALECT

_AFTER = "after "
_UNDISTURBING = {ActionKind.WAIT, ActionKind.UNFREEZE, ActionKind.RESTORE_NETWORK}
_START_ALLOWANCE = timedelta(minutes=1)
"""For images and containers, in what is expected of a pod without cases."""

_TEXTS: Mapping[str, Any] = {"type": "array", "items": {"type": "string"}}
_FIELDS: Mapping[str, Any] = MappingProxyType(
    {
        "name": {"type": "string", "description": "Name of the case."},
        "pods": {"description": "Names of its pods; all without it.", **_TEXTS},
        "selector": {
            "type": "string",
            "description": "Labels of its pods, as of `-l`.",
        },
        "runtimes": {
            "type": "array",
            "items": {
                "enum": [*(runtime for runtime in RUNTIMES if runtime != AUTO), SIM]
            },
            "description": "Where it runs, once on each; where --runtime says "
            "without it, and on sim with a script.",
        },
        "set": {"description": "Changes of the manifest, as of `--set`.", **_TEXTS},
        "timeout": {
            "type": ["string", "integer"],
            "description": "Time limit of the whole case: 90s, 5m.",
        },
        "script": {
            "type": ["string", "object"],
            "description": "What containers and probes do on sim, as of `probetui sim "
            "--script`: the file, or what would stand in it.",
        },
        "expect": {
            "type": "array",
            "items": {"type": ["string", "object"]},
            "description": "Expectations, met one after the other: `ready within "
            "30s`, `restarts == 0`, `after kill app: ready within 10s`.",
        },
    }
)
_REQUIRED = ("name", "expect")


class Case(Struct, frozen=True):
    """A case as it was read; `pods` are the keys (namespace, name) of its pods."""

    name: str
    position: Position
    pods: frozenset[tuple[str, str]]
    steps: tuple[CaseStep, ...]
    runtimes: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    timeout: timedelta | None = None
    scenario: Scenario | None = None


def cases_schema() -> dict[str, Any]:
    """Return the JSON Schema of a document with cases."""
    return {
        "$schema": DIALECT,
        "title": "Cases of probetui test",
        "type": "object",
        "required": ["cases"],
        "additionalProperties": False,
        "properties": {
            "cases": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "required": list(_REQUIRED),
                    "additionalProperties": False,
                    "properties": dict(_FIELDS),
                },
            }
        },
    }


def read_cases(sources: Sequence[SourceFile], pods: Sequence[Pod]) -> list[Case]:
    """Return the cases in some files, in their order.

    Args:
        sources: the files; documents of another kind are left out.
        pods: those that the cases may be about.

    Raises:
        ManifestError: has every mistake in them.
    """
    problems: list[str] = []
    cases: list[Case] = []
    names: dict[str, Position] = {}
    for source in sources:
        reader = _CaseReader(source, pods, names)
        for document in parse_yaml(source).documents:
            if is_case_document(document.root):
                reader.problems += duplicate_problems(document)
                cases += reader.cases(document.root)
        in_order = sorted(
            reader.problems, key=lambda problem: (problem.line, problem.column)
        )
        problems += [*map(str, in_order), *reader.script_problems]
    if problems:
        raise ManifestError(problems)
    return cases


def case_names(sources: Sequence[SourceFile]) -> Iterator[str]:
    """Yield the names of all cases in some files, whatever else is wrong in them."""
    for source in sources:
        for document in parse_yaml(source).documents:
            root = document.root
            if not isinstance(root, MapNode) or not is_case_document(root):
                continue
            cases = root.get("cases")
            for node in cases.items if isinstance(cases, ListNode) else ():
                if isinstance(node, MapNode) and (name := node.text("name")):
                    yield name


_UP_WITHOUT_LIVENESS = timedelta(seconds=10)
"""One that crashes as it starts has crashed by then."""


def built_in_cases(loaded: Sequence[LoadedPod], rules: KubeletRules) -> list[Case]:
    """Return what is expected of pods without cases: they start, and stay up.

    One that ends is expected to succeed. The time for that is what the probes allow,
    and a minute for images and containers. It stays up for as long as its liveness
    probes take to find a container that is not well.
    """
    return [
        Case(
            pod_file.pod.name,
            pod_file.position,
            frozenset({(pod_file.pod.namespace, pod_file.pod.name)}),
            (CaseStep(None, tuple(_built_in_expectations(pod_file.pod, rules))),),
        )
        for pod_file in loaded
    ]


def _built_in_expectations(pod: Pod, rules: KubeletRules) -> Iterator[Expectation]:
    budget = _START_ALLOWANCE + max(
        (
            sum(_time_to_success(pod, name, rules), timedelta())
            for name in pod.container_names()
        ),
        default=timedelta(),
    )
    ends = pod.restart_policy is not RestartPolicy.ALWAYS
    word = (
        ConditionKind.SUCCEEDED
        if ends and not any(pod.probes())
        else (ConditionKind.READY)
    )
    stays = (
        ""
        if word is ConditionKind.SUCCEEDED
        else f" for {_whole(_time_up(pod, rules))}"
    )
    for text in (f"{word} within {_whole(budget)}", f"restarts == 0{stays}"):
        yield parse_expectation(text, "", [pod], None)


def _whole(length: timedelta) -> str:
    return f"{math.ceil(length / timedelta(seconds=1))}s"


def _time_up(pod: Pod, rules: KubeletRules) -> timedelta:
    """Return how long a pod without cases has to stay up after it was ready."""
    times = (
        timing.first.then(timing.noticed).most
        for container in pod.all_containers()
        if container.probe(ProbeType.LIVENESS) is not None
        for timing in (timing_of(pod, container, ProbeType.LIVENESS, rules),)
    )
    return max(times, default=_UP_WITHOUT_LIVENESS)


def _time_to_success(pod: Pod, name: str, rules: KubeletRules) -> Iterator[timedelta]:
    container = pod.container(name)
    for probe_type in (ProbeType.STARTUP, ProbeType.READINESS):
        if container is not None and container.probe(probe_type) is not None:
            timing = timing_of(pod, container, probe_type, rules)
            yield (timing.budget or timing.first.then(timing.recovered)).most


class _CaseReader(FieldReader):
    """Reads the cases of one file.

    Attributes:
        script_problems: what is wrong with scripts in files of their own.
    """

    def __init__(
        self, source: SourceFile, pods: Sequence[Pod], names: dict[str, Position]
    ) -> None:
        super().__init__()
        self.script_problems: list[str] = []
        self._source = source
        self._pods = pods
        self._names = names

    def cases(self, root: YamlNode) -> Iterator[Case]:
        fields = self.fields(root, "", ("cases",))
        items = self.items(fields, "cases", "")
        if isinstance(fields.get("cases"), ListNode) and not items:
            self.add_problem(root, "cases", "has no cases")
        for node, path in items:
            yield self._case(node, path)

    def _case(self, node: YamlNode, path: str) -> Case:
        fields = self.fields(node, path, tuple(_FIELDS))
        for name in _REQUIRED if isinstance(node, MapNode) else ():
            if name not in fields:
                self.add_problem(node, path, f"has no {name}")
        name = self.one(fields, "name", path, self._name, "")
        pods = self._case_pods(fields, path)
        scenario = self.one(
            fields,
            "script",
            path,
            lambda node, where: self._script(node, where, pods),
            None,
        )
        runtimes = self._runtimes(fields, path)
        if scenario is not None:
            others = [runtime for runtime in runtimes if runtime != SIM]
            if others:
                message = f"a script is followed on sim only, not on {others[0]}"
                self.add_problem(
                    fields["runtimes"], join_path(path, "runtimes"), message
                )
            runtimes = (SIM,)
        return Case(
            name,
            node.position,
            frozenset((pod.namespace, pod.name) for pod in pods),
            tuple(self._steps(fields, path, pods)),
            runtimes,
            tuple(text for text, _, _ in self._texts(fields, "set", path)),
            self.one(fields, "timeout", path, self.duration, None),
            scenario,
        )

    def _name(self, node: YamlNode, path: str) -> str:
        name = " ".join(self.text(node, path).split())
        if not name:
            self.add_problem(node, path, "is empty")
        elif (first := self._names.setdefault(name, node.position)) != node.position:
            self.add_problem(node, path, f"is the name of another case ({first})")
        return name

    def _texts(
        self, fields: Mapping[str, YamlNode], name: str, path: str
    ) -> Iterator[tuple[str, YamlNode, str]]:
        """Yield the texts of a list, or the one that stands in its place."""
        node = fields.get(name)
        if isinstance(node, ScalarNode):
            where = join_path(path, name)
            yield self.text(node, where), node, where
            return
        for item, where in self.items(fields, name, path):
            yield self.text(item, where), item, where

    def _case_pods(self, fields: Mapping[str, YamlNode], path: str) -> list[Pod]:
        pods = list(self._pods)
        names = [text for text, _, _ in self._texts(fields, "pods", path)]
        known = [pod.name for pod in self._pods]
        for name, item, where in self._texts(fields, "pods", path):
            self.check_known(item, where, "pod", name, known)
        if names:
            pods = [pod for pod in pods if pod.name in names]
        if (node := fields.get("selector")) is not None:
            where = join_path(path, "selector")
            try:
                wanted = parse_selector(self.text(node, where))
            except UsageError as error:
                self.add_problem(node, where, str(error))
            else:
                pods = [pod for pod in pods if has_labels(wanted, pod.labels)]
                if not pods:
                    self.add_problem(node, where, "no pod has these labels")
        # The problem is reported; the rest is read with any pods.
        return pods or list(self._pods)

    def _runtimes(self, fields: Mapping[str, YamlNode], path: str) -> tuple[str, ...]:
        known = {runtime: runtime for runtime in (*RUNTIMES, SIM) if runtime != AUTO}
        runtimes = [
            self.word(node, where, known, SIM)
            for _, node, where in self._texts(fields, "runtimes", path)
        ]
        return tuple(dict.fromkeys(runtimes))

    def _script(
        self, node: YamlNode, path: str, pods: Sequence[Pod]
    ) -> Scenario | None:
        if not isinstance(node, ScalarNode):
            scenario, problems = read_scenario_node(node, path, pods)
            self.problems += problems
            return scenario
        name = self.text(node, path)
        location = self._source.location or self._source.name
        file = Path(location).parent / name
        try:
            return read_scenario(read_file(file), pods)
        except OSError as error:
            self.add_problem(node, path, f"{file}: {error.strerror or error}")
        except ManifestError as error:
            self.script_problems += error.problems
        return None

    # -- expectations

    def _steps(
        self, fields: Mapping[str, YamlNode], path: str, pods: Sequence[Pod]
    ) -> Iterator[CaseStep]:
        state: Condition | None = None
        items = self.items(fields, "expect", path)
        if isinstance(fields.get("expect"), ListNode) and not items:
            self.add_problem(fields["expect"], path, "expect is empty")
        is_first = True
        for node, where in items:
            for key, texts in self._parse_entry(node, where):
                action = None
                if key.startswith(_AFTER):
                    action = self._action(key.removeprefix(_AFTER), node, where, pods)
                    if action and is_first and action.kind is not ActionKind.WAIT:
                        message = "nothing runs yet: expect ready within 30s before"
                        self.add_problem(node, where, f"{action.text}: {message}")
                    key = ""  # noqa: PLW2901  # it is no target
                expectations: list[Expectation] = []
                for text, said in texts:
                    whole = f"{key}: {text}" if key else text
                    expected = self._expectation(whole, said, where, pods, state)
                    if expected is None:
                        continue
                    step = CaseStep(action, tuple(expectations))
                    self._check(step, expected, pods, said, where, is_first=is_first)
                    expectations.append(expected)
                    is_first = False
                    if expected.condition.kind.is_state:
                        state = expected.condition
                is_first = is_first and action is None
                if action is not None or expectations:
                    yield CaseStep(action, tuple(expectations))

    def _parse_entry(
        self, node: YamlNode, path: str
    ) -> Iterator[tuple[str, list[tuple[str, YamlNode]]]]:
        """Yield what stands before a colon, and the texts of expectations behind it."""
        if isinstance(node, MapNode):
            for entry in node.entries:
                where = join_path(path, entry.key)
                written = self._texts({"": entry.value}, "", where)
                texts = [
                    (part, node)
                    for text, node, _ in written
                    for part in _at_commas(text)
                ]
                if not texts:
                    self.add_problem(entry.value, where, "expects nothing")
                yield entry.key.strip(), texts
            return
        text = self.text(node, path).strip()
        key, colon, rest = text.partition(":")
        if not colon and text.startswith(_AFTER):
            self.add_problem(node, path, f'expects nothing; write "{text}: ..."')
            return
        parts = _at_commas(rest if colon else text)
        yield key.strip() if colon else "", [(part, node) for part in parts]

    def _action(
        self, text: str, node: YamlNode, path: str, pods: Sequence[Pod]
    ) -> CaseAction | None:
        try:
            return parse_action(text, str(node.position), pods)
        except UsageError as error:
            self.add_problem(node, path, str(error))
            return None

    def _expectation(
        self,
        text: str,
        node: YamlNode,
        path: str,
        pods: Sequence[Pod],
        state: Condition | None,
    ) -> Expectation | None:
        try:
            return parse_expectation(text, str(node.position), pods, state)
        except UsageError as error:
            self.add_problem(node, path, str(error))
            return None

    def _check(
        self,
        before: CaseStep,
        expected: Expectation,
        pods: Sequence[Pod],
        node: YamlNode,
        path: str,
        *,
        is_first: bool,
    ) -> None:
        """Refuse what can never be met, and what is met whatever happens."""
        watch = ConditionWatch(expected.condition, pods)
        is_limited = expected.relation is None and not expected.is_negated
        if is_limited and watch.impossible:
            self.add_problem(
                node, path, f'"{expected.text}" can never be: {watch.impossible}'
            )
        at_once = expected.within is None and expected.lasting is None
        if is_first and before.action is None and (at_once or expected.is_negated):
            self.add_problem(
                node,
                path,
                f'"{expected.text}" is true before anything has happened: put it after '
                "another expectation, or add for 2m",
            )
        action = before.action
        if (
            action is not None
            and action.kind not in _UNDISTURBING
            and not before.expectations
            and expected.condition.kind.is_state
            and expected.within is not None
            and not expected.is_negated
            and not needs_loss(before, expected)
        ):
            word = expected.condition.kind
            self.add_problem(
                node,
                path,
                f'"{expected.text}" may still be true when {action.kind} begins: write '
                f"{word} again within "
                f"{format_duration(expected.within)}, or {word} for "
                f"{format_duration(expected.within)} if it is not to be lost",
            )


def _at_commas(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
