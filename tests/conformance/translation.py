"""Translate the records that probetui writes to records of an observation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

Json = Mapping[str, Any]
Record = dict[str, Any]


class Translation:
    """Translates the records of a session with one pod.

    The pod counts as submitted when the session begins. A pod that replaces another
    has the same name and another uid; each uid is a generation.
    """

    def __init__(self, case_id: str) -> None:
        self._case_id = case_id
        self._generations: dict[str, int] = {}
        self._replacements = 0
        self.wall: float | None = None
        """Unix time of t = 0, None before the session has begun."""

    def note_replacement(self) -> None:
        """Note that the pod was replaced: the next new uid is its replacement."""
        self._replacements += 1

    def records(self, written: Json) -> Iterator[Record]:
        """Yield the observation records of one record of probetui; most have none."""
        match written["type"]:
            case "session":
                self.wall = datetime.fromisoformat(written["ts"]).timestamp()
                yield {"t": 0.0, "kind": "submitted", "wall": self.wall} | {
                    "case": self._case_id
                }
            case "event":
                yield {
                    "t": written["t"],
                    "kind": "event",
                    "type": written["eventType"],
                    "reason": written["reason"],
                    "container": written["container"] or None,
                    "message": written["message"],
                }
            case "status":
                yield {
                    "t": written["t"],
                    "kind": "status",
                    "gen": self._generation(written["podUID"]),
                    "status": written["status"],
                }
            case "gone":
                yield {"t": written["t"], "kind": "gone"}
            case _:
                pass

    def _generation(self, uid: str) -> int:
        return self._generations.setdefault(uid, self._replacements)
