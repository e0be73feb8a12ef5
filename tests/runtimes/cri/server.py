"""A small CRI runtime in this process: it keeps states and runs nothing.

Tests inject its errors: `lacks`, `hanging`, `refusing`.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from probetui.runtimes.cri import client as calls
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import CriMethod
from probetui.runtimes.ownership_ledger import OwnershipLedger
from probetui.runtimes.translation import OWNER

METHODS: tuple[CriMethod[Any, Any], ...] = tuple(
    var for var in vars(calls).values() if isinstance(var, CriMethod)
)
IMAGE_ID = "sha256:" + "1c" * 32
IMAGE = "busybox:1.36"
NANOSECONDS = 1_000_000_000


class CriServer:
    """A runtime on a socket.

    Args:
        socket: where it listens.
        lacks: methods, or services, that it does not have.

    Attributes:
        call_counts: how often each method was called.
        hanging: methods that do not answer before the event is set.
        refusing: methods that answer with this code.
        failing_after: methods that succeed, but answer with this code.
        cancelled_counts: how often the client cancelled each method.
        pulls: the pulls, in order.
        happened: the events for clients that follow them.
        ownership: the notes that objects with our label are ours.
    """

    def __init__(self, socket: str, lacks: frozenset[str] = frozenset()) -> None:
        self.socket = socket
        self.lacks = lacks
        self.supports_filters = True
        self.conditions = {"RuntimeReady": "", "NetworkReady": ""}
        self.call_counts: Counter[str] = Counter()
        self.hanging: dict[str, asyncio.Event] = {}
        self.refusing: dict[str, grpc.StatusCode] = {}
        self.failing_after: dict[str, grpc.StatusCode] = {}
        self.cancelled_counts: Counter[str] = Counter()
        self.happened: asyncio.Queue[cri.ContainerEventResponse] = asyncio.Queue()
        self.pulls: list[cri.PullImageRequest] = []
        self.images = {IMAGE: cri.Image(id=IMAGE_ID, repo_tags=[IMAGE], size=4)}
        self.sandboxes: dict[str, cri.PodSandboxStatus] = {}
        self.containers: dict[str, tuple[str, cri.ContainerStatus]] = {}
        self.info: dict[str, str] = {}
        self.ownership: OwnershipLedger | None = None
        self.streaming_url = "http://127.0.0.1:9/"
        self.exec_answer = cri.ExecSyncResponse(stdout=b"out", stderr=b"err")
        self._numbers = itertools.count(1)
        self._server: grpc.aio.Server | None = None

    # -- life

    async def start(self) -> None:
        """Begin to answer."""
        self._server = grpc.aio.server()
        services: dict[str, dict[str, Any]] = {}
        for method in METHODS:
            if self.lacks.isdisjoint({method.name, method.service}):
                services.setdefault(method.service, {})[method.name] = self._handler(
                    method
                )
        for name, methods in services.items():
            self._server.add_generic_rpc_handlers(
                (grpc.method_handlers_generic_handler(name, methods),)
            )
        assert self._server.add_insecure_port(f"unix://{self.socket}")
        await self._server.start()

    async def stop(self) -> None:
        """Stop at once, as if killed."""
        if self._server is not None:
            await self._server.stop(None)
            self._server = None

    def _handler(self, method: CriMethod[Any, Any]) -> Any:
        words = re.sub("(?<!^)(?=[A-Z])", "_", method.name).lower()
        answer = getattr(self, words)
        serializing = {
            "request_deserializer": method.request.FromString,
            "response_serializer": method.answer.SerializeToString,
        }
        if method is calls.GET_CONTAINER_EVENTS:
            return grpc.unary_stream_rpc_method_handler(answer, **serializing)

        async def handle(request: Any, context: Any) -> Any:
            self.call_counts[method.name] += 1
            if code := self.refusing.get(method.name):
                await context.abort(code, f"{method.name} is refused")
            try:
                if event := self.hanging.get(method.name):
                    await event.wait()
            except asyncio.CancelledError:
                self.cancelled_counts[method.name] += 1
                raise
            try:
                answered = answer(request)
            except KeyError as error:
                await context.abort(grpc.StatusCode.NOT_FOUND, f"{error}: not found")
                raise
            if code := self.failing_after.get(method.name):
                await context.abort(code, f"{method.name} has failed")
            return answered

        return grpc.unary_unary_rpc_method_handler(handle, **serializing)

    def _new_id(self) -> str:
        return f"{next(self._numbers):064x}"

    # -- its state, for tests to change

    def add_container(
        self, labels: Mapping[str, str], state: Any = cri.CONTAINER_RUNNING
    ) -> str:
        """Have a sandbox with a container that carry these labels; return its ID."""
        sandbox_id, container_id = self._new_id(), self._new_id()
        self.sandboxes[sandbox_id] = cri.PodSandboxStatus(
            id=sandbox_id,
            metadata=cri.PodSandboxMetadata(name="web", uid=sandbox_id),
            created_at=NANOSECONDS,
            network=cri.PodSandboxNetworkStatus(ip="10.0.0.2"),
            labels=labels,
        )
        status = cri.ContainerStatus(
            id=container_id,
            metadata=cri.ContainerMetadata(name="app"),
            state=state,
            created_at=NANOSECONDS,
            started_at=2 * NANOSECONDS,
            image=cri.ImageSpec(image=IMAGE),
            image_ref=IMAGE_ID,
            labels=labels,
        )
        self.containers[container_id] = (sandbox_id, status)
        if self.ownership is not None and labels.get(OWNER) == "me":
            self.ownership.take_over(sandbox_id, "a sandbox")
            self.ownership.take_over(container_id, "a container")
        return container_id

    def end_container(self, container_id: str, exit_code: int = 0) -> None:
        """Let a container end."""
        _, status = self.containers[container_id]
        status.state = cri.CONTAINER_EXITED
        status.finished_at = 3 * NANOSECONDS
        status.exit_code = exit_code

    # -- the runtime itself

    def version(self, _request: cri.VersionRequest) -> cri.VersionResponse:
        return cri.VersionResponse(
            runtime_name="fake", runtime_version="0", runtime_api_version="v1"
        )

    def status(self, _request: cri.StatusRequest) -> cri.StatusResponse:
        conditions = [
            cri.RuntimeCondition(
                type=type_, status=not why, reason="NotYet", message=why
            )
            for type_, why in self.conditions.items()
        ]
        return cri.StatusResponse(status=cri.RuntimeStatus(conditions=conditions))

    # -- sandboxes

    def run_pod_sandbox(
        self, request: cri.RunPodSandboxRequest
    ) -> cri.RunPodSandboxResponse:
        config = request.config
        sandbox_id = self._new_id()
        self.sandboxes[sandbox_id] = cri.PodSandboxStatus(
            id=sandbox_id,
            metadata=config.metadata,
            created_at=NANOSECONDS,
            network=cri.PodSandboxNetworkStatus(ip="10.0.0.2"),
            labels=config.labels,
            annotations=config.annotations,
        )
        return cri.RunPodSandboxResponse(pod_sandbox_id=sandbox_id)

    def stop_pod_sandbox(
        self, request: cri.StopPodSandboxRequest
    ) -> cri.StopPodSandboxResponse:
        self.sandboxes[request.pod_sandbox_id].state = cri.SANDBOX_NOTREADY
        return cri.StopPodSandboxResponse()

    def remove_pod_sandbox(
        self, request: cri.RemovePodSandboxRequest
    ) -> cri.RemovePodSandboxResponse:
        del self.sandboxes[request.pod_sandbox_id]
        return cri.RemovePodSandboxResponse()

    def pod_sandbox_status(
        self, request: cri.PodSandboxStatusRequest
    ) -> cri.PodSandboxStatusResponse:
        return cri.PodSandboxStatusResponse(
            status=self.sandboxes[request.pod_sandbox_id],
            info=self._info(request.pod_sandbox_id, request.verbose),
        )

    def list_pod_sandbox(
        self, request: cri.ListPodSandboxRequest
    ) -> cri.ListPodSandboxResponse:
        items = [
            cri.PodSandbox(
                id=sandbox.id,
                metadata=sandbox.metadata,
                state=sandbox.state,
                created_at=sandbox.created_at,
                labels=sandbox.labels,
                annotations=sandbox.annotations,
            )
            for sandbox in self.sandboxes.values()
            if self._matches(sandbox.labels, request.filter.label_selector)
        ]
        return cri.ListPodSandboxResponse(items=items)

    def _matches(self, labels: Mapping[str, str], selector: Mapping[str, str]) -> bool:
        if not self.supports_filters:
            return True
        return all(labels.get(name) == value for name, value in selector.items())

    # -- containers

    def create_container(
        self, request: cri.CreateContainerRequest
    ) -> cri.CreateContainerResponse:
        config = request.config
        container_id = self._new_id()
        status = cri.ContainerStatus(
            id=container_id,
            metadata=config.metadata,
            created_at=NANOSECONDS,
            image=config.image,
            labels=config.labels,
            annotations=config.annotations,
            mounts=config.mounts,
        )
        self.containers[container_id] = (request.pod_sandbox_id, status)
        return cri.CreateContainerResponse(container_id=container_id)

    def start_container(
        self, request: cri.StartContainerRequest
    ) -> cri.StartContainerResponse:
        _, status = self.containers[request.container_id]
        status.state, status.started_at = cri.CONTAINER_RUNNING, 2 * NANOSECONDS
        return cri.StartContainerResponse()

    def stop_container(
        self, request: cri.StopContainerRequest
    ) -> cri.StopContainerResponse:
        self.end_container(request.container_id, exit_code=137)
        return cri.StopContainerResponse()

    def remove_container(
        self, request: cri.RemoveContainerRequest
    ) -> cri.RemoveContainerResponse:
        del self.containers[request.container_id]
        return cri.RemoveContainerResponse()

    def container_status(
        self, request: cri.ContainerStatusRequest
    ) -> cri.ContainerStatusResponse:
        return cri.ContainerStatusResponse(
            status=self.containers[request.container_id][1],
            info=self._info(request.container_id, request.verbose),
        )

    def _info(self, cri_id: str, is_verbose: Any) -> dict[str, str]:
        return {"info": self.info.get(cri_id, "")} if is_verbose else {}

    def list_containers(
        self, request: cri.ListContainersRequest
    ) -> cri.ListContainersResponse:
        containers = [
            cri.Container(
                id=status.id,
                pod_sandbox_id=sandbox_id,
                metadata=status.metadata,
                image=status.image,
                image_ref=status.image_ref,
                state=status.state,
                created_at=status.created_at,
                labels=status.labels,
            )
            for sandbox_id, status in self.containers.values()
            if self._matches(status.labels, request.filter.label_selector)
        ]
        return cri.ListContainersResponse(containers=containers)

    def reopen_container_log(
        self, request: cri.ReopenContainerLogRequest
    ) -> cri.ReopenContainerLogResponse:
        _, status = self.containers[request.container_id]
        Path(status.log_path).touch()
        return cri.ReopenContainerLogResponse()

    def exec_sync(self, _request: cri.ExecSyncRequest) -> cri.ExecSyncResponse:
        return self.exec_answer

    def exec(self, _request: cri.ExecRequest) -> cri.ExecResponse:
        return cri.ExecResponse(url=self.streaming_url)

    def attach(self, _request: cri.AttachRequest) -> cri.AttachResponse:
        return cri.AttachResponse(url=self.streaming_url)

    async def get_container_events(
        self, _request: cri.GetEventsRequest, _context: Any
    ) -> AsyncIterator[cri.ContainerEventResponse]:
        self.call_counts["GetContainerEvents"] += 1
        while True:
            yield await self.happened.get()

    # -- images

    def list_images(self, _request: cri.ListImagesRequest) -> cri.ListImagesResponse:
        return cri.ListImagesResponse(images=self.images.values())

    def image_status(self, request: cri.ImageStatusRequest) -> cri.ImageStatusResponse:
        name = request.image.image
        for image in self.images.values():
            if name in {image.id, *image.repo_tags}:
                return cri.ImageStatusResponse(image=image)
        return cri.ImageStatusResponse()

    def pull_image(self, request: cri.PullImageRequest) -> cri.PullImageResponse:
        self.pulls.append(request)
        name = request.image.image
        image_id = f"sha256:{next(self._numbers):064x}"
        self.images[name] = cri.Image(id=image_id, repo_tags=[name], size=7)
        return cri.PullImageResponse(image_ref=image_id)

    def remove_image(self, request: cri.RemoveImageRequest) -> cri.RemoveImageResponse:
        self.images = {
            name: image
            for name, image in self.images.items()
            if image.id != request.image.image
        }
        return cri.RemoveImageResponse()

    def image_fs_info(
        self, _request: cri.ImageFsInfoRequest
    ) -> cri.ImageFsInfoResponse:
        place = cri.FilesystemIdentifier(mountpoint="/")
        return cri.ImageFsInfoResponse(
            image_filesystems=[cri.FilesystemUsage(fs_id=place)]
        )
