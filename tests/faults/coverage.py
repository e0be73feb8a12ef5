"""What a world came by: steps of containers, states, and causes that `why` gave."""

from __future__ import annotations

from collections import Counter

from probetui.analysis.causes.answer import explain
from probetui.analysis.causes.kinds import CauseKind
from probetui.kubelet.journal import ContainerEntry, StateEntry
from tests.faults.fates import Fate
from tests.faults.rules import pasts_of
from tests.faults.session import Life, World

CAUSE = "cause: "
FATES = (*Fate, "killed", "killed after")
"""Those of calls, and those of a ledger's, in which we may be killed."""


def covered(world: World) -> Counter[str]:
    """Count the transitions of a world, and the kinds of causes."""
    counts: Counter[str] = Counter()
    for life in world.lives:
        steps: dict[tuple[str, str], str] = {}
        for entry in life.journal:
            if isinstance(entry, ContainerEntry):
                place = entry.pod_uid, entry.container_name
                counts[f"container: {steps.get(place, '')} -> {entry.what}"] += 1
                steps[place] = entry.what
            elif isinstance(entry, StateEntry):
                change = f"{_short(entry.before)} -> {_short(entry.after)}"
                counts[f"{entry.what}: {change}"] += 1
        counts += _causes(life, world)
    return counts


def _causes(life: Life, world: World) -> Counter[str]:
    counts: Counter[str] = Counter()
    pods = {pod.uid: pod for pod in world.pods}
    for now, past, _ in pasts_of(life):
        for pod in world.pods:
            for container in pod.all_containers():
                answer = explain(pod, container, past, now, life.config.rules, pods)
                for head in answer.causes:
                    counts.update(f"{CAUSE}{cause.kind}" for cause in head.chain)
    return counts


def never_given(counts: Counter[str]) -> list[str]:
    """Return the kinds of causes that no answer had."""
    return [kind for kind in CauseKind if not counts[f"{CAUSE}{kind}"]]


def call_table(counts: Counter[str]) -> list[str]:
    """Return how many calls had which fate, a row for each call."""
    rows: dict[str, Counter[str]] = {}
    for what, count in counts.items():
        call, _, fate = what.partition(": ")
        if fate in FATES:
            rows.setdefault(call, Counter())[fate] += count
    width = max(map(len, rows), default=0)
    titles = "".join(f"{fate:>14}" for fate in FATES)
    return [f"{'':{width}}{titles}"] + [
        f"{call:{width}}" + "".join(f"{fates[fate] or '':>14}" for fate in FATES)
        for call, fates in sorted(rows.items())
    ]


def other_counts(counts: Counter[str]) -> list[str]:
    """Return all counts that are not in the table of calls."""
    return [
        f"{count:12,} {what}"
        for what, count in sorted(counts.items())
        if what.partition(": ")[2] not in FATES
    ]


def _short(value: object) -> str:
    """Return a value without its numbers: counts and sizes are no states."""
    text = str(value)
    return text if text.replace(" ", "").isalpha() else "..."
