"""What is typed after `:`, read and completed by the table of actions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from probetui.errors import UsageError
from probetui.k8s.probe import ProbeType
from probetui.suggestions import nearest_hint
from probetui.tui.actions.action import SELECTED_TARGETS, Action, ActionContext, Target
from probetui.tui.actions.container_names import ContainerKey, objects, probe_words


class CommandTarget(Struct, frozen=True):
    """A container, and perhaps one of its probes, named on the command line."""

    container: ContainerKey
    probe: ProbeType | None = None


class TypedCommand(Struct, frozen=True):
    """An action that was asked for by name."""

    action: Action
    words: tuple[str, ...] = ()
    target: CommandTarget | None = None


def parse_command(
    text: str, actions: Iterable[Action], now: ActionContext
) -> TypedCommand:
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
    return TypedCommand(action, words, target)


def completions(
    text: str, actions: Iterable[Action], now: ActionContext
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
        argument.name.upper() if argument.is_required else f"[{argument.name.upper()}]"
        for argument in action.arguments
    ]
    if action.on in SELECTED_TARGETS:
        words.append("[POD/CONTAINER]")
    if action.on is Target.PROBE:
        words.append("[PROBE]")
    return " ".join((action.name, *words))


def _named(text: str, known: Sequence[Action]) -> tuple[Action, str] | None:
    """Return the action with the longest name that the text begins with, and the rest,
    which begins with a space if there is any.

    A beginning of a name that only one action has is enough.
    """
    names = {
        name: action for action in known for name in (action.name, *action.aliases)
    }
    for name in sorted(names, key=len, reverse=True):
        if text == name or text.startswith(f"{name} "):
            return names[name], text[len(name) :]
    word, space, rest = text.partition(" ")
    meant = {
        id(action): action for name, action in names.items() if name.startswith(word)
    }
    if word and len(meant) == 1:
        return meant.popitem()[1], space + rest
    return None


def _unknown(text: str, known: Sequence[Action]) -> str:
    hint = nearest_hint(text, (action.name for action in known))
    return f'no action "{text}" here{hint}'


def _target(
    action: Action, rest: str, now: ActionContext
) -> tuple[CommandTarget | None, list[str]]:
    """Split the name of a container, and of a probe after it, off the words."""
    words = rest.split()
    if action.on not in SELECTED_TARGETS:
        return None, words
    known = objects(now)
    for index, word in enumerate(words):
        if (key := known.get(word) or _of_pod(word, known)) is not None:
            after = words[index + 1 :]
            probe = _probe(after[0], now, key) if after else None
            left = words[:index] + (after if probe is None else after[1:])
            return CommandTarget(key, probe), left
    return None, words


def _of_pod(word: str, known: dict[str, ContainerKey]) -> ContainerKey | None:
    """Return the first container of a pod that is named by itself."""
    of_pod = (key for name, key in known.items() if name.rpartition("/")[0] == word)
    return next(of_pod, None)


def _probe(word: str, now: ActionContext, key: ContainerKey) -> ProbeType | None:
    for probe_word in probe_words(now, key):
        if probe_word.startswith(word.lower()):
            return ProbeType(probe_word.capitalize())
    return None


def _arguments(
    action: Action, words: Sequence[str], now: ActionContext
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
        raise UsageError(f'{signature(action)}: unexpected word "{left[0]}"')


def _checked(word: str, name: str, choices: Sequence[str]) -> str:
    if not choices or word in choices:
        return word
    meant = [choice for choice in choices if choice.startswith(word)]
    if len(meant) == 1:
        return meant[0]
    hint = nearest_hint(word, choices)
    raise UsageError(f'{name}: "{word}" is not one of {", ".join(choices)}{hint}')


def _choices(action: Action, done: Sequence[str], now: ActionContext) -> Iterator[str]:
    """Go through what may stand in the place of the next word."""
    target, left = _target(action, " ".join(done), now)
    if len(left) < len(action.arguments):
        yield from action.arguments[len(left)].words(now)
    if action.on not in SELECTED_TARGETS:
        return
    if target is None:
        yield from objects(now)
    elif action.on is Target.PROBE and target.probe is None:
        yield from probe_words(now, target.container)
