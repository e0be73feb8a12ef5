"""Declaration of `probetui export`."""

from pathlib import Path
from typing import Annotated

import click

from probetui.cli.option_groups import Opt, OptionGroup, takes_options
from probetui.cli.options import ProgramOptions, RecordOptions
from probetui.cli.parameters import Cells, ScreenSize, SectionedCommand, examples


class ExportForm(OptionGroup, section="Output"):
    """What is written, and where."""

    output: Annotated[
        Path | None,
        Opt(
            "-o",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Write to this file.",
        ),
    ] = None
    perfetto: Annotated[
        bool,
        Opt(
            help="Write trace events, which Perfetto, chrome://tracing and others "
            "open.",
        ),
    ] = False
    asciicast: Annotated[
        bool,
        Opt(help="Write a cast, which asciinema plays: the screen with its lanes."),
    ] = False


class CastOptions(OptionGroup, section="Cast"):
    """How large a cast is, and how fast."""

    size: Annotated[
        Cells | None,
        Opt(
            type=ScreenSize(),
            metavar="COLUMNSxROWS",
            help="The size of the screen in a cast.  [default: 100x30]",
        ),
    ] = None
    speed: Annotated[
        float | None,
        Opt(
            type=click.FloatRange(min=0, min_open=True),
            metavar="N",
            help="Play a cast at N times real time.  [default: it lasts a minute at "
            "most]",
        ),
    ] = None


class ExportOptions(ExportForm, CastOptions, RecordOptions, ProgramOptions):
    """The options of `export`."""


@click.command(
    "export",
    cls=SectionedCommand,
    epilog=examples(
        "probetui export session.jsonl --perfetto -o trace.json",
        "probetui export session.jsonl --asciicast --size 80x24 -o session.cast",
    ),
)
@click.argument("record", type=click.Path(path_type=Path), required=False)
@takes_options
def export(record: Path | None, options: ExportOptions) -> int:
    """Write a record in the format of another viewer.

    Without RECORD, the last session is used. --perfetto writes a track for each
    container and probe: lives, hooks, grace periods, back-off and equal ticks in a row
    as slices, kills as instants, runs of failures and latencies as counters, and an
    arrow from the failure to the kill. --asciicast replays the record on a screen
    that is not shown, and writes what would be seen, four times a second.
    """
    from probetui.cli.commands.exported_files import write_export

    return write_export(record, options)
