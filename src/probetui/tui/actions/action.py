"""An action: something that a person can do, by key or by name.

`table.py` has all of them and says how to add one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum, StrEnum
from typing import NamedTuple

from msgspec import Struct, field

from probetui.engine.inputs import Command
from probetui.engine.snapshot import (
    ContainerSnapshot,
    PodSnapshot,
    ProbeSnapshot,
    Snapshot,
)
from probetui.k8s.status import Running
from probetui.presentation.container.detail import Subject
from probetui.presentation.text.cells import one_line
from probetui.tui.host_services import HostServices
from probetui.tui.options import ScreenOptions


class KeyContext(Enum):
    """Where keys work; screens and widgets name theirs in `KEY_CONTEXTS`."""

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


class Target(StrEnum):
    """What an action acts on; the palette names it, `:` may choose another one."""

    PROGRAM = "probetui"
    SCREEN = "the screen"
    PANE = "this pane"
    ALL_PODS = "all pods"
    POD = "pod"
    CONTAINER = "container"
    PROBE = "probe"


SELECTED_TARGETS = frozenset({Target.POD, Target.CONTAINER, Target.PROBE})
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


class ActionContext(Struct, frozen=True):
    """What decides whether an action makes sense now, and what it is done to.

    `subject` is what is chosen, None where nothing is.
    """

    snapshot: Snapshot
    subject: Subject | None = None
    host: HostServices = field(default_factory=HostServices)
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

    def is_running(self) -> bool:
        """Return whether the chosen container runs."""
        status = self.container.status
        return status is not None and isinstance(status.state, Running)

    @property
    def _chosen(self) -> Subject:
        if self.subject is None:
            raise LookupError("No container selected.")
        return self.subject


Words = Sequence[str]


class PaletteEntry(NamedTuple):
    """A row of the palette: what it says, and the words after the action's name.

    Without a `tooltip` the action's own stands below it.
    """

    title: str
    words: tuple[str, ...] = ()
    tooltip: str = ""


Condition = Callable[[ActionContext], bool]
CommandBuilder = Callable[[ActionContext, Words], Command]
Choices = Callable[[ActionContext], Sequence[str]]
PaletteEntries = Callable[[ActionContext], Iterable[PaletteEntry]]


def always(_now: ActionContext) -> bool:
    """Return True: the condition of an action that always makes sense."""
    return True


class Argument(Struct, frozen=True):
    """A word that may follow an action's name on the command line.

    `choices` are all the words it may be, or return them; empty allows any word.
    `takes_rest` makes it everything up to the end of the line, spaces included.
    """

    name: str
    choices: Sequence[str] | Choices = ()
    is_required: bool = False
    takes_rest: bool = False

    def words(self, now: ActionContext) -> Sequence[str]:
        """Return what it may be now, empty for anything."""
        return self.choices(now) if callable(self.choices) else self.choices


class Action(Struct, frozen=True):
    """One row of the table.

    Attributes:
        id: `group.name`; key maps use it, so it never changes.
        keys: default keys as Textual names them, with commas; may be empty.
        tooltip: one line for the help; begins with a verb.
        where: the contexts in which its keys work.
        act: a Textual action of the node that has the context, or of another one with
            `app.` or `screen.` before it. Typed words follow its parameters.
        typed: what is typed after `:` and shown in the palette, if not the id's name.
        word: what the footer shows beside the key, if not the name.
        build_command: makes the engine's command, instead of `act` or for typed words.
        on: what it acts on; without one selected the action is off.
        when: whether it makes sense now.
        changes: whether it changes what runs; not available on read-only screens.
        acts: whether it stops or starts containers; refused where a session only
            watches them.
        confirmation: the question to confirm before the command is sent.
        arguments: words that may be typed after its name.
        footer: position in the footer, lower is further left; 0 hides it.
        shares_keys_of: another action that is off while this one is on, and has the
            same keys; a key map changes both.
        is_priority: works whatever has the focus; never for printable keys.
        is_listed: False hides it from `:` and the palette.
        aliases: other names for it.
        palette_entries: rows of the palette, if name and target say too little.
    """

    id: str
    keys: str
    tooltip: str
    where: tuple[KeyContext, ...]
    act: str = ""
    typed: str = ""
    word: str = ""
    build_command: CommandBuilder | None = None
    on: Target = Target.SCREEN
    when: Condition = always
    changes: bool = False
    acts: bool = False
    confirmation: Callable[[ActionContext], str] | None = None
    arguments: tuple[Argument, ...] = ()
    footer: int = 0
    shares_keys_of: str = ""
    is_priority: bool = False
    is_listed: bool = True
    aliases: tuple[str, ...] = ()
    palette_entries: PaletteEntries | None = None

    @property
    def name(self) -> str:
        """What is typed after `:`, and the title in the palette."""
        return self.typed or self.id.partition(".")[2].replace("-", " ")

    @property
    def footer_text(self) -> str:
        """What the footer shows beside the key."""
        return self.word or self.name

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

    def is_possible(self, now: ActionContext) -> bool:
        """Return whether there is what it acts on, and it makes sense."""
        if self.on in SELECTED_TARGETS and now.subject is None:
            return False
        if self.on is Target.PROBE and (
            now.subject is None or now.subject.probe is None
        ):
            return False
        return self.when(now)


_BY_USE = (
    Group.PROBE,
    Group.CONTAINER,
    Group.TIME,
    Group.LOOK,
    Group.FILES,
    Group.APP,
    Group.MOVE,
)


def use_rank(action: Action) -> tuple[bool, bool, int]:
    """Return how early an action is offered, before a word is typed.

    What is looked for most comes first. There are keys to move about, and an action
    with a row for each of its words would hide the others.
    """
    first = action.arguments[0] if action.arguments else None
    is_move = action.group is Group.MOVE and action.palette_entries is None
    has_many = first is not None and first.is_required
    return is_move, has_many, _BY_USE.index(action.group)


def target_text(what: Target, now: ActionContext) -> str:
    """Return in words what an action would be done to."""
    match what:
        case Target.POD:
            return one_line(now.pod.pod.name)
        case Target.CONTAINER:
            return one_line(f"{now.pod.pod.name}/{now.container.container.name}")
        case Target.PROBE:
            kind = now.probe.key.probe_type.lower()
            name = f"{now.pod.pod.name}/{now.container.container.name}"
            return f"{one_line(name)} {kind}"
        case _:
            return what.value
