"""Removal of a cluster's pod: `attach --act` cannot kill a single container."""

from __future__ import annotations

from enum import StrEnum

from probetui.cluster.client import PODS, ApiClient, Object
from probetui.cluster.errors import ApiError, ClusterError, ServerUnreachableError
from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Pod

_NOT_FOUND = 404
_CONFLICT = 409
_TOO_MANY_REQUESTS = 429


class RemovalMode(StrEnum):
    """How a pod is removed: an eviction asks its disruption budgets first."""

    EVICT = "evict"
    DELETE = "delete"


class PodRemoval:
    """Removes a pod; one of another uid is never touched.

    Args:
        client: the API server.
        mode: eviction or deletion.
    """

    def __init__(self, client: ApiClient, mode: RemovalMode) -> None:
        self._client = client
        self._mode = mode

    async def remove(self, pod: Pod, uid: str, grace_period_seconds: int) -> None:
        """Remove a pod; one that is gone is no error.

        Raises:
            ContainerRuntimeError: the API server refuses, or does not answer.
        """
        try:
            if self._mode is RemovalMode.DELETE:
                await self._client.delete(
                    PODS,
                    pod.namespace,
                    pod.name,
                    grace_period_seconds=grace_period_seconds,
                    uid=uid,
                )
            else:
                await self._evict(pod, uid, grace_period_seconds)
        except ApiError as error:
            if error.code in {_NOT_FOUND, _CONFLICT}:
                return
            raise ContainerRuntimeError(_refusal(error)) from error
        except ClusterError as error:
            gone = isinstance(error, ServerUnreachableError)
            raise ContainerRuntimeError(str(error), unreachable=gone) from error

    async def _evict(self, pod: Pod, uid: str, grace_period_seconds: int) -> None:
        options: Object = {
            "gracePeriodSeconds": grace_period_seconds,
            "preconditions": {"uid": uid},
        }
        body: Object = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod.name, "namespace": pod.namespace},
            "deleteOptions": options,
        }
        await self._client.request(
            "POST",
            PODS.path(pod.namespace, pod.name, "eviction"),
            PODS.access("create", pod.namespace, pod.name, "eviction"),
            body=body,
        )


def _refusal(error: ApiError) -> str:
    """Explain a refusal; a disruption budget answers 429, Too Many Requests."""
    message = error.details.get("message")
    if error.code == _TOO_MANY_REQUESTS and "disruption" in str(message).lower():
        return f"the eviction is refused: {message}"
    return str(error)
