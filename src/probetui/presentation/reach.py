"""How the programs of a runtime find the one that a session is on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reach:
    """Words that come after `docker` or `crictl`; none where they need none."""

    docker: tuple[str, ...] = ()
    cri: tuple[str, ...] = ()

    @classmethod
    def by(
        cls,
        *,
        host: str | None = None,
        context: str | None = None,
        runtime_endpoint: str | None = None,
    ) -> Reach:
        """Return the words for the options of a session; None where none was given."""
        if host:
            docker: tuple[str, ...] = ("-H", host)
        else:
            docker = ("--context", context) if context else ()
        return cls(docker, ("-r", runtime_endpoint) if runtime_endpoint else ())


AT_HAND = Reach()
