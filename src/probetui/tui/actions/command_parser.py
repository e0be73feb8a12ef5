"""Parse and complete the command line that `:` opens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from probetui.errors import UsageError
from probetui.k8s.probe import ProbeType
from probetui.suggestions import nearest_hint
from probetui.tui.actions.action import SELECTED_TARGETS, Action, ActionContext, Target
from probetui.tui.actions.container_names import ContainerKey, objects, probe_words


class CommandTarget(Struct, frozen=True):
    """A container named on the command line, and one of its probes if given."""

    container: ContainerKey
    probe: ProbeType | None = None


class TypedCommand(Struct, frozen=True):
    """An action with its arguments and target, as typed."""

    action: Action
    words: tuple[str, ...] = ()
    target: CommandTarget | None = None


def parse_command(
    text: str, actions: Iterable[Action], now: ActionContext
) -> TypedCommand:
    """Parse a command line.

    Args:
        text: what was typed, without the colon.
        actions: the actions that may be named.
        now: gives the names of containers and the valid arguments.

    Raises:
        UsageError: the action is unknown, or its arguments are invalid.
    """
    known = tuple(actions)
    named = _split_name(text, known)
    if named is None:
        hint = nearest_hint(text, (action.name for action in known))
        raise UsageError(f'no action "{text}" here{hint}')
    action, rest = named
    target, words = _split_target(action, rest, now)
    return TypedCommand(action, tuple(_check_arguments(action, words, now)), target)


def completions(
    text: str, actions: Iterable[Action], now: ActionContext
) -> Iterator[tuple[str, str]]:
    """Yield the lines that `text` can be completed to, each with a description."""
    known = tuple(actions)
    for action in known:
        if action.name.startswith(text.lower()):
            yield action.name, action.tooltip
    named = _split_name(text, known)
    if named is None or not named[1]:
        return
    action, rest = named
    *done, last = rest[1:].split(" ")
    before = text[: len(text) - len(last)]
    for choice in _next_words(action, done, now):
        if choice.lower().startswith(last.lower()) and choice != last:
            yield before + choice, action.tooltip


def signature(action: Action) -> str:
    """Format the usage of an action: `inject [RESULT] [TIMES] [POD/CONTAINER]`."""
    words = [
        argument.name.upper() if argument.is_required else f"[{argument.name.upper()}]"
        for argument in action.arguments
    ]
    if action.on in SELECTED_TARGETS:
        words.append("[POD/CONTAINER]")
    if action.on is Target.PROBE:
        words.append("[PROBE]")
    return " ".join((action.name, *words))


def _split_name(text: str, known: Sequence[Action]) -> tuple[Action, str] | None:
    """Split an action's name off a text; the longest name wins.

    An unambiguous prefix of a name is enough. The rest begins with a space, or is
    empty. None if no name matches.
    """
    names = {
        name: action for action in known for name in (action.name, *action.aliases)
    }
    for name in sorted(names, key=len, reverse=True):
        if text == name or text.startswith(f"{name} "):
            return names[name], text[len(name) :]
    word, space, rest = text.partition(" ")
    matching = {
        id(action): action for name, action in names.items() if name.startswith(word)
    }
    if word and len(matching) == 1:
        return matching.popitem()[1], space + rest
    return None


def _split_target(
    action: Action, rest: str, now: ActionContext
) -> tuple[CommandTarget | None, list[str]]:
    """Split the target off the words; return it, or None, and the other words."""
    words = rest.split()
    if action.on not in SELECTED_TARGETS:
        return None, words
    known = objects(now)
    for index, word in enumerate(words):
        if (key := known.get(word) or _first_container(word, known)) is not None:
            after = words[index + 1 :]
            probe = _probe(after[0], now, key) if after else None
            others = words[:index] + (after if probe is None else after[1:])
            return CommandTarget(key, probe), others
    return None, words


def _first_container(
    pod_name: str, known: dict[str, ContainerKey]
) -> ContainerKey | None:
    keys = (key for name, key in known.items() if name.rpartition("/")[0] == pod_name)
    return next(keys, None)


def _probe(word: str, now: ActionContext, key: ContainerKey) -> ProbeType | None:
    for probe_word in probe_words(now, key):
        if probe_word.startswith(word.lower()):
            return ProbeType(probe_word.capitalize())
    return None


def _check_arguments(
    action: Action, words: Sequence[str], now: ActionContext
) -> Iterator[str]:
    """Yield the arguments of an action, completed if they were abbreviated."""
    rest = list(words)
    for argument in action.arguments:
        if not rest:
            if argument.is_required:
                raise UsageError(f"{signature(action)}: {argument.name} is missing")
            return
        word = " ".join(rest) if argument.takes_rest else rest[0]
        rest = [] if argument.takes_rest else rest[1:]
        yield _check_argument(word, argument.name, argument.words(now))
    if rest:
        raise UsageError(f'{signature(action)}: unexpected word "{rest[0]}"')


def _check_argument(word: str, name: str, choices: Sequence[str]) -> str:
    if not choices or word in choices:
        return word
    matching = [choice for choice in choices if choice.startswith(word)]
    if len(matching) == 1:
        return matching[0]
    hint = nearest_hint(word, choices)
    raise UsageError(f'{name}: "{word}" is not one of {", ".join(choices)}{hint}')


def _next_words(
    action: Action, done: Sequence[str], now: ActionContext
) -> Iterator[str]:
    """Yield the valid next words after those in `done`."""
    target, words = _split_target(action, " ".join(done), now)
    if len(words) < len(action.arguments):
        yield from action.arguments[len(words)].words(now)
    if action.on not in SELECTED_TARGETS:
        return
    if target is None:
        yield from objects(now)
    elif action.on is Target.PROBE and target.probe is None:
        yield from probe_words(now, target.container)
