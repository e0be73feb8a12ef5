"""`probetui replay`: a recorded session, seen again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from probetui.cli.options import (
    ending_options,
    output_options,
    play_options,
    program_options,
    screen_options,
)
from probetui.cli.parameters import Command, examples


@click.command(
    "replay",
    cls=Command,
    epilog=examples(
        "probetui replay",
        "probetui replay session.jsonl --time-scale 4",
    ),
)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@play_options
@ending_options
@output_options
@screen_options
@program_options
def command(*, file: Path | None, **params: Any) -> int:
    """Play the record FILE again; without one, the last session.

    The screens are those of the session: seek, step back, go faster or slower.
    Without a screen it is printed as fast as it can be; --timeout is in its own time.
    """
    # Late: `probetui replay --help` and completion need none of it.
    from probetui.cli.autosave import last_session_to_play  # noqa: PLC0415
    from probetui.cli.plan import make_replay_plan  # noqa: PLC0415
    from probetui.cli.playing import play_recording  # noqa: PLC0415
    from probetui.drive.replay import RecordedCourse  # noqa: PLC0415
    from probetui.drive.tape import Tape  # noqa: PLC0415
    from probetui.presentation.api_json import pod_status_to_json  # noqa: PLC0415

    tape = Tape(file or last_session_to_play())
    course = RecordedCourse(tape, pod_status_to_json)
    plan = make_replay_plan(tape.pods(), params, tape.session.options)
    return play_recording(plan, course, tape.session.runtime)
