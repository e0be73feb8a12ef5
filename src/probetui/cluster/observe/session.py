"""ObservedSession: a cluster's pods as a read-only session for front ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta

from probetui.cluster.client import ApiClient
from probetui.cluster.container_logs import ClusterLogs
from probetui.cluster.observe.feed import Feed
from probetui.cluster.observe.observation import ClusterObservation
from probetui.drive.logs import LogTail, read_log
from probetui.drive.session import KeptTasks, Subscribers
from probetui.drive.session_journal import SessionJournal
from probetui.engine.inputs import Command
from probetui.engine.snapshot import Snapshot
from probetui.k8s.runtime import ContainerID, RuntimeState
from probetui.k8s.status import ContainerStatus, Running
from probetui.kubelet.journal import JournalEntry
from probetui.ports import Clock

NOTICE_PERIOD_SECONDS = 0.05
_TICK = timedelta(seconds=1)


class ObservedSession:
    """A read-only `Session`.

    Args:
        observation: the state of the pods.
        feed: fetches the inputs.
        client: reads the logs.
        clock: the wall clock.
        name: the cluster's name for display.
    """

    def __init__(
        self,
        observation: ClusterObservation,
        feed: Feed,
        client: ApiClient,
        clock: Clock,
        name: str,
    ) -> None:
        self._observation = observation
        self._feed = feed
        self._client = client
        self._clock = clock
        self._name = name
        self._journal = SessionJournal()
        self._subscribers = Subscribers()
        self._notice: asyncio.TimerHandle | None = None
        self._tasks = KeptTasks(self._fail)
        self._is_stopping = asyncio.Event()
        self.on_bug: Callable[[Exception], None] | None = None
        """Is called with what a subscriber or a task raised.

        Without it `run` raises that.
        """
        self.on_new_pods: Callable[[], None] = lambda: None
        """Is called before the journal names pods that were not there."""
        self._bug: Exception | None = None

    @property
    def playback(self) -> None:
        """None: a live session has no playback."""

    @property
    def runtime_name(self) -> str:
        """The cluster, marked as watched."""
        return self._name

    @property
    def snapshot(self) -> Snapshot:
        """The current snapshot."""
        return self._observation.snapshot(self._clock.now())

    @property
    def journal(self) -> Sequence[JournalEntry]:
        """Every entry of the session by its place."""
        return self._journal

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back on the event loop after each change; return the unsubscriber."""
        return self._subscribers.add(callback)

    def send(self, command: Command) -> None:
        """Refuse a command: a cluster's pods are only watched."""
        name = type(command).__name__
        self._observation.note(
            f"{name}: a cluster's pods are only watched", self._clock.now()
        )
        self._changed()

    def follow_logs(
        self, container_id: ContainerID, callback: Callable[[], None]
    ) -> LogTail:
        """Read a container's log until the tail is closed."""
        tail = LogTail(container_id, callback)
        reading = self._tasks.start(
            read_log(
                ClusterLogs(self._client, self._observation.find_container),
                tail,
                self._clock,
                self._state_of,
            )
        )
        tail.read_by(reading.cancel)
        return tail

    async def _state_of(self, container_id: ContainerID) -> RuntimeState | None:
        for pod in self.snapshot.pods:
            for container in pod.containers:
                match container.status:
                    case ContainerStatus(state=Running(), container_id=known) if (
                        known == container_id
                    ):
                        return RuntimeState.RUNNING
                    case _:
                        pass
        return None

    # -- running

    async def run(self) -> None:
        """Watch until `stop`; raises `ClusterError` if that is not allowed."""
        async with asyncio.TaskGroup() as tasks:
            feeding = tasks.create_task(self._feed.run(self._changed))
            checking = tasks.create_task(self._check())
            await self._is_stopping.wait()
            feeding.cancel()
            checking.cancel()
        if self._notice is not None:
            self._notice.cancel()
        await self._tasks.end()
        if self._bug is not None:
            raise self._bug

    def stop(self) -> None:
        """Ask `run` to return."""
        self._is_stopping.set()

    async def _check(self) -> None:
        while True:
            now = self._clock.now()
            self._observation.check(now)
            self._changed()
            await self._clock.sleep_until(now + _TICK)

    def _changed(self) -> None:
        if entries := self._observation.take_entries():
            self.on_new_pods()
            self._journal.extend(entries)
        if self._notice is None and self._subscribers:
            loop = asyncio.get_running_loop()
            self._notice = loop.call_later(NOTICE_PERIOD_SECONDS, self._notify)

    def _notify(self) -> None:
        self._notice = None
        try:
            self._subscribers.notify()
        except Exception as error:  # noqa: BLE001  # the loop would only log it
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if self.on_bug is not None:
            self.on_bug(error)
        else:
            self._bug = error
            self.stop()
