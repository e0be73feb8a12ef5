"""What is typed after `:`, read and completed by the table of actions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from probetui.errors import UsageError
from probetui.k8s.probe import ProbeType
from probetui.tui.action import CHOSEN, Action, Circumstances, On
from probetui.tui.container_keys import ContainerKey
from probetui.tui.objects import objects, probe_words


@dataclass(frozen=True, slots=True)
class Target:
    """A container, and perhaps one of its probes, named on the command line."""

    container: ContainerKey
    probe: ProbeType | None = None


@dataclass(frozen=True, slots=True)
class Typed:
    """An action that was asked for by name."""

    action: Action
    words: tuple[str, ...] = ()
    target: Target | None = None


def read_line(text: str, actions: Iterable[Action], now: Circumstances) -> Typed:
    """Return what a line asks for.

    Args:
        text: what was typed, without the colon.
        actions: those that may be named.
        now: what names of containers and choices are looked up in.

    Raises:
        UsageError: no action has that name, or its words cannot be used.
    """
    known = tuple(actions)
    found = _named(text, known)
    if found is None:
        raise UsageError(_unknown(text, known))
    action, rest = found
    target, left = _target(action, rest, now)
    words = tuple(_arguments(action, left, now))
    return Typed(action, words, target)


def completions(
    text: str, actions: Iterable[Action], now: Circumstances
) -> Iterator[tuple[str, str]]:
    """Go through the whole lines that a beginning may become, and a word on each."""
    known = tuple(actions)
    for action in known:
        if action.name.startswith(text.lower()):
            yield action.name, action.tooltip
    found = _named(text, known)
    if found is None or not found[1]:
        return
    action, rest = found
    *done, last = rest[1:].split(" ")
    before = text[: len(text) - len(last)]
    for choice in _choices(action, done, now):
        if choice.lower().startswith(last.lower()) and choice != last:
            yield before + choice, action.tooltip


def signature(action: Action) -> str:
    """Return an action's name and the words that may follow it, in short."""
    words = [
        each.name.upper() if each.is_required else f"[{each.name.upper()}]"
        for each in action.arguments
    ]
    if action.on in CHOSEN:
        words.append("[POD/CONTAINER]")
    if action.on is On.PROBE:
        words.append("[PROBE]")
    return " ".join((action.name, *words))


def _named(text: str, known: Sequence[Action]) -> tuple[Action, str] | None:
    """Return the action with the longest name that the text begins with, and the rest,
    which begins with a space if there is any.

    A beginning of a name that only one action has is enough.
    """
    names = {name: each for each in known for name in (each.name, *each.aliases)}
    for name in sorted(names, key=len, reverse=True):
        if text == name or text.startswith(f"{name} "):
            return names[name], text[len(name) :]
    word, space, rest = text.partition(" ")
    meant = {id(each): each for name, each in names.items() if name.startswith(word)}
    if word and len(meant) == 1:
        return meant.popitem()[1], space + rest
    return None


def _unknown(text: str, known: Sequence[Action]) -> str:
    near = get_close_matches(text.lower(), [each.name for each in known], 1, 0.5)
    hint = f" (nearest: {near[0]})" if near else ""
    return f'no action "{text}" here{hint}'


def _target(
    action: Action, rest: str, now: Circumstances
) -> tuple[Target | None, list[str]]:
    """Take the name of a container, and of a probe after it, out of the words."""
    words = rest.split()
    if action.on not in CHOSEN:
        return None, words
    known = objects(now)
    for index, word in enumerate(words):
        if (key := known.get(word) or _of_pod(word, known)) is not None:
            after = words[index + 1 :]
            probe = _probe(after[0], now, key) if after else None
            left = words[:index] + (after if probe is None else after[1:])
            return Target(key, probe), left
    return None, words


def _of_pod(word: str, known: dict[str, ContainerKey]) -> ContainerKey | None:
    """Return the first container of a pod that is named by itself."""
    of_pod = (key for name, key in known.items() if name.rpartition("/")[0] == word)
    return next(of_pod, None)


def _probe(word: str, now: Circumstances, key: ContainerKey) -> ProbeType | None:
    for each in probe_words(now, key):
        if each.startswith(word.lower()):
            return ProbeType(each.capitalize())
    return None


def _arguments(
    action: Action, words: Sequence[str], now: Circumstances
) -> Iterator[str]:
    """Check words against the action's arguments, in order."""
    left = list(words)
    for argument in action.arguments:
        if not left:
            if argument.is_required:
                raise UsageError(f"{signature(action)}: {argument.name} is missing")
            return
        word = " ".join(left) if argument.takes_rest else left[0]
        left = [] if argument.takes_rest else left[1:]
        yield _checked(word, argument.name, argument.words(now))
    if left:
        raise UsageError(f'{signature(action)}: "{left[0]}" is one word too many')


def _checked(word: str, name: str, choices: Sequence[str]) -> str:
    if not choices or word in choices:
        return word
    meant = [each for each in choices if each.startswith(word)]
    if len(meant) == 1:
        return meant[0]
    near = get_close_matches(word, choices, 1, 0.5)
    hint = f" (nearest: {near[0]})" if near else ""
    raise UsageError(f'{name}: "{word}" is none of {", ".join(choices)}{hint}')


def _choices(action: Action, done: Sequence[str], now: Circumstances) -> Iterator[str]:
    """Go through what may stand in the place of the next word."""
    target, left = _target(action, " ".join(done), now)
    if len(left) < len(action.arguments):
        yield from action.arguments[len(left)].words(now)
    if action.on not in CHOSEN:
        return
    if target is None:
        yield from objects(now)
    elif action.on is On.PROBE and target.probe is None:
        yield from probe_words(now, target.container)
