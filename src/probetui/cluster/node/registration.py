"""The node at the API server: registered, kept alive by its lease, removed at the end.

Source: kubelet_node_status.go, v1.32.10, registerWithAPIServer, updateNodeStatus;
component-helpers apimachinery/lease/controller.go, v0.32.10.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta

from probetui.cluster.api_objects import check_lease, check_node
from probetui.cluster.client import LEASES, NODES, ApiClient, Object, Resource
from probetui.cluster.errors import ApiError, ClusterError
from probetui.cluster.node.contact import ServerContact
from probetui.k8s.runtime import StoredImage
from probetui.kubelet.nodestatus.node_status import (
    LEASE_NAMESPACE,
    LEASE_RENEW_PERIOD,
    LEASE_SECONDS,
    STATUS_CHECK_PERIOD,
    STATUS_REPORT_PERIOD,
    TAINT,
    NodeFacts,
    is_only_heartbeat,
    lease_age,
    new_lease,
    new_node,
    node_status,
    node_status_patch,
    renewed_lease,
)

log = logging.getLogger(__name__)

SELF_REVIEWS = Resource(
    "selfsubjectaccessreviews", "authorization.k8s.io", is_namespaced=False
)
ENDED = "probetui has ended; its user may not delete the node"
"""The message of the condition Ready of a node that is left behind."""

_FORBIDDEN, _NOT_FOUND, _CONFLICT = 403, 404, 409
_MOST_RENEWALS = 5
"""Source: apimachinery/lease/controller.go, v0.32.10, maxUpdateRetries."""


class NodeExistsError(ClusterError):
    """A node of that name exists, and may not be adopted or is in use."""


class NodeRegistration:
    """The node object and its lease; one owner.

    Args:
        api: the API server.
        contact: waits after failures.
        facts: the node's name, addresses and system.
        readiness: returns why the node is not ready (empty if it is), and its images.
        notify: prints a sentence.
    """

    def __init__(
        self,
        api: ApiClient,
        contact: ServerContact,
        facts: NodeFacts,
        readiness: Callable[[], tuple[str, Sequence[StoredImage]]],
        notify: Callable[[str], None],
    ) -> None:
        self._api = api
        self._contact = contact
        self._facts = facts
        self._readiness = readiness
        self._notify = notify
        self._uid = ""
        self._lease: Object | None = None
        self._renewed_with = ""
        self._reported_at: datetime | None = None
        self._is_gone = False
        self._has_ended = False
        self._is_changed = asyncio.Event()

    @property
    def uid(self) -> str:
        """The uid of the node object, empty before it is registered."""
        return self._uid

    def check_soon(self) -> None:
        """Check the node's status now, as it may have changed."""
        self._is_changed.set()

    async def register(self, *, adopts: bool) -> None:
        """Create the node and its lease.

        Args:
            adopts: take over a node of that name, unless its lease is alive.

        Raises:
            NodeExistsError: it exists and may not be taken over.
            ClusterError: the API server does not answer, or refuses.
        """
        name = self._facts.name
        try:
            node = check_node(await self._api.get(NODES, "", name))
        except ApiError as error:
            if error.code != _NOT_FOUND:
                raise
            status = self._status({}, self._contact.clock.now())
            new = new_node(self._facts, status)
            node = check_node(await self._api.create(NODES, "", new))
        else:
            await self._refuse_foreign(node, adopts=adopts)
            await self._add_taint(node)
        self._uid = node["metadata"]["uid"]
        try:
            await self._renew()
        except ApiError as error:
            # A server that has just started has no namespace for leases yet.
            if error.code != _NOT_FOUND:
                raise
            self._contact.on_failure(error)

    async def may_delete(self) -> bool | None:
        """Return whether our user may delete the node, None if unknown.

        A kubelet's own user may not: the Node authorizer does not grant it.
        """
        attributes = {"verb": "delete", "resource": "nodes", "name": self._facts.name}
        review: Object = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        try:
            answer = await self._api.create(SELF_REVIEWS, "", review)
        except ClusterError as error:
            log.info("whether the node may be deleted: %s", error)
            return None
        status = answer.get("status")
        allowed = status.get("allowed") if isinstance(status, dict) else None
        return allowed if isinstance(allowed, bool) else None

    async def _refuse_foreign(self, node: Object, *, adopts: bool) -> None:
        name = self._facts.name
        info = (node.get("status") or {}).get("nodeInfo") or {}
        version = info.get("kubeletVersion", "unknown version")
        if not adopts:
            raise NodeExistsError(
                f"node {name} exists already (kubelet {version}): --name gives another "
                "name, --adopt takes it over"
            )
        lease = await self._get_lease()
        age = None if lease is None else lease_age(lease, self._contact.clock.now())
        if age is not None and age < timedelta(seconds=LEASE_SECONDS):
            raise NodeExistsError(
                f"node {name} is alive: its lease was renewed "
                f"{max(age.total_seconds(), 0):.0f}s ago by another kubelet; it can be "
                f"taken over {LEASE_SECONDS}s after that kubelet has ended"
            )

    async def _add_taint(self, node: Object) -> None:
        taints = (node.get("spec") or {}).get("taints") or []
        if not any(taint.get("key") == TAINT for taint in taints):
            wanted = [*taints, {"key": TAINT, "effect": "NoSchedule"}]
            body: Object = {"spec": {"taints": wanted}}
            await self._api.patch(NODES, "", self._facts.name, body)

    # -- the lease

    async def keep_lease(self) -> None:
        """Renew the lease until cancelled.

        Raises:
            NodeExistsError: another kubelet renews it: two nodes have one name.
        """
        attempt = 0
        while True:
            await self._contact.sleep(LEASE_RENEW_PERIOD)
            try:
                await self._renew()
            except NodeExistsError:
                raise
            except ClusterError as error:
                # The next renewal is due in ten seconds anyway.
                attempt += 1
                self._contact.on_failure(error)
            else:
                attempt = 0

    async def _renew(self) -> None:
        """Create or renew the lease; raise if another kubelet renews it."""
        for attempt in range(1, _MOST_RENEWALS + 1):
            before = self._renewed_with
            try:
                self._lease = await self._write_lease()
            except ApiError as error:
                is_changed = error.code in {_CONFLICT, _NOT_FOUND}
                if not is_changed or attempt == _MOST_RENEWALS:
                    raise
                self._lease = await self._get_lease()
                self._refuse_second(before)
            else:
                break
        self._contact.on_answer()

    async def _write_lease(self) -> Object:
        now, name = self._contact.clock.now(), self._facts.name
        held = self._lease or await self._get_lease()
        lease = (
            new_lease(name, self._uid, now)
            if held is None
            else renewed_lease(held, now)
        )
        self._renewed_with = lease["spec"]["renewTime"]
        if held is None:
            answer = await self._api.create(LEASES, LEASE_NAMESPACE, lease)
        else:
            answer = await self._api.replace(LEASES, LEASE_NAMESPACE, name, lease)
        return check_lease(answer)

    def _refuse_second(self, renewed_with: str) -> None:
        """Raise if another kubelet has renewed the lease since our last renewal."""
        spec = {} if self._lease is None else self._lease.get("spec") or {}
        renewed_at = spec.get("renewTime")
        if (
            renewed_at
            and renewed_with
            and renewed_at not in {renewed_with, self._renewed_with}
        ):
            raise NodeExistsError(
                f"another kubelet renews the lease of node {self._facts.name}: two "
                "nodes have one name"
            )

    async def _get_lease(self) -> Object | None:
        try:
            lease = await self._api.get(LEASES, LEASE_NAMESPACE, self._facts.name)
        except ApiError as error:
            if error.code != _NOT_FOUND:
                raise
            return None
        return check_lease(lease)

    # -- the status

    async def keep_status(self) -> None:
        """Report the status on change and every five minutes, until cancelled."""
        attempt = 0
        while True:
            try:
                await self._report()
            except ClusterError as error:
                attempt += 1
                await self._contact.wait(error, attempt)
                continue
            attempt = 0
            self._is_changed.clear()
            waiting = asyncio.ensure_future(self._is_changed.wait())
            sleeping = asyncio.ensure_future(self._contact.sleep(STATUS_CHECK_PERIOD))
            try:
                await asyncio.wait(
                    {waiting, sleeping}, return_when=asyncio.FIRST_COMPLETED
                )
            finally:
                waiting.cancel()
                sleeping.cancel()

    async def _report(self) -> None:
        name, now = self._facts.name, self._contact.clock.now()
        try:
            node = check_node(await self._api.get(NODES, "", name))
        except ApiError as error:
            if error.code != _NOT_FOUND:
                raise
            if not self._is_gone:
                self._notify(
                    f"node {name} was deleted in the cluster; "
                    "it is not registered again"
                )
            self._is_gone = True
            return
        self._contact.on_answer()
        held = node.get("status") or {}
        new = self._status(held, now)
        reported = self._reported_at
        is_due = reported is None or now - reported >= STATUS_REPORT_PERIOD
        if is_only_heartbeat(held, new) and not is_due:
            return
        patch = node_status_patch(held, new)
        await self._api.patch(NODES, "", name, patch, subresource="status")
        self._reported_at = now

    def _status(self, held: Object, now: datetime) -> Object:
        not_ready, images = self._readiness()
        if self._has_ended:
            not_ready = ENDED
        return node_status(self._facts, held, not_ready, images, now)

    # -- the end

    async def deregister(self) -> bool:
        """Delete the node and its lease; return whether the node is gone.

        A node that our user may not delete stays, not ready. A node that is gone
        already is no error.

        Raises:
            ClusterError: the API server does not answer, or refuses another request.
        """
        name, is_deleted = self._facts.name, True
        try:
            await _gone(self._api.delete(NODES, "", name, uid=self._uid))
        except ApiError as error:
            if error.code != _FORBIDDEN:
                raise
            is_deleted = False
            await self._report_end()
        await self.release_lease()
        return is_deleted

    async def _report_end(self) -> None:
        """Report that the node is not ready, from now on."""
        self._has_ended = True
        name = self._facts.name
        node = check_node(await self._api.get(NODES, "", name))
        if node["metadata"]["uid"] != self._uid:
            return  # it belongs to another kubelet by now
        held = node.get("status") or {}
        new = self._status(held, self._contact.clock.now())
        patch = node_status_patch(held, new)
        await self._api.patch(NODES, "", name, patch, subresource="status")

    async def release_lease(self) -> None:
        """Delete the lease, so that the node may be taken over at once."""
        await _gone(self._api.delete(LEASES, LEASE_NAMESPACE, self._facts.name))


async def _gone(deletion: Awaitable[object]) -> None:
    """Await a deletion; ignore that the object is gone or was replaced."""
    try:
        await deletion
    except ApiError as error:
        if error.code not in {_NOT_FOUND, _CONFLICT}:
            raise
