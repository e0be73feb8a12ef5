"""An action: something that the user can do, by key or by name.

`table.py` has all of them and explains how to add one.
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
    """Where keys work; screens and widgets list theirs in `KEY_CONTEXTS`."""

    PROGRAM = "everywhere"
    MAIN = "the main screen"
    PANES = "the main screen with all its panes"
    PANE = "every pane"
    CONTAINERS = "the containers"
    EVENTS = "the events"
    ENTRIES = "lists of entries"
    FOLLOWING = "lists that grow"
    READING = "screens for reading"
    EVENT_LOG = "the event log"
    EVENT_LIST = "the list of the event log"
    LOG = "a container's log"
    FILTER = "the filter, while it is typed"
    COMMAND_LINE = "the command line"
    QUESTION = "a question"
    LEAVING = "the question whether to quit"
    CHOICE = "a menu"
    STEPS = "the queue"
    MENU = "the lines of an action menu"
    MENU_SCREEN = "an action menu"
    TIMING = "the timing of a probe"
    HELP = "the help"
    TICKS = "the ticks of a probe"
    ANSWER = "answers"
    STAGE = "one probe for an audience"
    JUMP = "letters to jump to"


class Target(StrEnum):
    """What an action acts on; the palette names it, `:` may name another one."""

    PROGRAM = "probetui"
    SCREEN = "the screen"
    PANE = "this pane"
    ALL_PODS = "all pods"
    POD = "pod"
    CONTAINER = "container"
    PROBE = "probe"


SELECTED_TARGETS = frozenset({Target.POD, Target.CONTAINER, Target.PROBE})
"""The targets that are selected on the screen or named on the command line."""


class Group(StrEnum):
    """The groups of the help; the value is the prefix of the actions' ids."""

    MOVE = "move"
    LOOK = "look"
    TIME = "time"
    PROBE = "probe"
    CONTAINER = "container"
    FILES = "files"
    APP = "app"


class ActionContext(Struct, frozen=True):
    """What an action acts on, and what decides whether it is possible now.

    `subject` is the selected container and probe, None if there is none.
    """

    snapshot: Snapshot
    subject: Subject | None = None
    host: HostServices = field(default_factory=HostServices)
    options: ScreenOptions = field(default_factory=ScreenOptions)

    @property
    def pod(self) -> PodSnapshot:
        """The selected pod.

        Raises:
            LookupError: none is selected; actions on a pod are off then.
        """
        return self._chosen.pod

    @property
    def container(self) -> ContainerSnapshot:
        """The selected container; raises `LookupError` as `pod` does."""
        return self._chosen.container

    @property
    def probe(self) -> ProbeSnapshot:
        """The selected probe; raises `LookupError` as `pod` does."""
        probe = self._chosen.probe
        if probe is None:
            raise LookupError("no probe is chosen")
        return probe

    def is_running(self) -> bool:
        """Return whether the selected container is running."""
        status = self.container.status
        return status is not None and isinstance(status.state, Running)

    @property
    def _chosen(self) -> Subject:
        if self.subject is None:
            raise LookupError("No container selected.")
        return self.subject


Words = Sequence[str]


class PaletteEntry(NamedTuple):
    """A row of the palette: its title, and the arguments of the action.

    An empty `tooltip` stands for the action's own.
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
    """An argument that may follow an action's name on the command line.

    `choices` are the valid words, or a function that returns them; empty allows any.
    `takes_rest` makes it the rest of the line, including spaces.
    """

    name: str
    choices: Sequence[str] | Choices = ()
    is_required: bool = False
    takes_rest: bool = False

    def words(self, now: ActionContext) -> Sequence[str]:
        """Return the words that are valid now, empty if any word is."""
        return self.choices(now) if callable(self.choices) else self.choices


class Action(Struct, frozen=True):
    """One row of the table.

    Attributes:
        id: `group.name`; key maps use it, so it never changes.
        keys: default keys as Textual names them, with commas; may be empty.
        tooltip: one line for the help; begins with a verb.
        where: the contexts in which its keys work.
        act: a Textual action of the node with the context, or of another one with
            `app.` or `screen.` before it. Typed arguments follow its parameters.
        typed: its name after `:` and in the palette, if it is not the id's.
        word: the text beside the key in the footer, if it is not the name.
        build_command: builds the engine's command, instead of `act` or for typed
            arguments.
        on: what it acts on; the action is off if nothing of the kind is selected.
        when: whether it is possible now.
        changes: whether it changes the session; such actions are off on read-only
            screens.
        acts: whether it stops or starts containers; such actions are refused in
            sessions that only watch.
        is_local: whether it writes a file or starts a program where this one runs;
            such actions are off in a browser.
        confirmation: the question to confirm before the command is sent.
        arguments: the arguments that may be typed after its name.
        footer: its position in the footer, counted from the left; 0 hides it.
        shares_keys_of: another action with the same keys, which is off while this one
            is on; a key map changes both.
        gives_way: whether a user's key map may give its default keys to others, because
            it is newer than key maps that are in use.
        is_priority: works whatever has the focus; never for printable keys.
        is_listed: False hides it from `:` and the palette.
        aliases: other names for it.
        palette_entries: its rows of the palette, if name and target are not enough.
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
    is_local: bool = False
    confirmation: Callable[[ActionContext], str] | None = None
    arguments: tuple[Argument, ...] = ()
    footer: int = 0
    shares_keys_of: str = ""
    gives_way: bool = False
    is_priority: bool = False
    is_listed: bool = True
    aliases: tuple[str, ...] = ()
    palette_entries: PaletteEntries | None = None

    @property
    def name(self) -> str:
        """The name after `:` and in the palette."""
        return self.typed or self.id.partition(".")[2].replace("-", " ")

    @property
    def footer_text(self) -> str:
        """The text beside the key in the footer."""
        return self.word or self.name

    @property
    def group(self) -> Group:
        """The group under which the help lists it."""
        return Group(self.id.partition(".")[0])

    @property
    def title(self) -> str:
        """The title in the palette."""
        return self.name[:1].upper() + self.name[1:]

    @property
    def call(self) -> str:
        """The Textual action that its keys run."""
        return self.act or f"app.give('{self.id}')"

    def is_possible(self, now: ActionContext) -> bool:
        """Return whether its target is selected and its condition holds."""
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
    """Return the sort key of the actions that are offered before anything is typed.

    Those that are wanted most come first. Moves come last, as keys are faster; actions
    with a row for each argument come before them, as they would hide the others.
    """
    first = action.arguments[0] if action.arguments else None
    is_move = action.group is Group.MOVE and action.palette_entries is None
    has_many_rows = first is not None and first.is_required
    return is_move, has_many_rows, _BY_USE.index(action.group)


def target_text(target: Target, now: ActionContext) -> str:
    """Return the name of the object that an action would act on."""
    match target:
        case Target.POD:
            return one_line(now.pod.pod.name)
        case Target.CONTAINER:
            return one_line(f"{now.pod.pod.name}/{now.container.container.name}")
        case Target.PROBE:
            kind = now.probe.key.probe_type.lower()
            name = f"{now.pod.pod.name}/{now.container.container.name}"
            return f"{one_line(name)} {kind}"
        case _:
            return target.value
