"""How far a pull is, from what the daemon says of each layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LAYER_STATUSES = frozenset(
    {"Pulling fs layer", "Waiting", "Already exists", "Pull complete"}
)
"""What the daemon says of layers, and of nothing else."""

DONE_STATUSES = frozenset({"Already exists", "Pull complete"})
DOWNLOADED_STATUSES = frozenset({"Download complete", "Extracting"})


@dataclass(slots=True)
class _Layer:
    current: int = 0
    total: int = 0
    is_done: bool = False
    is_downloaded: bool = False


class PullProgress:
    """Adds up what the daemon says of the layers of one image."""

    def __init__(self) -> None:
        self._layers: dict[str, _Layer] = {}
        self._text = ""

    def feed(self, message: Mapping[str, Any]) -> str | None:
        """Take one message; return what to show if that has changed."""
        status, layer_id = message.get("status", ""), message.get("id", "")
        detail = message.get("progressDetail") or {}
        if layer_id and (status in LAYER_STATUSES or detail.get("total")):
            self._layers.setdefault(layer_id, _Layer())
        layer = self._layers.get(layer_id)
        if layer is None:
            return None
        layer.is_done |= status in DONE_STATUSES
        layer.is_downloaded |= layer.is_done or status in DOWNLOADED_STATUSES
        if not layer.is_downloaded and detail.get("total"):
            layer.current, layer.total = detail["current"], detail["total"]
        text = self._words()
        if text == self._text:
            return None
        self._text = text
        return text

    def _words(self) -> str:
        layers = self._layers.values()
        done = sum(each.is_done for each in layers)
        count = f"{done} of {len(layers)} {'layer' if len(layers) == 1 else 'layers'}"
        if all(each.is_downloaded for each in layers):
            return f"extracting, {count} done"
        total = sum(each.total for each in layers)
        got = sum(each.total if each.is_downloaded else each.current for each in layers)
        percent = 100 * got // total if total else 0
        return f"downloading {percent}%, {count} done"
