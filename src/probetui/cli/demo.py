"""`probetui demo`: a built-in lesson, on plain processes unless told otherwise."""

from __future__ import annotations

import textwrap
from typing import Any

import click

from probetui.cli import complete
from probetui.cli.options import (
    autosave_option,
    ending_options,
    keep_option,
    kubelet_options,
    output_options,
    play_options,
    program_options,
    pull_option,
    screen_options,
    session_runtime_options,
)
from probetui.cli.parameters import Command, option

_WIDTH = 78


@click.command("demo", cls=Command)
@click.argument("name", default="liveness", shell_complete=complete.lessons)
@option("--list", "lists", section="Lesson", is_flag=True, help="Print the lessons.")
@session_runtime_options
@pull_option
@keep_option
@play_options
@kubelet_options
@ending_options
@output_options
@autosave_option
@screen_options
@program_options
def command(name: str, *, lists: bool, **params: Any) -> int:
    """Run the lesson NAME (liveness unless given) and say what there is to watch.

    Its pod runs as plain processes of this machine: it needs no engine and pulls
    nothing. With --runtime docker it runs in containers.
    """
    # Late: `probetui demo --help` and completion need none of it.
    from probetui.cli.lessons import lesson_names, load_lesson  # noqa: PLC0415

    if lists:
        for each in lesson_names():
            text = load_lesson(each).text
            click.echo(each)
            click.echo(textwrap.indent(textwrap.fill(text, _WIDTH - 2), "  "))
        return 0
    lesson = load_lesson(name)
    # Later still: the list of lessons needs none of it.
    from probetui.cli.compose import run_session  # noqa: PLC0415
    from probetui.cli.plan import make_plan  # noqa: PLC0415
    from probetui.manifest.load import load_manifests  # noqa: PLC0415

    if params["runtime"] == "auto":
        params["runtime"] = "process"
    manifests = load_manifests([lesson.source])
    manifests.raise_for_errors()
    return run_session(make_plan(manifests, params, intro=f"{name}: {lesson.text}"))
