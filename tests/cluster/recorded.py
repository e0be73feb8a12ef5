"""The recorded requests of a kubelet 1.36.2 to an API server with 17 pods with probes.

`status-patches.jsonl.gz`: each patch of a pod's status, with the server's pod before
and after it. `events-made.jsonl.gz`: each event the kubelet made;
`event-writes.jsonl.gz`: its writes of events. `node-writes.jsonl.gz`: its node and
lease. `get-pods-w.jsonl.gz` and `get-events.jsonl.gz`: objects with the cells that
kubectl printed of them, and when; `refusals.jsonl.gz`: a pod, then requests about it
that were refused, with the answers. `http-heads.jsonl.gz`: requests of all kinds with
the heads of their answers, and what discovery answered.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

_DATA = Path(__file__).with_name("data")


def recorded(name: str) -> list[dict[str, Any]]:
    """Return the lines of a file of the recording."""
    text = gzip.decompress((_DATA / f"{name}.jsonl.gz").read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]
