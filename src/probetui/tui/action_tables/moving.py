"""Moving about: within panes and between them."""

from __future__ import annotations

from collections.abc import Iterator

from probetui.k8s.probe import ProbeType
from probetui.presentation.probes import standing_in_a_word
from probetui.tui.action import Action, Argument, Circumstances, Offer, On, Where
from probetui.tui.container_keys import ContainerKey
from probetui.tui.objects import objects

_SEVERAL = 2


def _names(now: Circumstances) -> list[str]:
    return list(objects(now))


def _everywhere(now: Circumstances) -> Iterator[Offer]:
    """Offer every container, and each probe of those that have several."""
    names = {key: name for name, key in objects(now).items()}
    for pod in now.snapshot.pods:
        for container in pod.containers:
            name = names[ContainerKey(pod.pod.uid, container.container.name)]
            yield Offer(f"Go to: {name}", (name,))
            if len(container.probes) < _SEVERAL:
                continue
            for probe in container.probes:
                kind = probe.key.probe_type.lower()
                words = standing_in_a_word(probe)
                state = f" ({words})" if words else ""
                yield Offer(f"Go to: {name} {kind}{state}", (name, kind))


def _kinds(_now: Circumstances) -> list[str]:
    return [each.lower() for each in ProbeType]


MOVING = (
    Action(
        "move.up",
        "up,k",
        "up",
        "up",
        "One line up",
        (Where.PANE,),
        "move(-1)",
        on=On.PANE,
    ),
    Action(
        "move.down",
        "down,j",
        "down",
        "down",
        "One line down",
        (Where.PANE,),
        "move(1)",
        on=On.PANE,
    ),
    Action(
        "move.page-up",
        "pageup,ctrl+b",
        "page up",
        "page up",
        "One page up",
        (Where.PANE,),
        "page(-1)",
        on=On.PANE,
    ),
    Action(
        "move.page-down",
        "pagedown,ctrl+f",
        "page down",
        "page down",
        "One page down",
        (Where.PANE,),
        "page(1)",
        on=On.PANE,
    ),
    Action(
        "move.top",
        "g",
        "top",
        "top",
        "To the first line",
        (Where.PANE,),
        "first",
        on=On.PANE,
    ),
    Action(
        "move.first",
        "home",
        "first",
        "first",
        "To the first line",
        (Where.FOLLOWING,),
        "first",
        on=On.PANE,
    ),
    Action(
        "move.bottom",
        "G",
        "bottom",
        "bottom",
        "To the last line",
        (Where.PANE,),
        "last",
        on=On.PANE,
    ),
    Action(
        "move.next-pane",
        "tab",
        "next pane",
        "next pane",
        "To the next pane",
        (Where.MAIN,),
        "other_pane(1)",
    ),
    Action(
        "move.previous-pane",
        "shift+tab",
        "previous pane",
        "previous pane",
        "To the pane before",
        (Where.MAIN,),
        "other_pane(-1)",
    ),
    Action(
        "move.containers",
        "1",
        "containers",
        "containers",
        "To the containers",
        (Where.MAIN,),
        "pane('containers')",
    ),
    Action(
        "move.detail",
        "2",
        "detail",
        "detail",
        "To the chosen container",
        (Where.MAIN,),
        "pane('detail')",
    ),
    Action(
        "move.events",
        "3",
        "events",
        "events pane",
        "To the events",
        (Where.MAIN,),
        "pane('events')",
    ),
    Action(
        "move.go",
        "",
        "go to",
        "go to",
        "To a container, or one of its probes",
        (Where.MAIN,),
        "app.go",
        arguments=(
            Argument("container", _names, is_required=True),
            Argument("probe", _kinds),
        ),
        offers=_everywhere,
    ),
)
