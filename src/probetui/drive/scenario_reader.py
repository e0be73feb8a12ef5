"""Scripts read from YAML, with every mistake said by file, line and column."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeVar

from probetui.drive.scenario import START, Doing, HookTimes, Order, Scenario
from probetui.drive.scripted_lives import NO_TIME, Life, Manner, Spell, Spells
from probetui.drive.scripted_results import ResultName, ScriptedResult
from probetui.drive.value_json import plausible_instant
from probetui.errors import ManifestError
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from probetui.manifest.nodes import ListNode, MapNode, Node, ScalarNode, is_null, join
from probetui.manifest.parse import Source, parse
from probetui.manifest.problem import Position, Problem, clipped, quote

T = TypeVar("T")

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)", re.ASCII)
_UNITS = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
}
_LONGEST = timedelta(days=3650)
_NEVER = "never"
_TYPES = {each.lower(): each for each in ProbeType}


def read_scenario(source: Source, pods: Sequence[Pod] = ()) -> Scenario:
    """Read a script.

    Args:
        source: the file.
        pods: those it is for; if there are any, it may name no others.

    Raises:
        ManifestError: what is wrong with it, all of it.
    """
    parsed = parse(source)
    reader = _Reader(pods)
    problems = list(parsed.problems)
    scenario = Scenario()
    if len(parsed.documents) > 1:
        position = parsed.documents[1].root.position
        problems.append(Problem(position, "", "a script is one document, here is more"))
    elif parsed.documents:
        document = parsed.documents[0]
        problems += [
            Problem(each.position, each.path, f"{quote(each.key)} is there twice")
            for each in document.duplicates
        ]
        scenario = reader.scenario(document.root)
    problems += reader.problems
    if problems:
        problems.sort(key=lambda each: (each.line, each.column))
        raise ManifestError([str(each) for each in problems])
    return scenario


class _Life(NamedTuple):
    life: Life
    hooks: HookTimes


class _Reader:
    """Turns nodes into values; what is wrong is noted, and a default goes on."""

    def __init__(self, pods: Sequence[Pod]) -> None:
        self.problems: list[Problem] = []
        self._pods = tuple(each.name for each in pods)
        self._containers = tuple(
            name
            for pod in pods
            for each in pod.all_containers()
            for name in (each.name, f"{pod.name}/{each.name}")
        )

    def scenario(self, root: Node) -> Scenario:
        fields = self._fields(root, "", ("start", "containers", "images", "do"))
        lives: dict[str, tuple[Life, ...]] = {}
        hooks: dict[str, HookTimes] = {}
        for name, node in self._entries(fields.get("containers"), "containers"):
            where = join("containers", name)
            self._check_known(node, where, "container", name, self._containers)
            read = self._lives(node, where)
            lives[name] = tuple(each.life for each in read)
            hooks[name] = read[0].hooks if read else HookTimes()
        return Scenario(
            start=self._one(fields, "start", "", self._instant, START),
            lives=lives,
            hooks=hooks,
            images={
                name: self._manner(node, join("images", name))
                for name, node in self._entries(fields.get("images"), "images")
            },
            orders=tuple(
                self._order(node, path) for node, path in self._items(fields, "do", "")
            ),
        )

    # -- containers

    def _lives(self, node: Node, path: str) -> list[_Life]:
        if isinstance(node, ListNode):
            if not node.items:
                self._complain(node, path, "has no life in it")
            return [
                self._life(each, join(path, index))
                for index, each in enumerate(node.items)
            ]
        return [self._life(node, path)]

    def _life(self, node: Node, path: str) -> _Life:
        own = ("lasts", "exitCode", "stopsAfter", "stopCode", "preStop", "postStart")
        fields = self._fields(node, path, (*own, *_TYPES))
        answers = {
            kind: spells
            for name, kind in _TYPES.items()
            if (spells := self._one(fields, name, path, self._spells, None)) is not None
        }
        at_once: timedelta | None = NO_TIME
        life = Life(
            lasts=self._one(fields, "lasts", path, self._duration_or_never, None),
            exit_code=self._one(fields, "exitCode", path, self._exit_code, 0),
            stops_after=self._one(
                fields, "stopsAfter", path, self._duration_or_never, at_once
            ),
            stop_code=self._one(fields, "stopCode", path, self._exit_code, 0),
            answers=answers,
        )
        return _Life(
            life,
            HookTimes(
                self._one(fields, "postStart", path, self._duration, NO_TIME),
                self._one(fields, "preStop", path, self._duration, NO_TIME),
            ),
        )

    # -- results

    def _spells(self, node: Node, path: str) -> Spells:
        repeat = False
        if isinstance(node, MapNode) and node.entry("result") is None:
            fields = self._fields(node, path, ("repeat", "results"))
            repeat = self._one(fields, "repeat", path, self._flag, default=False)
            path = join(path, "results")
            node = fields.get("results", node)
        items = node.items if isinstance(node, ListNode) else (node,)
        if not items:
            self._complain(node, path, "has no result in it")
            return Spells((Spell(ScriptedResult(ResultName.SUCCESS)),))
        is_list = isinstance(node, ListNode)
        spells = tuple(
            self._spell(each, join(path, index) if is_list else path)
            for index, each in enumerate(items)
        )
        if repeat and any(each.until is not None for each in spells):
            self._complain(node, path, "until and repeat do not go together, use times")
        return Spells(spells, repeat)

    def _spell(self, node: Node, path: str) -> Spell:
        if isinstance(node, ScalarNode):
            return Spell(ScriptedResult(self._result(node, path)))
        fields = self._fields(
            node, path, ("result", "times", "until", "output", "takes")
        )
        if isinstance(node, MapNode) and "result" not in fields:
            self._complain(node, path, f"has no result (one of {_listed(ResultName)})")
        result = ScriptedResult(
            self._one(fields, "result", path, self._result, ResultName.SUCCESS),
            self._one(fields, "output", path, self._text, None),
        )
        takes = self._one(fields, "takes", path, self._duration, result.takes)
        until = self._one(fields, "until", path, self._duration, None)
        return Spell(
            ScriptedResult(result.result, result.output, takes),
            self._one(fields, "times", path, self._count, 1 if until is None else None),
            until,
        )

    def _result(self, node: Node, path: str) -> ResultName:
        return self._word(
            node, path, {each.value: each for each in ResultName}, ResultName.SUCCESS
        )

    # -- images and orders

    def _manner(self, node: Node, path: str) -> Manner:
        fields = self._fields(node, path, ("takes", "error"))
        return Manner(
            self._one(fields, "takes", path, self._duration, NO_TIME),
            self._one(fields, "error", path, self._text, ""),
        )

    def _order(self, node: Node, path: str) -> Order:
        fields = self._fields(node, path, ("at", "command", "pod", "container", "type"))
        doings = {each.value: each for each in Doing}
        doing = self._one(
            fields,
            "command",
            path,
            lambda each, where: self._word(each, where, doings, Doing.RESTART),
            None,
        )
        pod = self._one(fields, "pod", path, self._text, "")
        container = self._one(fields, "container", path, self._text, "")
        if pod:
            self._check_known(fields["pod"], join(path, "pod"), "pod", pod, self._pods)
        if container:
            where = join(path, "container")
            self._check_known(
                fields["container"], where, "container", container, self._containers
            )
        if "/" in container:
            pod, _, container = container.partition("/")
        kind = self._one(
            fields,
            "type",
            path,
            lambda each, where: self._word(each, where, _TYPES, ProbeType.LIVENESS),
            None,
        )
        needed = {
            "command": True,
            "at": True,
            "pod": doing is Doing.DELETE,
            "container": doing in {Doing.RESTART, Doing.PROBE},
            "type": doing is Doing.PROBE,
        }
        for name, is_needed in needed.items():
            if is_needed and name not in fields and isinstance(node, MapNode):
                self._complain(node, path, f"has no {name}")
        at = self._one(fields, "at", path, self._duration, NO_TIME)
        return Order(at, doing or Doing.RESTART, pod, container, kind)

    # -- what everything is made of

    def _fields(
        self, node: Node, path: str, known: tuple[str, ...]
    ) -> Mapping[str, Node]:
        """Return the fields of a mapping that say something."""
        if not isinstance(node, MapNode):
            if not is_null(node):
                self._complain(node, path, f"must be a mapping of {', '.join(known)}")
            return {}
        for each in node.entries:
            if each.key not in known:
                near = get_close_matches(each.key, known, n=1, cutoff=0.5)
                hint = f", did you mean {quote(near[0])}?" if near else ""
                where = join(path, each.key)
                message = f"there is no such field{hint} (has: {', '.join(known)})"
                self.problems.append(Problem(each.position, where, message))
        return {
            each.key: each.value for each in node.entries if not is_null(each.value)
        }

    def _entries(self, node: Node | None, path: str) -> list[tuple[str, Node]]:
        if node is None:
            return []
        if not isinstance(node, MapNode):
            self._complain(node, path, "must be a mapping by name")
            return []
        return [(each.key, each.value) for each in node.entries]

    def _items(
        self, fields: Mapping[str, Node], name: str, path: str
    ) -> list[tuple[Node, str]]:
        node = fields.get(name)
        here = join(path, name)
        if node is None:
            return []
        if not isinstance(node, ListNode):
            self._complain(node, here, "must be a list")
            return []
        return [(each, join(here, index)) for index, each in enumerate(node.items)]

    def _one(
        self,
        fields: Mapping[str, Node],
        name: str,
        path: str,
        read: Callable[[Node, str], T],
        default: T,
    ) -> T:
        node = fields.get(name)
        return default if node is None else read(node, join(path, name))

    def _duration(self, node: Node, path: str) -> timedelta:
        text = node.text if isinstance(node, ScalarNode) else ""
        length = _length(text)
        if length is None:
            forms = "write 90s, 5m, 250ms or a number of seconds"
            self._complain(node, path, f"{clipped(text)} is not a duration; {forms}")
            return NO_TIME
        return length

    def _duration_or_never(self, node: Node, path: str) -> timedelta | None:
        if isinstance(node, ScalarNode) and node.text == _NEVER:
            return None
        return self._duration(node, path)

    def _instant(self, node: Node, path: str) -> datetime:
        text = node.text if isinstance(node, ScalarNode) else ""
        try:
            instant = datetime.fromisoformat(text)
            if instant.tzinfo is None:
                instant = instant.replace(tzinfo=UTC)
            return plausible_instant(instant.isoformat()).astimezone(UTC)
        except ValueError:
            example = "2026-01-01T00:00:00Z"
            self._complain(node, path, f"must be an instant such as {example}")
            return START

    def _count(self, node: Node, path: str) -> int:
        return self._whole(node, path, 1, 10**9)

    def _exit_code(self, node: Node, path: str) -> int:
        return self._whole(node, path, 0, 255)

    def _whole(self, node: Node, path: str, least: int, most: int) -> int:
        value: Any = node.value if isinstance(node, ScalarNode) else None
        if type(value) is not int or not least <= value <= most:
            self._complain(node, path, f"must be a number from {least} to {most}")
            return least
        return value

    def _text(self, node: Node, path: str) -> str:
        if not isinstance(node, ScalarNode):
            self._complain(node, path, "must be text")
            return ""
        return node.value if isinstance(node.value, str) else node.text

    def _flag(self, node: Node, path: str) -> bool:
        value = node.value if isinstance(node, ScalarNode) else None
        if not isinstance(value, bool):
            self._complain(node, path, "must be true or false")
            return False
        return value

    def _word(self, node: Node, path: str, known: Mapping[str, T], default: T) -> T:
        text = node.text if isinstance(node, ScalarNode) else ""
        if text not in known:
            listed = ", ".join(known)
            near = get_close_matches(text, tuple(known), n=1, cutoff=0.5)
            hint = f" (nearest: {near[0]})" if near else ""
            message = f"{clipped(text)} is not one of {listed}{hint}"
            self._complain(node, path, message)
            return default
        return known[text]

    def _check_known(
        self, node: Node, path: str, what: str, name: str, known: Sequence[str]
    ) -> None:
        if known and name not in known:
            listed = ", ".join(dict.fromkeys(known))
            message = f"there is no {what} {clipped(name)} (has: {listed})"
            self._complain(node, path, message)

    def _complain(self, node: Node, path: str, message: str) -> None:
        position: Position = node.position
        self.problems.append(Problem(position, path, message))


def _length(text: str) -> timedelta | None:
    """Read a length of time, None for what is none."""
    if re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII):
        text += "s"
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    try:
        length = sum((float(each) * _UNITS[unit] for each, unit in parts), NO_TIME)
    except OverflowError:
        return None
    return length if length <= _LONGEST else None


def _listed(names: type[ResultName]) -> str:
    return ", ".join(names)
