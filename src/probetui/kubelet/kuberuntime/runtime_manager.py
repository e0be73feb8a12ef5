"""The runtime manager: starts, stops and back-off of containers.

Source: kuberuntime/kuberuntime_manager.go, v1.32.10, NewKubeGenericRuntimeManager.
"""

from __future__ import annotations

from collections.abc import Mapping

from probetui.k8s.probe import ProbeType
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.images.image_manager import ImageManager
from probetui.kubelet.kuberuntime.action_policy import ActionPolicy
from probetui.kubelet.kuberuntime.container_lifecycle import ContainerLifecycle
from probetui.kubelet.kuberuntime.init_actions import StoredResults
from probetui.kubelet.kuberuntime.killing import Killer
from probetui.kubelet.kuberuntime.sync_pod import PodSyncer
from probetui.kubelet.object_store import ObjectStore
from probetui.kubelet.runtime.backoff import Backoff
from probetui.kubelet.runtime.turn import TurnBuilder


class RuntimeManager:
    """The connected parts for containers; owned by the kubelet.

    Args:
        config: back-off windows, grace periods, the node.
        turn: where effects and journal entries go.
        lifecycle: where the steps of containers' lives are journaled.
        results: the probe results, by type.
        objects: the ConfigMaps and Secrets.
        policy: the actions that are allowed.
    """

    def __init__(
        self,
        config: KubeletConfig,
        turn: TurnBuilder,
        lifecycle: ContainerLifecycle,
        results: Mapping[ProbeType, StoredResults],
        objects: ObjectStore,
        policy: ActionPolicy,
    ) -> None:
        expiry = config.backoff_expiry
        self.lifecycle = lifecycle
        self.backoff = Backoff(*config.restart_back_off, expiry)
        self.image_backoff = Backoff(config.backoff_initial, config.backoff_max, expiry)
        rules = config.rules
        self.killer = Killer(
            turn, lifecycle, config.minimum_grace_period_seconds, rules
        )
        self.syncer = PodSyncer(
            turn,
            self.killer,
            ImageManager(turn, self.image_backoff, rules),
            self.backoff,
            lifecycle,
            results[ProbeType.LIVENESS],
            results[ProbeType.STARTUP],
            objects,
            config.node,
            policy,
            rules,
        )
