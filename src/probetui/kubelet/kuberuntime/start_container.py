"""Starting a container: image, config, create, start, postStart hook.

Source: kuberuntime_container.go, v1.32.10, startContainer.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from msgspec import Struct

from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import SleepAction, TCPSocketAction
from probetui.k8s.runtime import ContainerID, Node, RuntimeContainerStatus, RuntimeState
from probetui.kubelet.effects import (
    CreateContainer,
    GetImageUser,
    RunHook,
    StartContainer,
)
from probetui.kubelet.images.image_manager import ImageManager
from probetui.kubelet.images.keyring import find_pull_secrets
from probetui.kubelet.journal import ExitCause, HookType, LifecycleStep
from probetui.kubelet.kuberuntime.container_config import make_container_config
from probetui.kubelet.kuberuntime.container_hash import container_hash
from probetui.kubelet.kuberuntime.container_lifecycle import ContainerLifecycle
from probetui.kubelet.kuberuntime.downward_api import PodLocation
from probetui.kubelet.kuberuntime.grace_period import KillReason
from probetui.kubelet.kuberuntime.killing import (
    CANNOT_RUN_HANDLER,
    Kill,
    Killer,
    hook_failure,
    record_https_fallback,
)
from probetui.kubelet.kuberuntime.reason_cache import StartFailure
from probetui.kubelet.kuberuntime.security_context import (
    needs_image_user,
    parse_image_user,
)
from probetui.kubelet.object_store import ConfigRefusal, ObjectStore
from probetui.kubelet.runtime.routines import NOW, Routine, StepResult, WaitFor
from probetui.kubelet.runtime.turn import TurnBuilder
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

CREATE_CONTAINER_CONFIG_ERROR = "CreateContainerConfigError"
CREATE_CONTAINER_ERROR = "CreateContainerError"
RUN_CONTAINER_ERROR = "RunContainerError"
POST_START_HOOK_ERROR = "PostStartHookError"


class RunningSandbox(Struct, frozen=True):
    """The sandbox for new containers."""

    sandbox_id: str
    pod_ip: str


class ContainerStarter:
    """Creates the routines that start a container; owned by `PodSyncer`.

    Args:
        turn: collects events, entries and effects.
        killer: stops containers.
        images: image pulls.
        lifecycle: records the starts and ends of containers.
        objects: the ConfigMaps and Secrets there are.
        node: the facts about the machine that pods may refer to.
        rules: those of the kubelet's version.
    """

    def __init__(
        self,
        turn: TurnBuilder,
        killer: Killer,
        images: ImageManager,
        lifecycle: ContainerLifecycle,
        objects: ObjectStore,
        node: Node,
        rules: KubeletRules = PORTED_RULES,
    ) -> None:
        self._rules = rules
        self._turn = turn
        self._killer = killer
        self._images = images
        self._lifecycle = lifecycle
        self._objects = objects
        self._node = node

    def start(
        self,
        pod: Pod,
        container: Container,
        attempt: int,
        sandbox: RunningSandbox,
        now: datetime,
    ) -> Routine[StartFailure | None]:
        """Pull, create, start, and run the postStart hook.

        `attempt` is the number of earlier instances of the container.

        Source: kuberuntime_container.go, v1.32.10, startContainer.
        """
        secrets, _ = find_pull_secrets(pod, self._objects)
        image = yield from self._images.ensure_image(pod, container, now, secrets)
        if image.reason:
            now = (yield NOW).at
            self._fail(pod, container, image.reason, now)
            return StartFailure(image.reason, image.message)
        config = yield from self._make_config(pod, container, sandbox, image.image_id)
        if isinstance(config, ConfigRefusal):
            now = (yield NOW).at
            self._fail(pod, container, config.message, now)
            return StartFailure(CREATE_CONTAINER_CONFIG_ERROR, config.message)
        created = yield CreateContainer(
            pod,
            config,
            sandbox.sandbox_id,
            attempt,
            image.image_id,
            container_hash(container, self._rules),
        )
        if created.error is not None:
            self._fail(pod, container, created.error, created.at)
            # The kubelet prepares mounts with the config, before it calls the runtime.
            reason = CREATE_CONTAINER_ERROR
            if created.config_error:
                reason = CREATE_CONTAINER_CONFIG_ERROR
            return StartFailure(reason, created.error)
        container_id = ContainerID(str(created.value))
        self._turn.normal(
            pod,
            "Created",
            self._rules.created_text.format(name=container.name),
            created.at,
            container.name,
        )
        journal = partial(
            self._lifecycle.record_step, pod.uid, container.name, container_id, attempt
        )
        journal(LifecycleStep.CREATED, created.at)
        started = yield StartContainer(container_id)
        if started.error is not None:
            self._fail(pod, container, started.error, started.at)
            return StartFailure(RUN_CONTAINER_ERROR, started.error)
        self._turn.normal(
            pod,
            "Started",
            self._rules.started_text.format(name=container.name),
            started.at,
            container.name,
        )
        journal(LifecycleStep.STARTED, started.at)
        instance = RuntimeContainerStatus(
            container_id,
            container.name,
            RuntimeState.RUNNING,
            restart_count=attempt,
        )
        return (
            yield from self._run_post_start(
                pod, container, instance, sandbox, started.at
            )
        )

    def _make_config(
        self, pod: Pod, container: Container, sandbox: RunningSandbox, image_id: str
    ) -> Routine[Container | ConfigRefusal]:
        """Return the config to create the container with, or why there is none."""
        user = None
        if needs_image_user(pod, container):
            asked = yield GetImageUser(image_id)
            if asked.error is not None:
                return ConfigRefusal(asked.error)
            if isinstance(asked.value, str):
                user = parse_image_user(asked.value)
        where = self._pod_location(pod, sandbox)
        return make_container_config(pod, container, self._objects, where, user)

    def _pod_location(self, pod: Pod, sandbox: RunningSandbox) -> PodLocation:
        pod_ip = self._node.ip if pod.host_network else sandbox.pod_ip
        return PodLocation(self._node, (pod_ip,) if pod_ip else ())

    def _run_post_start(
        self,
        pod: Pod,
        container: Container,
        instance: RuntimeContainerStatus,
        sandbox: RunningSandbox,
        now: datetime,
    ) -> Routine[StartFailure | None]:
        """Run the postStart hook; kill the container if it fails.

        The pod's IP is that of the status read before the sync, as in the kubelet, or
        of the sandbox that was just made.
        """
        handler = container.post_start
        if handler is None:
            return None
        outcome: StepResult
        if isinstance(handler, SleepAction):
            journal = partial(
                self._lifecycle.hook_sleeps,
                pod,
                container,
                instance.container_id,
                HookType.POST_START,
                now,
            )
            journal()
            outcome = yield WaitFor((), now + timedelta(seconds=handler.seconds))
            journal(outcome.at)
        elif isinstance(handler, TCPSocketAction):
            outcome = StepResult(now, error=CANNOT_RUN_HANDLER)
        else:
            outcome = yield RunHook(
                pod,
                container,
                instance.container_id,
                handler,
                sandbox.pod_ip,
                self._rules,
            )
            record_https_fallback(self._turn, pod, outcome, outcome.at)
        if outcome.error is None:
            return None
        message = hook_failure(pod, container, handler, outcome, self._rules)
        has_error = self._rules.tells_hook_errors
        self._turn.warning(
            pod,
            "FailedPostStartHook",
            message if has_error else "PostStartHook failed",
            outcome.at,
            container.name,
        )
        kill = Kill(
            instance,
            KillReason.FAILED_POST_START_HOOK,
            KillReason.FAILED_POST_START_HOOK,
            ExitCause.POST_START_HOOK,
        )
        # The kubelet logs an error of this kill and goes on; so do the events.
        yield from self._killer.kill_container(pod, kill, sandbox.pod_ip, outcome.at)
        if has_error:
            # Error and text are one here: the reason of the state contains both.
            return StartFailure(f"{POST_START_HOOK_ERROR}: {outcome.error}", message)
        return StartFailure(POST_START_HOOK_ERROR, message)

    def _fail(self, pod: Pod, container: Container, error: str, now: datetime) -> None:
        self._turn.warning(pod, "Failed", f"Error: {error}", now, container.name)
