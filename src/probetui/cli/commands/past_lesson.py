"""The lesson about a store's past, which needs no store."""

from __future__ import annotations

from probetui.cli.commands.fleet import FleetOptions
from probetui.cli.commands.fleet_report import print_fleet
from probetui.cli.lessons import Lesson
from probetui.cli.printing import print_text
from probetui.cluster.prometheus.packaged import DEMO


def print_past(lesson: Lesson) -> int:
    """Print what a lesson asks, the night that it is about, and how to go on."""
    print_text(f"{lesson.text}\n\n")
    status = print_fleet(FleetOptions(prometheus=DEMO, form="plain", quiet=True))
    print_text(f"\nTry {lesson.exercise}\n")
    return status
