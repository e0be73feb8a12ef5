"""This machine as a node: its addresses, capacity and system.

Source: nodestatus/setters.go, v1.32.10.
"""

from __future__ import annotations

import platform
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from probetui import __version__
from probetui.errors import UsageError
from probetui.k8s.api.quantity import format_quantity
from probetui.k8s.runtime import Node
from probetui.kubelet.nodestatus.node_status import ARCHITECTURES, NodeFacts
from probetui.kubelet_rules import KubeletRules
from probetui.manifest.validation.names import check_subdomain
from probetui.untrusted_files import read_kernel_file

MOST_PODS = "110"
_HTTPS = 443
_LONGEST_HOST, _LONGEST_LABEL = 200, 63
_UNFIT = re.compile(r"[^a-z0-9.]+")


def default_node_name() -> str:
    """Return a name for a node on this machine that an API server takes."""
    return "-".join(filter(None, ("probetui", _host_name(_LONGEST_HOST))))


def check_node_name(name: str) -> None:
    """Refuse a name that an API server would refuse; raises `UsageError`."""
    for problem in check_subdomain(name):
        raise UsageError(f"--name {name}: {problem}")


def _host_name(longest: int) -> str:
    """Return this machine's name as a node name allows it, empty if nothing is left."""
    labels = _UNFIT.sub("-", platform.node().lower()).split(".")
    name = ".".join(filter(None, (label.strip("-") for label in labels)))
    return name[:longest].rstrip("-.")


def node_facts(
    name: str,
    address: str,
    node: Node,
    runtime: tuple[str, str],
    rules: KubeletRules,
    port: int,
) -> NodeFacts:
    """Return the facts of this machine as a node.

    An API server dials the Hostname before the InternalIP, and may not resolve this
    machine's name: both are the address, as with `--hostname-override`.

    Args:
        name: the node's name.
        address: the node's address.
        node: the runtime's description of the machine.
        runtime: the runtime's name and version.
        rules: those of the kubelet's version.
        port: the port of the kubelet's API, 0 for none.
    """
    return NodeFacts(
        name,
        _host_name(_LONGEST_LABEL) or name,
        (address,),
        {
            **{
                resource: format_quantity(amount)
                for resource, amount in sorted(node.allocatable.items())
            },
            "pods": MOST_PODS,
        },
        _system_info(*runtime, rules),
        port,
        host_address=address,
    )


def address_towards(server: str) -> str:
    """Return the address of this machine from which a server is reached.

    Nothing is sent: a datagram socket only looks up the route.
    """
    parts = urlsplit(server)
    try:
        addresses = socket.getaddrinfo(
            parts.hostname or "", parts.port or _HTTPS, type=socket.SOCK_DGRAM
        )
        family, kind, protocol, _, address = addresses[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(address)
            own: str = probe.getsockname()[0]
            return own
    except OSError:
        return "127.0.0.1"  # the server is unreachable as well, which is reported


def _system_info(
    runtime: str, runtime_version: str, rules: KubeletRules
) -> Mapping[str, str]:
    """Return `v1.NodeSystemInfo`."""
    numbers = [word for word in runtime_version.split() if word[:1].isdigit()]
    machine = _read("/etc/machine-id")
    architecture = platform.machine()
    return {
        "machineID": machine,
        "systemUUID": machine,
        "bootID": _read("/proc/sys/kernel/random/boot_id"),
        "kernelVersion": platform.release(),
        "osImage": _system_name(),
        "containerRuntimeVersion": f"{runtime}://{(numbers or [__version__])[0]}",
        "kubeletVersion": f"v{rules.full_version}+probetui",
        "kubeProxyVersion": "",
        "operatingSystem": platform.system().lower(),
        "architecture": ARCHITECTURES.get(architecture, architecture),
    }


def _system_name() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return f"{platform.system()} {platform.release()}"


def _read(path: str) -> str:
    try:
        return read_kernel_file(Path(path)).decode("ascii").strip()
    except (OSError, ValueError):
        return ""
