"""Shell completion of names in manifests and of values that options take.

Completion must never fail or print: with nothing to offer it offers nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import click
from click.shell_completion import CompletionItem, ShellComplete

from probetui.cli.printing import print_line, print_output
from probetui.errors import ProbetuiError
from probetui.safe_text import safe_line

_COBRA_DIRECTIVES = {"plain": 4, "file": 0, "dir": 16}
"""No files; files; folders only. Source: cobra v1.10.2, completions.go."""


def print_for_kubectl(
    group: click.Group, words: Sequence[str], incomplete: str
) -> None:
    """Print what may stand for an unfinished word, as kubectl reads it from a plugin.

    A line is a word, a tab and what the word does; the last line is the directive.
    Source: plugin_completion.go, kubectl v0.37.1.
    """
    shell = ShellComplete(group, {}, "probetui", "")
    names = shell.get_completions(list(words), incomplete)
    for item in names:
        if item.type == "plain":
            line = f"{item.value}\t{item.help}" if item.help else item.value
            print_output(f"{line}\n".encode())
    # Words of a list and files never stand together.
    kind = next((item.type for item in names if item.type != "plain"), "plain")
    print_line(f":{_COBRA_DIRECTIVES[kind]}")


def complete_containers(
    ctx: click.Context, _option: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the containers of the manifests that the line names so far."""
    names = (container for _, container in _container_names(ctx))
    return _items_starting_with(incomplete, names)


def complete_container_targets(
    ctx: click.Context, _option: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the first part of `CONTAINER=NAME_OR_ID`; the rest is the runtime's.

    A container name that several pods have follows the pod's name.
    """
    names = _container_names(ctx)
    counts = Counter(name for _, name in names)
    words = (
        f"{name}=" if counts[name] == 1 else f"{pod}/{name}=" for pod, name in names
    )
    return _items_starting_with(incomplete, words)


def complete_cases(
    ctx: click.Context, _option: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the cases of the files that the line names so far."""
    from probetui.cli.case_files import case_names
    from probetui.cli.files import read_sources

    names = [name for name in ctx.params.get("filenames") or () if name != "-"]
    try:
        sources = read_sources(names, recursive=False)
        cases = case_names(sources)
    except ProbetuiError:
        return []
    return _items_starting_with(incomplete, cases)


def _container_names(ctx: click.Context) -> list[tuple[str, str]]:
    """Return the names of pods and their containers; nothing is waited for."""
    from probetui.cli.files import is_url
    from probetui.cli.pods import ManifestOptions, load_pods

    def files(parameter: str) -> tuple[str, ...]:
        named = ctx.params.get(parameter) or ()
        return tuple(name for name in named if name != "-" and not is_url(name))

    options = ManifestOptions(
        filenames=files("filenames"),
        static=files("static"),
        recursive=bool(ctx.params.get("recursive")),
    )
    try:
        pods = load_pods(options).pods
    except ProbetuiError:
        return []
    return [
        (pod.name, container.name) for pod in pods for container in pod.all_containers()
    ]


def complete_themes(
    _ctx: click.Context, _option: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the themes of the screen."""
    from probetui.cli.session.appearance import load_user_themes
    from probetui.tui.themes import theme_names

    user_themes, _ = load_user_themes()
    return _items_starting_with(incomplete, theme_names(user_themes))


def complete_lessons(
    _ctx: click.Context, _option: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the built-in lessons."""
    from probetui.cli.lessons import lesson_names

    return _items_starting_with(incomplete, lesson_names())


def complete_sessions(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the saved sessions."""
    from probetui.cli.session.autosave import sessions_folder
    from probetui.cli.session.saved_sessions import THE_LAST, saved_sessions

    try:
        names = [session.name for session in saved_sessions(sessions_folder())]
    except ProbetuiError:
        return []
    return _items_starting_with(incomplete, [*names, *([THE_LAST] if names else [])])


def complete_causes(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete a kind of cause."""
    from probetui.analysis.causes.kinds import CauseKind

    return _items_starting_with(incomplete, CauseKind)


def complete_version_scripts(
    _ctx: click.Context, _option: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the built-in scripts of `versions`, and files."""
    from probetui.drive.version_comparison import built_in_scripts

    scripts = built_in_scripts(())
    files = [CompletionItem(incomplete, type="file")]
    return _items_starting_with(incomplete, scripts) or files


def _items_starting_with(start: str, words: Iterable[str]) -> list[CompletionItem]:
    # A line break would end a word of the answer, and the shell prints what it gets.
    completions = sorted(
        {word for word in words if word.startswith(start) and safe_line(word) == word}
    )
    return [CompletionItem(word) for word in completions]
