"""A gRPC client of the CRI over a Unix socket; the only module with a channel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any, Generic, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import Message
from msgspec import Struct

from probetui.errors import ContainerRuntimeError
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.errors import (
    CriStatusError,
    CriTimeoutError,
    to_runtime_error,
)

Q = TypeVar("Q", bound=Message)
A = TypeVar("A", bound=Message)

REQUEST_LIMIT = timedelta(minutes=2)
"""The time limit of a call; the kubelet's runtimeRequestTimeout."""

RUNTIME_SERVICE = "runtime.v1.RuntimeService"
IMAGE_SERVICE = "runtime.v1.ImageService"

_LONGEST_MESSAGE_BYTES = 16 * 1024 * 1024
_OPTIONS = (
    ("grpc.max_receive_message_length", _LONGEST_MESSAGE_BYTES),
    # The default would be the socket's path, which some servers refuse.
    ("grpc.default_authority", "localhost"),
    ("grpc.enable_http_proxy", 0),
    # Otherwise clients of one process share a connection and its reconnect pauses.
    ("grpc.use_local_subchannel_pool", 1),
    # A relist comes every second: no reconnect pause should be longer.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # No pause, despite its name: how long a busy runtime may take to greet a client.
    # As the kubelet's minConnectionTimeout. (cri-client remote_runtime.go, v1.32.10)
    ("grpc.min_reconnect_backoff_ms", 5000),
)


class CriMethod(Struct, Generic[Q, A], frozen=True):
    """An RPC of the CRI: its service, name, request type and response type."""

    service: str
    name: str
    request: type[Q]
    answer: type[A]

    @property
    def path(self) -> str:
        """The full method name of gRPC."""
        return f"/{self.service}/{self.name}"


def _runtime(name: str, request: type[Q], answer: type[A]) -> CriMethod[Q, A]:
    return CriMethod(RUNTIME_SERVICE, name, request, answer)


def _image(name: str, request: type[Q], answer: type[A]) -> CriMethod[Q, A]:
    return CriMethod(IMAGE_SERVICE, name, request, answer)


VERSION = _runtime("Version", cri.VersionRequest, cri.VersionResponse)
STATUS = _runtime("Status", cri.StatusRequest, cri.StatusResponse)
RUN_POD_SANDBOX = _runtime(
    "RunPodSandbox", cri.RunPodSandboxRequest, cri.RunPodSandboxResponse
)
STOP_POD_SANDBOX = _runtime(
    "StopPodSandbox", cri.StopPodSandboxRequest, cri.StopPodSandboxResponse
)
REMOVE_POD_SANDBOX = _runtime(
    "RemovePodSandbox", cri.RemovePodSandboxRequest, cri.RemovePodSandboxResponse
)
POD_SANDBOX_STATUS = _runtime(
    "PodSandboxStatus", cri.PodSandboxStatusRequest, cri.PodSandboxStatusResponse
)
LIST_POD_SANDBOX = _runtime(
    "ListPodSandbox", cri.ListPodSandboxRequest, cri.ListPodSandboxResponse
)
CREATE_CONTAINER = _runtime(
    "CreateContainer", cri.CreateContainerRequest, cri.CreateContainerResponse
)
START_CONTAINER = _runtime(
    "StartContainer", cri.StartContainerRequest, cri.StartContainerResponse
)
STOP_CONTAINER = _runtime(
    "StopContainer", cri.StopContainerRequest, cri.StopContainerResponse
)
REMOVE_CONTAINER = _runtime(
    "RemoveContainer", cri.RemoveContainerRequest, cri.RemoveContainerResponse
)
CONTAINER_STATUS = _runtime(
    "ContainerStatus", cri.ContainerStatusRequest, cri.ContainerStatusResponse
)
LIST_CONTAINERS = _runtime(
    "ListContainers", cri.ListContainersRequest, cri.ListContainersResponse
)
REOPEN_CONTAINER_LOG = _runtime(
    "ReopenContainerLog", cri.ReopenContainerLogRequest, cri.ReopenContainerLogResponse
)
EXEC_SYNC = _runtime("ExecSync", cri.ExecSyncRequest, cri.ExecSyncResponse)
EXEC = _runtime("Exec", cri.ExecRequest, cri.ExecResponse)
ATTACH = _runtime("Attach", cri.AttachRequest, cri.AttachResponse)
GET_CONTAINER_EVENTS = _runtime(
    "GetContainerEvents", cri.GetEventsRequest, cri.ContainerEventResponse
)
LIST_IMAGES = _image("ListImages", cri.ListImagesRequest, cri.ListImagesResponse)
IMAGE_STATUS = _image("ImageStatus", cri.ImageStatusRequest, cri.ImageStatusResponse)
PULL_IMAGE = _image("PullImage", cri.PullImageRequest, cri.PullImageResponse)
REMOVE_IMAGE = _image("RemoveImage", cri.RemoveImageRequest, cri.RemoveImageResponse)
IMAGE_FS_INFO = _image("ImageFsInfo", cri.ImageFsInfoRequest, cri.ImageFsInfoResponse)


