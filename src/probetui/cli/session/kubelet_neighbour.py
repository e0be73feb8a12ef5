"""A kubelet that uses the same container runtime, and would kill what we run there."""

from __future__ import annotations

from probetui.cli.printing import Notes
from probetui.errors import UsageError
from probetui.ports import Runtime


async def refuse_beside_kubelet(
    runtime: Runtime, notes: Notes, *, is_accepted: bool
) -> None:
    """Refuse to run pods where a kubelet runs some; with an option, warn.

    A kubelet lists all pods of its runtime and kills each that it does not know, within
    seconds.

    Args:
        runtime: where the pods are to run.
        notes: where the warning goes.
        is_accepted: whether `--beside-kubelet` is given.

    Raises:
        UsageError: there is a kubelet, and the option is not given.
        ContainerRuntimeError: the runtime could not be asked.

    Source: kubelet/kubelet_pods.go, v1.32.10, HandlePodCleanups.
    """
    pods = await runtime.kubelet_pods()
    if not pods:
        return
    more = f" and {len(pods) - 1} more" if len(pods) > 1 else ""
    text = (
        f"{runtime.name} runs pods of a kubelet ({pods[0]}{more}), which kills each "
        "pod that it does not know"
    )
    if not is_accepted:
        raise UsageError(
            f"{text}: nothing was started; choose another runtime (--runtime, "
            "--runtime-endpoint), or run the pods there with --beside-kubelet"
        )
    notes.warning(f"{text}: those of this session too")
