"""The records that probetui writes, turned into those of an observation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

Json = Mapping[str, Any]
Record = dict[str, Any]


class Translation:
    """Turns the record of one session about one pod into an observation of it.

    The pod counts as submitted when the session begins. A pod that replaces another
    has the same name and another uid; a generation is all that has one uid.
    """

    def __init__(self, case_id: str) -> None:
        self._case_id = case_id
        self._generations: dict[str, int] = {}
        self._replacements = 0
        self.wall: float | None = None
        """Unix time of t = 0, None before the session has begun."""

    def replaced(self) -> None:
        """Take note that the pod has been replaced: the next new uid is its heir."""
        self._replacements += 1

    def records(self, written: Json) -> Iterator[Record]:
        """Yield what one record of probetui says; most say nothing of interest."""
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
