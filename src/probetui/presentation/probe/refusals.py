"""Explain why a connection was refused, from the listening sockets."""

from __future__ import annotations

from probetui.k8s.runtime import ANYWHERE, Listeners, ListenerScope, SocketAddress
from probetui.kubelet.journal import ListenersEntry

_MOST_NAMED = 4
"""The most endpoints that are listed; more would fill the line."""

_WHO = {
    ListenerScope.CONTAINER: "the container",
    ListenerScope.POD: "the pod",
    ListenerScope.MACHINE: "this machine, whose network it shares,",
}


def refusal_text(entry: ListenersEntry) -> str:
    """Explain why a connection was refused, as a clause without a full stop."""
    if entry.listeners is None:
        return f"its listening ports are unknown: {entry.problem}"
    return why_refused(entry.refused_at, entry.listeners)


def as_sentence(clause: str) -> str:
    """Return a clause with a capital letter and a full stop."""
    return f"{clause[0].upper()}{clause[1:]}."


def why_refused(refused_at: SocketAddress, listeners: Listeners) -> str:
    """Explain why a connection was refused, given the current listeners."""
    port = refused_at.port
    on_port = [endpoint for endpoint in listeners.endpoints if endpoint.port == port]
    who = _WHO[listeners.extent]
    if any(_reaches(endpoint, refused_at) for endpoint in on_port):
        return (
            f"{who} listens on {_named(on_port)} now: it started since, or did not "
            "accept the connection"
        )
    if on_port:
        return (
            f"{who} listens on {_named(on_port)} only; the probe connects to "
            f"{refused_at.address}, so it is refused"
        )
    if listeners.extent is ListenerScope.MACHINE:
        return f"nothing on this machine, whose network it shares, listens on {port}"
    if listeners.endpoints:
        elsewhere = _named(listeners.endpoints)
        return f"nothing listens on {port}; {who} listens on {elsewhere}"
    return f"nothing listens on {port}: {who} listens on no port at all"


def _reaches(listener: SocketAddress, target: SocketAddress) -> bool:
    return listener.address in ANYWHERE or listener.address == target.address


def _named(endpoints: tuple[SocketAddress, ...] | list[SocketAddress]) -> str:
    named = ", ".join(str(endpoint) for endpoint in endpoints[:_MOST_NAMED])
    more = len(endpoints) - _MOST_NAMED
    return f"{named} and {more} more" if more > 0 else named
