"""`/etc/resolv.conf` and `/etc/hosts` of pods, as the kubelet writes them.

Source: kubelet/network/dns/dns.go, v1.32.10, GetPodDNS, appendDNSConfig,
parseResolvConf; kubelet/kubelet_pods.go, managedHostsFileContent,
nodeHostsFileContent.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from probetui.k8s.pod import DNSOption, HostAlias, Pod

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


class ResolvConf(Struct, frozen=True):
    """The contents of `/etc/resolv.conf`."""

    servers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


def parse_resolv_conf(text: str) -> ResolvConf:
    """Parse a `resolv.conf`; the last of several search lines counts."""
    servers: list[str] = []
    searches: list[str] = []
    options: list[str] = []
    for line in text.splitlines():
        match line.split():
            case ["nameserver", server, *_]:
                servers.append(server)
            case ["search", *domains]:
                # The root, a single dot, stays.
                searches = [domain.removesuffix(".") or domain for domain in domains]
            case ["options", *values]:
                options += values
            case _:
                continue
    return ResolvConf(tuple(servers), tuple(searches), tuple(options))


def pod_resolv_conf(pod: Pod, machine: ResolvConf) -> ResolvConf:
    """Return the name resolution of a pod: the machine's, then its dnsConfig.

    There is no cluster DNS.
    """
    base = ResolvConf() if pod.dns_policy == "None" else machine
    own = pod.dns_config
    servers = _once(base.servers + own.nameservers)
    searches = _once(base.searches + own.searches)
    return ResolvConf(
        servers[:MAX_SERVERS],
        searches[:MAX_SEARCHES],
        _merged(base.options, own.options),
    )


def format_hosts_file(pod: Pod, hostname: str, ip: str, machines: str) -> str:
    """Return the `/etc/hosts` of a pod's containers.

    Args:
        pod: the pod.
        hostname: its host name.
        ip: its IP, empty in the host's network.
        machines: the machine's `/etc/hosts`, for pods in the host's network.
    """
    if pod.host_network:
        return _HEADER.format(" (host network)") + machines + _aliases(pod.host_aliases)
    own = f"{ip}\t{hostname}\n" if ip else ""
    return _HEADER.format("") + _LOCAL_NAMES + own + _aliases(pod.host_aliases)


def _aliases(aliases: Iterable[HostAlias]) -> str:
    lines = ["\t".join((alias.ip, *alias.hostnames)) for alias in aliases]
    return (
        "\n".join(("", "# Entries added by HostAliases.", *lines, "")) if lines else ""
    )


def _once(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _merged(machines: Iterable[str], own: Iterable[DNSOption]) -> tuple[str, ...]:
    """Merge options by name; the pod's own win."""
    options = {machine.partition(":")[0]: machine for machine in machines}
    for option in own:
        value = "" if option.value is None else f":{option.value}"
        options[option.name] = f"{option.name}{value}"
    return tuple(options.values())
