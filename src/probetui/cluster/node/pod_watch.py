"""List and watch of pods: the source `api` of a node.

Source: kubelet/config/apiserver.go, v1.32.10; client-go tools/cache/reflector.go,
v0.32.10, ListAndWatch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from probetui.cluster.api_objects import UnreadableObjectError, check_pod, name_of
from probetui.cluster.bounded_responses import TooLargeError
from probetui.cluster.client import (
    PODS,
    WATCH_PERIOD,
    ApiClient,
    Object,
    WatchEvent,
    WatchEventType,
)
from probetui.cluster.errors import ClusterError, ExpiredError, ServerUnreachableError
from probetui.cluster.node.contact import ServerContact
from probetui.cluster.object_budget import ObjectBudget


class PodWatch:
    """Lists and watches pods.

    While the server is unreachable, the last known pods stay. An invalid pod is
    skipped; one that was valid before keeps its last valid state.

    Args:
        api: the API server.
        field_selector: selects the pods, such as `spec.nodeName=NAME`.
        contact: waits after failures.
        on_change: called whenever the pods may have changed.
        namespace: the namespace; empty for all.

    Attributes:
        pods: the pods by uid.
        has_listed: whether a list has succeeded.
    """

    def __init__(
        self,
        api: ApiClient,
        field_selector: str,
        contact: ServerContact,
        on_change: Callable[[], None],
        namespace: str = "",
    ) -> None:
        self.pods: Mapping[str, Object] = {}
        self.has_listed = False
        self._api = api
        self._selector = field_selector
        self._namespace = namespace
        self._contact = contact
        self._on_change = on_change
        self._version = ""
        self._budget = ObjectBudget()
        self._is_full = False

    async def run(self) -> None:
        """List, then watch, until cancelled."""
        attempt = 0
        while True:
            try:
                await self.list()
                attempt = 0
                await self._watch()
            except ExpiredError:
                # A version that expires at once must not cause a busy loop.
                await self._contact.sleep(WATCH_PERIOD)
            except ClusterError as error:
                attempt += 1
                await self._contact.wait(error, attempt)

    async def list(self) -> None:
        """List all pods.

        Raises:
            ClusterError: the API server does not answer, or refuses.
        """
        listed = await self._api.list(
            PODS, self._namespace, field_selector=self._selector
        )
        self._contact.on_answer()
        self.has_listed = True
        self._version = listed.resource_version
        pods: dict[str, Object] = {}
        async for pod in listed.objects():
            pods |= self._taken(pod)
        self._set(pods)
        self._budget.release_others(self.pods)

    async def _watch(self) -> None:
        """Watch until the version has expired; reconnect after a lost connection."""
        attempt = 0
        while True:
            began_at = self._contact.clock.now()
            try:
                async for event in self._api.watch(
                    PODS,
                    self._namespace,
                    resource_version=self._version,
                    field_selector=self._selector,
                ):
                    attempt = 0
                    self._contact.on_answer()
                    self._apply(event)
                attempt += 1
                if attempt > 1:
                    error = ServerUnreachableError("the API server ends each watch")
                    await self._contact.wait(error, attempt)
            except ExpiredError:
                raise
            except ClusterError as error:
                attempt += 1
                await self._contact.wait(error, attempt)
            # A server that ends each watch at once must not cause a busy loop.
            await self._contact.clock.sleep_until(began_at + WATCH_PERIOD)

    def _apply(self, event: WatchEvent) -> None:
        metadata = event.object.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        version, uid = metadata.get("resourceVersion"), metadata.get("uid")
        if isinstance(version, str) and version:
            self._version = version
        if event.type is WatchEventType.BOOKMARK:
            return
        pods = {**self.pods}
        if event.type is not WatchEventType.DELETED:
            pods |= self._taken(event.object)
        elif isinstance(uid, str):
            pods.pop(uid, None)
            self._budget.release(uid)
        self._set(pods)

    def _taken(self, json: Object) -> Mapping[str, Object]:
        """Return a pod by its uid, or nothing if there is no room for it.

        An invalid pod is replaced by its last valid state.
        """
        try:
            pod = check_pod(json)
        except UnreadableObjectError as error:
            self._contact.on_failure(error)
            name = name_of(json)
            kept = self.pods.items()
            return {uid: old for uid, old in kept if name_of(old) == name}
        return {pod["metadata"]["uid"]: pod} if self._admits(pod) else {}

    def _admits(self, pod: Object) -> bool:
        """Return whether there is room for a pod; report the first without room."""
        metadata = pod["metadata"]
        is_admitted = self._budget.admit(metadata["uid"], pod)
        if not is_admitted and not self._is_full:
            self._contact.on_failure(
                TooLargeError(
                    "there are too many pods to be kept: "
                    f"{name_of(pod)} is the first that is left out"
                )
            )
        self._is_full = not is_admitted
        return is_admitted

    def _set(self, pods: Mapping[str, Object]) -> None:
        self.pods = pods
        self._on_change()
