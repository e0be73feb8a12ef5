"""`probetui demo`: the built-in lessons, on plain processes unless told otherwise."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from probetui.cli import complete
from probetui.cli.options import (
    autosave_options,
    ending_options,
    freeze_option,
    keep_option,
    kubelet_options,
    output_options,
    play_options,
    program_options,
    pull_option,
    screen_options,
    session_runtime_options,
)
from probetui.cli.parameters import Command, examples, option
from probetui.cli.printing import print_line, print_text

if TYPE_CHECKING:
    from probetui.cli.lessons import Page
    from probetui.cli.plan import Plan

_WIDTH = 78
_SIMULATED = timedelta(minutes=3)
"""How long a lesson is simulated where nobody looks and nobody says how long."""


@click.command(
    "demo",
    cls=Command,
    epilog=examples(
        "probetui demo",
        "probetui demo grace --runtime sim",
        "probetui demo --list",
    ),
)
@click.argument("name", default="liveness", shell_complete=complete.lessons)
@option("--list", "lists", section="Lesson", is_flag=True, help="Print the lessons.")
@session_runtime_options
@pull_option
@keep_option
@freeze_option
@play_options
@kubelet_options
@ending_options
@output_options
@autosave_options
@screen_options
@program_options
def command(name: str, *, lists: bool, **params: Any) -> int:
    """Give the lesson NAME (liveness unless given) and say what there is to watch.

    Its pod runs as plain processes of this machine: it needs no engine and pulls
    nothing. With --runtime docker it runs in containers, with --runtime sim it is
    simulated. On the screen, { and } turn to the lesson before and the next one.
    """
    # Late: `probetui demo --help` and completion need none of it.
    from probetui.cli.lessons import Page, lesson_names, load_lesson  # noqa: PLC0415

    if lists:
        for each in lesson_names():
            text = load_lesson(each).text
            print_line(each)
            print_text(f"{textwrap.indent(textwrap.fill(text, _WIDTH - 2), '  ')}\n")
        return 0
    if params["runtime"] == "auto":
        params["runtime"] = "process"
    page = Page(load_lesson(name))
    while True:
        plan = _plan(page, params)
        # Later still: the list of lessons needs none of it.
        from probetui.cli.compose import run_session  # noqa: PLC0415

        status = run_session(plan)
        if not page.turned:
            return status
        page = Page(load_lesson(page.following))


def _plan(page: Page, params: dict[str, Any]) -> Plan:
    """Return the plan of a lesson, with its script where it is simulated."""
    from probetui.cli.plan import make_plan  # noqa: PLC0415
    from probetui.cli.runtimes import SIM  # noqa: PLC0415
    from probetui.cli.terminal import Form  # noqa: PLC0415
    from probetui.manifest.load import load_manifests  # noqa: PLC0415

    lesson = page.lesson
    manifests = load_manifests([lesson.source])
    manifests.raise_for_errors()
    intro = f"{lesson.name}: {lesson.text}"
    plan = replace(make_plan(manifests, params, intro=intro), page=page)
    if params["runtime"] != SIM:
        return plan
    # Later still: not needed for what is run.
    from probetui.drive.scenario_reader import read_scenario  # noqa: PLC0415

    plan = replace(plan, scenario=read_scenario(lesson.script, manifests.pods))
    limits = (plan.options.until, plan.options.timeout, plan.options.play_for)
    if plan.form is Form.SCREEN or any(each is not None for each in limits):
        return plan
    return replace(plan, options=replace(plan.options, play_for=_SIMULATED))
