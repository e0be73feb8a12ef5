"""Workloads as a cluster has them now, as manifests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from probetui.cluster.client import ApiClient, Object, Resource
from probetui.cluster.errors import ApiError
from probetui.manifest.workloads import WorkloadKind
from probetui.manifest.yaml.parser import SourceFile

_AT_ONCE = 8
_NOT_FOUND = 404


class LiveName(NamedTuple):
    """Which object is meant."""

    kind: WorkloadKind
    namespace: str
    name: str

    def __str__(self) -> str:
        """Return it as messages name it."""
        return f"{self.kind.kind} {self.namespace}/{self.name}"


async def read_workloads(
    client: ApiClient, names: Iterable[LiveName]
) -> dict[LiveName, SourceFile]:
    """Return the objects of these names that the cluster has, as JSON.

    Raises:
        ClusterError: the cluster cannot be asked, or refuses one of them.
    """
    turns = asyncio.Semaphore(_AT_ONCE)

    async def read(name: LiveName) -> tuple[LiveName, SourceFile] | None:
        async with turns:
            json = await _get(client, name)
        return None if json is None else (name, _manifest(name, json))

    answers = await asyncio.gather(*map(read, dict.fromkeys(names)))
    return dict(answer for answer in answers if answer is not None)


async def _get(client: ApiClient, name: LiveName) -> Object | None:
    kind = name.kind
    group, _, version = kind.api_version.rpartition("/")
    resource = Resource(f"{kind.kind.lower()}s", group, version)
    try:
        return await client.get(resource, name.namespace, name.name)
    except ApiError as error:
        if error.code == _NOT_FOUND:
            return None
        raise


def _manifest(name: LiveName, json: Object) -> SourceFile:
    """Return an object without what the server has added beside its settings."""
    metadata = json.get("metadata")
    own = {key: value for key, value in json.items() if key != "status"}
    if isinstance(metadata, dict):
        own["metadata"] = {
            key: value for key, value in metadata.items() if key != "managedFields"
        }
    own |= {"apiVersion": name.kind.api_version, "kind": name.kind.kind}
    return SourceFile(f"cluster:{name}", msgspec.json.encode(own))
