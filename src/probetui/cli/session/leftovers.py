"""What earlier sessions left of pods that are about to run."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from probetui.cli.printing import Notes
from probetui.cli.runtimes import all_pods, remove_pods
from probetui.errors import UsageError
from probetui.k8s.pod import Pod
from probetui.ports import Runtime, UnownedPod


async def replace_leftovers(
    runtime: Runtime, pods: Sequence[Pod], notes: Notes, own: Collection[str] = ()
) -> None:
    """Remove other pods with the same names that an earlier run left.

    Args:
        runtime: where they are.
        pods: those that are about to run.
        notes: where warnings go.
        own: uids of pods that this session has run, which it ends itself.

    Raises:
        UsageError: a pod of that name is somebody else's.
        ContainerRuntimeError: the runtime refused.
    """
    uids = {*own, *(pod.uid for pod in pods)}
    names = {(pod.namespace, pod.name) for pod in pods}
    for other in await runtime.unowned_pods():
        status = other.status
        if status.pod_uid in uids or (status.namespace, status.name) in names:
            raise UsageError(_conflict_text(runtime, other))
    old = [
        status
        for status in await all_pods(runtime)
        if status.pod_uid not in uids and (status.namespace, status.name) in names
    ]
    for status in old:
        notes.note(f"removing {status.namespace}/{status.name} of an earlier run")
    await remove_pods(runtime, old, grace_period_seconds=0)


def _conflict_text(runtime: Runtime, pod: UnownedPod) -> str:
    """Return why a pod that exists already is not taken over, and what to do."""
    name = f"{pod.status.namespace}/{pod.status.name}"
    return (
        f"pod {name} is on {runtime.name} already: {pod.made_by or 'another user'} "
        "made it; `probetui down --all-users -f FILE` removes it"
    )
