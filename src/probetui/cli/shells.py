"""The command that opens a shell in a container, by the runtime's own program."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from probetui.cli.session_options import RuntimeOptions
from probetui.k8s.runtime import ContainerID

_BEST_SHELL = "command -v bash >/dev/null && exec bash || exec sh"
_CRI = frozenset({"containerd", "cri-o"})


def shells(options: RuntimeOptions) -> Callable[[ContainerID], Sequence[str]]:
    """Return what gives the command for a container; empty where there is none.

    Processes have none: they run on this machine, where there is a shell already.
    """

    def command(container_id: ContainerID) -> Sequence[str]:
        kind, _, own_id = container_id.partition("://")
        inside = ("exec", "-it", own_id, "sh", "-c", _BEST_SHELL)
        if kind == "docker":
            return ("docker", *_docker_place(options), *inside)
        if kind in _CRI:
            return ("crictl", *_cri_place(options), *inside)
        return ()

    return command


def _docker_place(options: RuntimeOptions) -> tuple[str, ...]:
    if options.host:
        return ("--host", options.host)
    return ("--context", options.context) if options.context else ()


def _cri_place(options: RuntimeOptions) -> tuple[str, ...]:
    endpoint = options.runtime_endpoint
    return ("--runtime-endpoint", endpoint) if endpoint else ()
