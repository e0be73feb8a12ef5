"""How pods resolve names: `/etc/resolv.conf` and `/etc/hosts` as the kubelet has them.

Source: kubelet/network/dns/dns.go, v1.32.10, GetPodDNS, appendDNSConfig,
parseResolvConf; kubelet/kubelet_pods.go, managedHostsFileContent,
nodeHostsFileContent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from probetui.k8s.network import DNSOption, HostAlias
from probetui.k8s.pod import Pod

MAX_SERVERS = 3
MAX_SEARCHES = 32

_HEADER = """\
# Kubernetes-managed hosts file{}.
"""
_LOCAL_NAMES = """\
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
"""


@dataclass(frozen=True, slots=True)
class NameServers:
    """What `/etc/resolv.conf` says."""

    servers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


def parse_resolv_conf(text: str) -> NameServers:
    """Read a machine's own; of several search lines the last one counts."""
    servers: list[str] = []
    searches: list[str] = []
    options: list[str] = []
    for line in text.splitlines():
        match line.split():
            case ["nameserver", server, *_]:
                servers.append(server)
            case ["search", *domains]:
                searches = [_domain(each) for each in domains]
            case ["options", *words]:
                options += words
            case _:
                continue
    return NameServers(tuple(servers), tuple(searches), tuple(options))


def pod_name_servers(pod: Pod, machine: NameServers) -> NameServers:
    """Return those of a pod: the machine's, and its own after them.

    There is no cluster whose servers would come first.
    """
    base = NameServers() if pod.dns_policy == "None" else machine
    own = pod.dns_config
    servers = _once(base.servers + own.nameservers)
    searches = _once(base.searches + own.searches)
    return NameServers(
        servers[:MAX_SERVERS],
        searches[:MAX_SEARCHES],
        _merged(base.options, own.options),
    )


def hosts_file(pod: Pod, hostname: str, ip: str, machines: str) -> str:
    """Return what a pod's containers find in `/etc/hosts`.

    Args:
        pod: the pod.
        hostname: how it is called.
        ip: its address, empty in the network of the machine.
        machines: the machine's own file, for pods in its network.
    """
    if pod.host_network:
        return _HEADER.format(" (host network)") + machines + _aliases(pod.host_aliases)
    own = f"{ip}\t{hostname}\n" if ip else ""
    return _HEADER.format("") + _LOCAL_NAMES + own + _aliases(pod.host_aliases)


def _aliases(aliases: Iterable[HostAlias]) -> str:
    lines = ["\t".join((each.ip, *each.hostnames)) for each in aliases]
    return (
        "\n".join(("", "# Entries added by HostAliases.", *lines, "")) if lines else ""
    )


def _domain(text: str) -> str:
    """Return a search domain without the dot that stands for the root."""
    return text if text == "." else text.removesuffix(".")


def _once(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


def _merged(machines: Iterable[str], own: Iterable[DNSOption]) -> tuple[str, ...]:
    """Return the options of both; of one name, the pod's own counts."""
    found = {each.partition(":")[0]: each for each in machines}
    for option in own:
        value = "" if option.value is None else f":{option.value}"
        found[option.name] = f"{option.name}{value}"
    return tuple(found.values())
