"""What a shell is offered for words that only the manifests or the program know.

Completion must never fail or print: with nothing to offer it offers nothing. What is
asked is imported only then; a shell waits for the answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from probetui.errors import ProbetuiError
from probetui.safe_text import safe_line


def containers(
    ctx: click.Context, _option: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the containers of the manifests that the line names so far."""
    return _beginning_with(incomplete, (name for _, name in _containers(ctx)))


def container_words(
    ctx: click.Context, _option: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the beginnings of `CONTAINER=NAME_OR_ID`; what follows is the runtime's.

    A name that several pods have gets the pod's before it.
    """
    found = _containers(ctx)
    pods = Counter(name for _, name in found)
    words = (f"{name}=" if pods[name] == 1 else f"{pod}/{name}=" for pod, name in found)
    return _beginning_with(incomplete, words)


def _containers(ctx: click.Context) -> list[tuple[str, str]]:
    """Return pod and container names."""
    from probetui.cli.pods import ManifestOptions, load_pods  # noqa: PLC0415

    options = ManifestOptions(
        filenames=tuple(
            each for each in ctx.params.get("filenames") or () if each != "-"
        ),
        recursive=bool(ctx.params.get("recursive")),
    )
    try:
        pods = load_pods(options).pods
    except ProbetuiError:
        return []
    return [(pod.name, each.name) for pod in pods for each in pod.all_containers()]


def themes(
    _ctx: click.Context, _option: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the themes of the screen."""
    from probetui.cli.looks import user_themes  # noqa: PLC0415
    from probetui.tui.themes import theme_names  # noqa: PLC0415

    return _beginning_with(incomplete, theme_names(user_themes()[0]))


def lessons(
    _ctx: click.Context, _option: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the built-in lessons."""
    from probetui.cli.lessons import lesson_names  # noqa: PLC0415

    return _beginning_with(incomplete, lesson_names())


def _beginning_with(start: str, words: Iterable[str]) -> list[CompletionItem]:
    # A line break would end a word of the answer, and the shell prints what it gets.
    found = sorted(
        {word for word in words if word.startswith(start) and safe_line(word) == word}
    )
    return [CompletionItem(word) for word in found]
