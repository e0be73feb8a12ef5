"""Scenario files: YAML to `Scenario`, with file, line and column of each mistake."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from msgspec import Struct

from probetui.drive.scenario.behavior import (
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
    HookDurations,
    Scenario,
    ScheduledCommand,
    ScriptAction,
)
from probetui.durations import parse_duration
from probetui.errors import ManifestError
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from probetui.manifest.problem import Position, Problem, quote, quote_short
from probetui.manifest.yaml.nodes import (
    ListNode,
    MapNode,
    ScalarNode,
    YamlNode,
    is_null,
    join_path,
)
from probetui.manifest.yaml.parser import SourceFile, parse_yaml
from probetui.record.values import parse_session_instant
from probetui.suggestions import nearest, nearest_hint

T = TypeVar("T")

_NEVER = "never"
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
    reader = _ScenarioReader(pods)
    problems = list(parsed.problems)
    scenario = Scenario()
    if len(parsed.documents) > 1:
        position = parsed.documents[1].root.position
        problems.append(Problem(position, "", "only one document is allowed"))
    elif parsed.documents:
        document = parsed.documents[0]
        problems += [
            Problem(
                duplicate.position,
                duplicate.path,
                f"duplicate key {quote(duplicate.key)}",
            )
            for duplicate in document.duplicates
        ]
        scenario = reader.scenario(document.root)
    problems += reader.problems
    if problems:
        problems.sort(key=lambda problem: (problem.line, problem.column))
        raise ManifestError([str(problem) for problem in problems])
    return scenario


class _InstanceScript(Struct, frozen=True):
    life: InstanceBehavior
    hooks: HookDurations


class _ScenarioReader:
    """Turns YAML nodes into values; a mistake is noted and replaced by a default."""

    def __init__(self, pods: Sequence[Pod]) -> None:
        self.problems: list[Problem] = []
        self._pods = tuple(pod.name for pod in pods)
        self._containers = tuple(
            name
            for pod in pods
            for container in pod.all_containers()
            for name in (container.name, f"{pod.name}/{container.name}")
        )

    def scenario(self, root: YamlNode) -> Scenario:
        fields = self._fields(root, "", ("start", "containers", "images", "do"))
        lives: dict[str, tuple[InstanceBehavior, ...]] = {}
        hooks: dict[str, HookDurations] = {}
        for name, node in self._entries(fields.get("containers"), "containers"):
            where = join_path("containers", name)
            self._check_known(node, where, "container", name, self._containers)
            read = self._lives(node, where)
            lives[name] = tuple(script.life for script in read)
            hooks[name] = read[0].hooks if read else HookDurations()
        return Scenario(
            start=self._one(fields, "start", "", self._instant, START),
            lives=lives,
            hooks=hooks,
            images={
                name: self._manner(node, join_path("images", name))
                for name, node in self._entries(fields.get("images"), "images")
            },
            orders=tuple(
                self._order(node, path) for node, path in self._items(fields, "do", "")
            ),
        )

    # -- containers

    def _lives(self, node: YamlNode, path: str) -> list[_InstanceScript]:
        if isinstance(node, ListNode):
            if not node.items:
                self._add_problem(node, path, "is empty, needs at least one instance")
            return [
                self._life(item, join_path(path, index))
                for index, item in enumerate(node.items)
            ]
        return [self._life(node, path)]

    def _life(self, node: YamlNode, path: str) -> _InstanceScript:
        own = ("lasts", "exitCode", "stopsAfter", "stopCode", "preStop", "postStart")
        fields = self._fields(node, path, (*own, *_TYPES))
        answers = {
            kind: phases
            for name, kind in _TYPES.items()
            if (phases := self._one(fields, name, path, self._phases, None)) is not None
        }
        at_once: timedelta | None = NO_TIME
        life = InstanceBehavior(
            lasts=self._one(fields, "lasts", path, self._duration_or_never, None),
            exit_code=self._one(fields, "exitCode", path, self._exit_code, 0),
            stops_after=self._one(
                fields, "stopsAfter", path, self._duration_or_never, at_once
            ),
            stop_code=self._one(fields, "stopCode", path, self._exit_code, 0),
            answers=answers,
        )
        return _InstanceScript(
            life,
            HookDurations(
                self._one(fields, "postStart", path, self._duration, NO_TIME),
                self._one(fields, "preStop", path, self._duration, NO_TIME),
            ),
        )

    # -- results

    def _phases(self, node: YamlNode, path: str) -> ResultPhases:
        repeat = False
        if isinstance(node, MapNode) and node.entry("result") is None:
            fields = self._fields(node, path, ("repeat", "results"))
            repeat = self._one(fields, "repeat", path, self._flag, default=False)
            path = join_path(path, "results")
            node = fields.get("results", node)
        items = node.items if isinstance(node, ListNode) else (node,)
        if not items:
            self._add_problem(node, path, "has no result in it")
            return ResultPhases((ResultPhase(ScriptedResult(ResultName.SUCCESS)),))
        is_list = isinstance(node, ListNode)
        phases = tuple(
            self._spell(item, join_path(path, index) if is_list else path)
            for index, item in enumerate(items)
        )
        if repeat and any(spell.until is not None for spell in phases):
            self._add_problem(
                node, path, "until and repeat cannot be combined; use times"
            )
        return ResultPhases(phases, repeat)

    def _spell(self, node: YamlNode, path: str) -> ResultPhase:
        if isinstance(node, ScalarNode):
            return ResultPhase(ScriptedResult(self._result(node, path)))
        fields = self._fields(
            node, path, ("result", "times", "until", "output", "takes")
        )
        if isinstance(node, MapNode) and "result" not in fields:
            self._add_problem(
                node, path, f"has no result (one of {_listed(ResultName)})"
            )
        result = ScriptedResult(
            self._one(fields, "result", path, self._result, ResultName.SUCCESS),
            self._one(fields, "output", path, self._text, None),
        )
        takes = self._one(fields, "takes", path, self._duration, result.takes)
        until = self._one(fields, "until", path, self._duration, None)
        return ResultPhase(
            ScriptedResult(result.result, result.output, takes),
            self._one(fields, "times", path, self._count, 1 if until is None else None),
            until,
        )

    def _result(self, node: YamlNode, path: str) -> ResultName:
        return self._word(
            node,
            path,
            {result_name.value: result_name for result_name in ResultName},
            ResultName.SUCCESS,
        )

    # -- images and orders

    def _manner(self, node: YamlNode, path: str) -> CallBehavior:
        fields = self._fields(node, path, ("takes", "error"))
        return CallBehavior(
            self._one(fields, "takes", path, self._duration, NO_TIME),
            self._one(fields, "error", path, self._text, ""),
        )

    def _order(self, node: YamlNode, path: str) -> ScheduledCommand:
        fields = self._fields(node, path, ("at", "command", "pod", "container", "type"))
        actions = {action.value: action for action in ScriptAction}
        doing = self._one(
            fields,
            "command",
            path,
            lambda node, where: self._word(node, where, actions, ScriptAction.RESTART),
            None,
        )
        pod = self._one(fields, "pod", path, self._text, "")
        container = self._one(fields, "container", path, self._text, "")
        if pod:
            self._check_known(
                fields["pod"], join_path(path, "pod"), "pod", pod, self._pods
            )
        if container:
            where = join_path(path, "container")
            self._check_known(
                fields["container"], where, "container", container, self._containers
            )
        if "/" in container:
            pod, _, container = container.partition("/")
        kind = self._one(
            fields,
            "type",
            path,
            lambda node, where: self._word(node, where, _TYPES, ProbeType.LIVENESS),
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
                self._add_problem(node, path, f"has no {name}")
        at = self._one(fields, "at", path, self._duration, NO_TIME)
        return ScheduledCommand(at, doing or ScriptAction.RESTART, pod, container, kind)

    # -- what everything is made of

    def _fields(
        self, node: YamlNode, path: str, known: tuple[str, ...]
    ) -> Mapping[str, YamlNode]:
        """Return the fields of a mapping that are not null."""
        if not isinstance(node, MapNode):
            if not is_null(node):
                self._add_problem(
                    node, path, f"must be a mapping of {', '.join(known)}"
                )
            return {}
        for entry in node.entries:
            if entry.key not in known:
                near = nearest(entry.key, known)
                hint = f", did you mean {quote(near)}?" if near else ""
                where = join_path(path, entry.key)
                message = f"there is no such field{hint} (has: {', '.join(known)})"
                self.problems.append(Problem(entry.position, where, message))
        return {
            entry.key: entry.value for entry in node.entries if not is_null(entry.value)
        }

    def _entries(self, node: YamlNode | None, path: str) -> list[tuple[str, YamlNode]]:
        if node is None:
            return []
        if not isinstance(node, MapNode):
            self._add_problem(node, path, "must be a mapping by name")
            return []
        return [(entry.key, entry.value) for entry in node.entries]

    def _items(
        self, fields: Mapping[str, YamlNode], name: str, path: str
    ) -> list[tuple[YamlNode, str]]:
        node = fields.get(name)
        here = join_path(path, name)
        if node is None:
            return []
        if not isinstance(node, ListNode):
            self._add_problem(node, here, "must be a list")
            return []
        return [(item, join_path(here, index)) for index, item in enumerate(node.items)]

    def _one(
        self,
        fields: Mapping[str, YamlNode],
        name: str,
        path: str,
        read: Callable[[YamlNode, str], T],
        default: T,
    ) -> T:
        node = fields.get(name)
        return default if node is None else read(node, join_path(path, name))

    def _duration(self, node: YamlNode, path: str) -> timedelta:
        text = node.text if isinstance(node, ScalarNode) else ""
        length = parse_duration(text)
        if length is None:
            forms = "write 90s, 5m, 250ms or a number of seconds"
            self._add_problem(
                node, path, f"{quote_short(text)} is not a duration; {forms}"
            )
            return NO_TIME
        return length

    def _duration_or_never(self, node: YamlNode, path: str) -> timedelta | None:
        if isinstance(node, ScalarNode) and node.text == _NEVER:
            return None
        return self._duration(node, path)

    def _instant(self, node: YamlNode, path: str) -> datetime:
        text = node.text if isinstance(node, ScalarNode) else ""
        try:
            instant = datetime.fromisoformat(text)
            if instant.tzinfo is None:
                instant = instant.replace(tzinfo=UTC)
            return parse_session_instant(instant.isoformat()).astimezone(UTC)
        except ValueError:
            example = "2026-01-01T00:00:00Z"
            self._add_problem(node, path, f"must be an instant such as {example}")
            return START

    def _count(self, node: YamlNode, path: str) -> int:
        return self._whole(node, path, 1, 10**9)

    def _exit_code(self, node: YamlNode, path: str) -> int:
        return self._whole(node, path, 0, 255)

    def _whole(self, node: YamlNode, path: str, least: int, most: int) -> int:
        value: Any = node.value if isinstance(node, ScalarNode) else None
        if type(value) is not int or not least <= value <= most:
            self._add_problem(node, path, f"must be a number from {least} to {most}")
            return least
        return value

    def _text(self, node: YamlNode, path: str) -> str:
        if not isinstance(node, ScalarNode):
            self._add_problem(node, path, "must be text")
            return ""
        return node.value if isinstance(node.value, str) else node.text

    def _flag(self, node: YamlNode, path: str) -> bool:
        value = node.value if isinstance(node, ScalarNode) else None
        if not isinstance(value, bool):
            self._add_problem(node, path, "must be true or false")
            return False
        return value

    def _word(self, node: YamlNode, path: str, known: Mapping[str, T], default: T) -> T:
        text = node.text if isinstance(node, ScalarNode) else ""
        if text not in known:
            listed = ", ".join(known)
            hint = nearest_hint(text, known)
            message = f"{quote_short(text)} is not one of {listed}{hint}"
            self._add_problem(node, path, message)
            return default
        return known[text]

    def _check_known(
        self, node: YamlNode, path: str, what: str, name: str, known: Sequence[str]
    ) -> None:
        if known and name not in known:
            listed = ", ".join(dict.fromkeys(known))
            message = f"there is no {what} {quote_short(name)} (has: {listed})"
            self._add_problem(node, path, message)

    def _add_problem(self, node: YamlNode, path: str, message: str) -> None:
        position: Position = node.position
        self.problems.append(Problem(position, path, message))


def _listed(names: type[ResultName]) -> str:
    return ", ".join(names)
