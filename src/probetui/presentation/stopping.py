"""What a container that is told to stop gets first: its preStop hook or SIGTERM."""

from __future__ import annotations

from probetui.k8s.pod import Container


def is_hooked(container: Container | None, grace_seconds: int | None) -> bool:
    """Tell whether a preStop hook runs before SIGTERM; a grace of 0 leaves no time.

    Source: kuberuntime_container.go, v1.32.10, killContainer.
    """
    has_hook = container is not None and container.pre_stop is not None
    return has_hook and grace_seconds != 0


def told_first(container: Container | None, grace_seconds: int | None) -> str:
    """Return `SIGTERM` with what comes before it.

    When SIGTERM comes after a hook, only the runtime knows.
    """
    hooked = is_hooked(container, grace_seconds)
    return "preStop, then SIGTERM" if hooked else "SIGTERM"


def given(container: Container | None, grace_seconds: int) -> str:
    """Return the same as a plain line has it: `grace=6s`, `grace=6s pre-stop`."""
    hook = " pre-stop" if is_hooked(container, grace_seconds) else ""
    return f"grace={grace_seconds}s{hook}"