class CriClient:
    """An asynchronous client of the CRI.

    Cancelling a call cancels it in the runtime too. The channel reconnects within a
    second after a runtime is back.

    Args:
        socket: the path of the runtime's socket.
        image_socket: the path of the image service's socket, empty for the same one.
    """

    def __init__(self, socket: str, image_socket: str = "") -> None:
        self.socket = socket
        channel = _channel(socket)
        images = channel
        if image_socket not in {"", socket}:
            images = _channel(image_socket)
        self._sockets = {RUNTIME_SERVICE: socket, IMAGE_SERVICE: image_socket or socket}
        self._channels = {RUNTIME_SERVICE: channel, IMAGE_SERVICE: images}
        self._calls: dict[str, Any] = {}

    async def call(
        self,
        method: CriMethod[Q, A],
        request: Q,
        *,
        limit: timedelta | None = REQUEST_LIMIT,
    ) -> A:
        """Make a call and return its response.

        Args:
            method: the RPC.
            request: its request message.
            limit: how long to wait for the response; None waits forever.

        Raises:
            RefusedError: the runtime refuses.
            NoAnswerError: it does not respond in time.
            ContainerRuntimeError: the runtime cannot be reached.
        """
        call = self._calls.get(method.path) or self._prepare(method)
        try:
            async with asyncio.timeout(
                None if limit is None else limit.total_seconds()
            ):
                answer: A = await call(request)
        except grpc.aio.AioRpcError as error:
            raise to_runtime_error(error, self._sockets[method.service]) from error
        except grpc.aio.UsageError as error:
            raise ContainerRuntimeError("the client is closed") from error
        except TimeoutError as error:
            raise CriTimeoutError(method.name, limit or timedelta()) from error
        return answer

    async def call_unless_gone(
        self, method: CriMethod[Q, A], request: Q, *, limit: timedelta = REQUEST_LIMIT
    ) -> A | None:
        """Make a call, see `call`; return None if the object is gone."""
        try:
            return await self.call(method, request, limit=limit)
        except CriStatusError as error:
            if error.code is grpc.StatusCode.NOT_FOUND:
                return None
            raise

    async def follow(self, method: CriMethod[Q, A], request: Q) -> AsyncGenerator[A]:
        """Yield the responses of a streaming RPC until it ends; raises if it breaks."""
        call = self._channels[method.service].unary_stream(
            method.path,
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.answer.FromString,
        )
        answers = call(request)
        try:
            async for answer in answers:
                yield answer
        except grpc.aio.AioRpcError as error:
            raise to_runtime_error(error, self._sockets[method.service]) from error
        finally:
            answers.cancel()

    async def has_method(self, path: str) -> bool:
        """Return whether the runtime implements a method, by an empty call."""
        channel = self._channels[RUNTIME_SERVICE]
        try:
            async with asyncio.timeout(REQUEST_LIMIT.total_seconds()):
                await channel.unary_unary(path)(b"")
        except grpc.aio.AioRpcError as error:
            return bool(error.code() is not grpc.StatusCode.UNIMPLEMENTED)
        return True

    async def close(self) -> None:
        """Close the channels; calls in flight are cancelled."""
        for channel in set(self._channels.values()):
            await channel.close()

    def _prepare(self, method: CriMethod[Q, A]) -> Any:
        call = self._channels[method.service].unary_unary(
            method.path,
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.answer.FromString,
        )
        self._calls[method.path] = call
        return call


def _channel(socket: str) -> grpc.aio.Channel:
    return grpc.aio.insecure_channel(f"unix://{socket}", _OPTIONS)
