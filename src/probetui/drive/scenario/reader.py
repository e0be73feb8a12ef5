"""Scenario files: YAML to `Scenario`, with file, line and column of each mistake."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from probetui.drive.scenario.behavior import (
    IMMEDIATE,
    NO_TIME,
    CallBehavior,
    InstanceBehavior,
    ResultName,
    ResultPhase,
    ResultPhases,
    ScriptedResult,
)
from probetui.drive.scenario.script import (
    START,
    HookBehavior,
    Scenario,
    ScheduledCommand,
    ScriptAction,
)
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import SocketAddress
from probetui.manifest.problem import Problem
from probetui.manifest.yaml.field_reader import (
    FieldReader,
    duplicate_problems,
    raise_problems,
)
from probetui.manifest.yaml.nodes import (
    ListNode,
    MapNode,
    ScalarNode,
    YamlNode,
    join_path,
)
from probetui.manifest.yaml.parser import SourceFile, parse_yaml
from probetui.record.values import parse_session_instant

_NEVER = "never"
_OF_A_SCENARIO = ("start", "containers", "images", "volumes", "sandbox", "do")
_OF_A_LIFE = (
    *("lasts", "exitCode", "prints", "stopsAfter", "stopCode", "oomKilled"),
    *("createError", "startError", "listens", "preStop", "postStart"),
)
_ENDPOINT = re.compile(r"(?P<address>\[[0-9a-f:]+\]|[0-9.]+):(?P<port>[0-9]{1,5})")
_TYPES = {probe_type.lower(): probe_type for probe_type in ProbeType}


def read_scenario(source: SourceFile, pods: Sequence[Pod] = ()) -> Scenario:
    """Read a scenario.

    Args:
        source: the file.
        pods: those that it is for; if there are any, it may not name others.

    Raises:
        ManifestError: has every mistake in it.
    """
    parsed = parse_yaml(source)
    problems = list(parsed.problems)
    scenario = Scenario()
    if len(parsed.documents) > 1:
        position = parsed.documents[1].root.position
        problems.append(Problem(position, "", "only one document is allowed"))
    elif parsed.documents:
        document = parsed.documents[0]
        problems += duplicate_problems(document)
        scenario, mistakes = read_scenario_node(document.root, "", pods)
        problems += mistakes
    raise_problems(problems)
    return scenario


def read_scenario_node(
    node: YamlNode, path: str, pods: Sequence[Pod] = ()
) -> tuple[Scenario, list[Problem]]:
    """Return the scenario at a path of a file, and every mistake in it."""
    reader = _ScenarioReader(pods)
    return reader.scenario(node, path), reader.problems


class _InstanceScript(Struct, frozen=True):
    life: InstanceBehavior
    hooks: HookBehavior


class _ScenarioReader(FieldReader):
    """Converts YAML nodes to the values of a scenario."""

    def __init__(self, pods: Sequence[Pod]) -> None:
        super().__init__()
        self._pods = tuple(pod.name for pod in pods)
        self._containers = tuple(
            name
            for pod in pods
            for container in pod.all_containers()
            for name in (container.name, f"{pod.name}/{container.name}")
        )

    def scenario(self, root: YamlNode, path: str) -> Scenario:
        fields = self.fields(root, path, _OF_A_SCENARIO)
        lives: dict[str, tuple[InstanceBehavior, ...]] = {}
        hooks: dict[str, HookBehavior] = {}
        place = join_path(path, "containers")
        for name, node in self.entries(fields.get("containers"), place):
            where = join_path(place, name)
            self.check_known(node, where, "container", name, self._containers)
            read = self._lives(node, where)
            lives[name] = tuple(script.life for script in read)
            hooks[name] = read[0].hooks if read else HookBehavior()
        manners = {
            field: {
                name: self._manner(node, join_path(place, name))
                for name, node in self.entries(fields.get(field), place)
            }
            for field in ("images", "volumes")
            for place in [join_path(path, field)]
        }
        return Scenario(
            start=self.one(fields, "start", path, self._instant, START),
            lives=lives,
            hooks=hooks,
            images=manners["images"],
            volumes=manners["volumes"],
            sandbox=self.one(fields, "sandbox", path, self._manner, IMMEDIATE),
            orders=tuple(
                self._order(node, where)
                for node, where in self.items(fields, "do", path)
            ),
        )

    # -- containers

    def _lives(self, node: YamlNode, path: str) -> list[_InstanceScript]:
        if isinstance(node, ListNode):
            if not node.items:
                self.add_problem(node, path, "is empty, needs at least one instance")
            return [
                self._life(item, join_path(path, index))
                for index, item in enumerate(node.items)
            ]
        return [self._life(node, path)]

    def _life(self, node: YamlNode, path: str) -> _InstanceScript:
        fields = self.fields(node, path, (*_OF_A_LIFE, *_TYPES))
        answers = {
            kind: phases
            for name, kind in _TYPES.items()
            if (phases := self.one(fields, name, path, self._phases, None)) is not None
        }
        at_once: timedelta | None = NO_TIME
        life = InstanceBehavior(
            lasts=self.one(fields, "lasts", path, self._duration_or_never, None),
            exit_code=self.one(fields, "exitCode", path, self._exit_code, 0),
            stops_after=self.one(
                fields, "stopsAfter", path, self._duration_or_never, at_once
            ),
            stop_code=self.one(fields, "stopCode", path, self._exit_code, 0),
            oom_killed=self.one(fields, "oomKilled", path, self.flag, default=False),
            create_error=self.one(fields, "createError", path, self.text, ""),
            start_error=self.one(fields, "startError", path, self.text, ""),
            listens=self.one(fields, "listens", path, self._endpoints, None),
            answers=answers,
            prints=self.one(fields, "prints", path, self.text, None),
        )
        return _InstanceScript(
            life,
            HookBehavior(
                self.one(fields, "postStart", path, self._hook, IMMEDIATE),
                self.one(fields, "preStop", path, self._hook, IMMEDIATE),
            ),
        )

    def _hook(self, node: YamlNode, path: str) -> CallBehavior:
        if isinstance(node, MapNode):
            return self._manner(node, path)
        return CallBehavior(self.duration(node, path))

    def _endpoints(self, node: YamlNode, path: str) -> tuple[SocketAddress, ...]:
        items = node.items if isinstance(node, ListNode) else (node,)
        return tuple(
            self._endpoint(item, join_path(path, index))
            for index, item in enumerate(items)
        )

    def _endpoint(self, node: YamlNode, path: str) -> SocketAddress:
        text = node.text if isinstance(node, ScalarNode) else ""
        if (parts := _ENDPOINT.fullmatch(text)) is None:
            self.add_problem(node, path, 'must be ADDRESS:PORT, as "127.0.0.1:8080"')
            return SocketAddress("", 0)
        return SocketAddress(parts["address"].strip("[]"), int(parts["port"]))

    # -- results

    def _phases(self, node: YamlNode, path: str) -> ResultPhases:
        repeat = False
        if isinstance(node, MapNode) and node.entry("result") is None:
            fields = self.fields(node, path, ("repeat", "results"))
            repeat = self.one(fields, "repeat", path, self.flag, default=False)
            path = join_path(path, "results")
            node = fields.get("results", node)
        items = node.items if isinstance(node, ListNode) else (node,)
        if not items:
            self.add_problem(node, path, "has no result in it")
            return ResultPhases((ResultPhase(ScriptedResult(ResultName.SUCCESS)),))
        is_list = isinstance(node, ListNode)
        phases = tuple(
            self._spell(item, join_path(path, index) if is_list else path)
            for index, item in enumerate(items)
        )
        if repeat and any(spell.until is not None for spell in phases):
            self.add_problem(
                node, path, "until and repeat cannot be combined; use times"
            )
        return ResultPhases(phases, repeat)

    def _spell(self, node: YamlNode, path: str) -> ResultPhase:
        if isinstance(node, ScalarNode):
            return ResultPhase(ScriptedResult(self._result(node, path)))
        fields = self.fields(
            node, path, ("result", "times", "until", "output", "takes")
        )
        if isinstance(node, MapNode) and "result" not in fields:
            self.add_problem(
                node, path, f"has no result (one of {', '.join(ResultName)})"
            )
        result = ScriptedResult(
            self.one(fields, "result", path, self._result, ResultName.SUCCESS),
            self.one(fields, "output", path, self.text, None),
        )
        takes = self.one(fields, "takes", path, self.duration, result.takes)
        until = self.one(fields, "until", path, self.duration, None)
        return ResultPhase(
            ScriptedResult(result.result, result.output, takes),
            self.one(fields, "times", path, self.count, 1 if until is None else None),
            until,
        )

    def _result(self, node: YamlNode, path: str) -> ResultName:
        return self.word(
            node,
            path,
            {result_name.value: result_name for result_name in ResultName},
            ResultName.SUCCESS,
        )

    # -- images and orders

    def _manner(self, node: YamlNode, path: str) -> CallBehavior:
        fields = self.fields(node, path, ("takes", "error"))
        return CallBehavior(
            self.one(fields, "takes", path, self.duration, NO_TIME),
            self.one(fields, "error", path, self.text, ""),
        )

    def _order(self, node: YamlNode, path: str) -> ScheduledCommand:
        fields = self.fields(node, path, ("at", "command", "pod", "container", "type"))
        actions = {action.value: action for action in ScriptAction}
        doing = self.one(
            fields,
            "command",
            path,
            lambda node, where: self.word(node, where, actions, ScriptAction.RESTART),
            None,
        )
        pod = self.one(fields, "pod", path, self.text, "")
        container = self.one(fields, "container", path, self.text, "")
        if pod:
            self.check_known(
                fields["pod"], join_path(path, "pod"), "pod", pod, self._pods
            )
        if container:
            where = join_path(path, "container")
            self.check_known(
                fields["container"], where, "container", container, self._containers
            )
        if "/" in container:
            pod, _, container = container.partition("/")
        kind = self.one(
            fields,
            "type",
            path,
            lambda node, where: self.word(node, where, _TYPES, ProbeType.LIVENESS),
            None,
        )
        needed = {
            "command": True,
            "at": True,
            "pod": doing is ScriptAction.DELETE,
            "container": doing in {ScriptAction.RESTART, ScriptAction.PROBE},
            "type": doing is ScriptAction.PROBE,
        }
        for name, is_needed in needed.items():
            if is_needed and name not in fields and isinstance(node, MapNode):
                self.add_problem(node, path, f"has no {name}")
        at = self.one(fields, "at", path, self.duration, NO_TIME)
        return ScheduledCommand(at, doing or ScriptAction.RESTART, pod, container, kind)

    # -- values of its own

    def _duration_or_never(self, node: YamlNode, path: str) -> timedelta | None:
        if isinstance(node, ScalarNode) and node.text == _NEVER:
            return None
        return self.duration(node, path)

    def _instant(self, node: YamlNode, path: str) -> datetime:
        text = node.text if isinstance(node, ScalarNode) else ""
        try:
            instant = datetime.fromisoformat(text)
            if instant.tzinfo is None:
                instant = instant.replace(tzinfo=UTC)
            return parse_session_instant(instant.isoformat()).astimezone(UTC)
        except ValueError:
            example = "2026-01-01T00:00:00Z"
            self.add_problem(node, path, f"must be an instant such as {example}")
            return START

    def _exit_code(self, node: YamlNode, path: str) -> int:
        return self.whole(node, path, 0, 255)
