"""What an action is: something that a person can do, by key or by name.

`actions.py` has the table of all of them and says how to add one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import NamedTuple

from probetui.kubelet.inputs import Command
from probetui.kubelet.snapshot import (
    ContainerSnapshot,
    PodSnapshot,
    ProbeSnapshot,
    Snapshot,
)
from probetui.presentation.detail import Subject
from probetui.presentation.text_cells import one_line
from probetui.tui.options import ScreenOptions
from probetui.tui.outside import Outside


class Where(Enum):
    """Where keys are bound; a class of the screen names its places in `PLACES`."""

    PROGRAM = "everywhere"
    MAIN = "the main screen"
    PANES = "the main screen with all its panes"
    PANE = "every pane"
    CONTAINERS = "the containers"
    EVENTS = "the events"
    ENTRIES = "lists to be read"
    FOLLOWING = "lists that grow"
    READING = "screens for reading"
    EVENT_LOG = "the event log"
    EVENT_LIST = "the list of the event log"
    LOG = "a container's log"
    FILTER = "the filter, while it is typed"
    COMMAND_LINE = "the command line"
    QUESTION = "a question"
    CHOICE = "a menu"
    STEPS = "the queue"
    MENU = "the lines of a menu of deeds"
    MENU_SCREEN = "a menu of deeds"
    TIMING = "the numbers of a probe"
    HELP = "the help"
    TICKS = "the ticks of a probe"
    ANSWER = "answers"


class On(StrEnum):
    """What an action acts on; the palette names it, `:` may choose another one."""

    PROGRAM = "probetui"
    SCREEN = "the screen"
    PANE = "this pane"
    ALL_PODS = "all pods"
    POD = "pod"
    CONTAINER = "container"
    PROBE = "probe"


CHOSEN = frozenset({On.POD, On.CONTAINER, On.PROBE})
"""What is chosen on the screen, or named on the command line."""


class Group(StrEnum):
    """Headings of the help, by what the ids of actions begin with."""

    MOVE = "move"
    LOOK = "look"
    TIME = "time"
    PROBE = "probe"
    CONTAINER = "container"
    FILES = "files"
    APP = "app"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What decides whether an action makes sense now, and what it is done to.

    `subject` is what is chosen, None where nothing is.
    """

    snapshot: Snapshot
    subject: Subject | None = None
    outside: Outside = field(default_factory=Outside)
    options: ScreenOptions = field(default_factory=ScreenOptions)

    @property
    def pod(self) -> PodSnapshot:
        """The chosen pod. An action that is on a pod is never asked without one."""
        return self._chosen.pod

    @property
    def container(self) -> ContainerSnapshot:
        """The chosen container."""
        return self._chosen.container

    @property
    def probe(self) -> ProbeSnapshot:
        """The chosen probe."""
        probe = self._chosen.probe
        if probe is None:
            raise LookupError("no probe is chosen")
        return probe

    @property
    def _chosen(self) -> Subject:
        if self.subject is None:
            raise LookupError("nothing is chosen")
        return self.subject


Words = Sequence[str]


class Offer(NamedTuple):
    """A row of the palette: what it says, and the words after the action's name."""

    title: str
    words: tuple[str, ...] = ()


Condition = Callable[[Circumstances], bool]
Giving = Callable[[Circumstances, Words], Command]
Choices = Callable[[Circumstances], Sequence[str]]
Offering = Callable[[Circumstances], Iterable[Offer]]


def always(_now: Circumstances) -> bool:
    """Say yes: the condition of an action that always makes sense."""
    return True


@dataclass(frozen=True, slots=True)
class Argument:
    """A word that may follow an action's name on the command line.

    `choices` are all the words it may be, or return them; empty allows any word.
    `takes_rest` makes it everything up to the end of the line, spaces included.
    """

    name: str
    choices: Sequence[str] | Choices = ()
    is_required: bool = False
    takes_rest: bool = False

    def words(self, now: Circumstances) -> Sequence[str]:
        """Return what it may be now, empty for anything."""
        return self.choices(now) if callable(self.choices) else self.choices


@dataclass(frozen=True, slots=True)
class Action:
    """One row of the table.

    Attributes:
        id: `group.name`; key maps name it, so it never changes.
        keys: default keys as Textual writes them, with commas; may be empty.
        word: what the footer says beside the key.
        name: what is typed after `:`, and the title in the palette.
        tooltip: one line for the help.
        where: the places whose keys it belongs to.
        act: a Textual action of the node that has the place, or of another one with
            `app.` or `screen.` before it. Words that are typed follow its parameters.
        gives: the engine's command, instead of `act`, or where words are typed.
        on: what it acts on; without a subject of that kind it is off.
        when: whether it makes sense now.
        changes: it changes what runs; read-only screens do not have it.
        asks: the question that must be answered with yes before `gives`.
        arguments: words that may be typed after its name.
        footer: place in the footer, lower is further left; 0 is not in it.
        shares_keys_of: another action that is off while this one is on, and has the
            same keys; a key map changes both.
        is_priority: works whatever has the focus; never for printable keys.
        has_line: False for what makes no sense as `:` command or in the palette.
        aliases: other names for it.
        offers: rows of the palette, where its name and what it acts on say too little.
    """

    id: str
    keys: str
    word: str
    name: str
    tooltip: str
    where: tuple[Where, ...]
    act: str = ""
    gives: Giving | None = None
    on: On = On.SCREEN
    when: Condition = always
    changes: bool = False
    asks: Callable[[Circumstances], str] | None = None
    arguments: tuple[Argument, ...] = ()
    footer: int = 0
    shares_keys_of: str = ""
    is_priority: bool = False
    has_line: bool = True
    aliases: tuple[str, ...] = ()
    offers: Offering | None = None

    @property
    def group(self) -> Group:
        """The heading that it is listed under."""
        return Group(self.id.partition(".")[0])

    @property
    def title(self) -> str:
        """What the palette calls it."""
        return self.name[:1].upper() + self.name[1:]

    @property
    def call(self) -> str:
        """The Textual action that its keys run."""
        return self.act or f"app.give('{self.id}')"

    def is_possible(self, now: Circumstances) -> bool:
        """Tell whether there is what it acts on, and it makes sense."""
        if self.on in CHOSEN and now.subject is None:
            return False
        if self.on is On.PROBE and (now.subject is None or now.subject.probe is None):
            return False
        return self.when(now)


def acted_on(what: On, now: Circumstances) -> str:
    """Return in words what an action would be done to."""
    match what:
        case On.POD:
            return one_line(now.pod.pod.name)
        case On.CONTAINER:
            return one_line(f"{now.pod.pod.name}/{now.container.container.name}")
        case On.PROBE:
            kind = now.probe.key.probe_type.lower()
            name = f"{now.pod.pod.name}/{now.container.container.name}"
            return f"{one_line(name)} {kind}"
        case _:
            return what.value
