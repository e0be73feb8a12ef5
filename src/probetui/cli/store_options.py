"""Options about a store and a time in the past, as values."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from probetui.cli.printing import Notes, print_line
from probetui.cluster.client import ApiClient
from probetui.cluster.kubeconfig import load_access
from probetui.cluster.prometheus.client import StoreAccess, StoreClient, read_pem
from probetui.cluster.prometheus.packaged import (
    DEMO,
    packaged_access,
    seconds_of_night,
)
from probetui.cluster.prometheus.services import AUTO, choose_store, service_access
from probetui.drive.clocks import SystemClock, awake_ns
from probetui.durations import format_age, parse_duration
from probetui.errors import UsageError
from probetui.ports import Clock
from probetui.safe_text import safe_line

if TYPE_CHECKING:
    from probetui.cli.commands.fleet import AskedTime, StoreOptions

TOKEN_VARIABLE = "PROBETUI_PROMETHEUS_TOKEN"  # noqa: S105  # the name of a variable
_TENANT_HEADER = "X-Scope-OrgID"
_DAY = timedelta(days=1)
_NIGHT = datetime(2026, 8, 31)  # noqa: DTZ001  # local, as people read a clock
_CLOCKS_DIFFER = timedelta(minutes=2)
_LONGEST = timedelta(days=366)
_DAYS = re.compile(r"([0-9]{1,4})([dw])")
_CLOCK = re.compile(r"(yesterday |today )?([0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?)")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def store_access(options: StoreOptions, notes: Notes) -> StoreAccess:
    """Return where the store is, which `auto` looks for in the cluster.

    It runs an event loop of its own.

    Args:
        options: of the command.
        notes: told which store was found.

    Raises:
        UsageError: an option cannot be used.
        StoreError: a file cannot be read, or no store be found.
        ClusterError: the cluster cannot be asked for its Services.
    """
    url = options.prometheus
    if not url:
        raise UsageError(
            "--prometheus URL names the Prometheus to ask; `auto` finds that of the "
            "cluster"
        )
    if url == DEMO:
        return packaged_access(_midnight().timestamp())
    headers = [_header(text) for text in options.prometheus_header]
    if options.prometheus_tenant:
        headers.append((_TENANT_HEADER, options.prometheus_tenant))
    if url == AUTO or url.startswith(f"{AUTO}:"):
        return _found_store(url, headers, options, notes)
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(
            "--prometheus: it is no http:// or https:// URL, nor auto or "
            "auto:NAMESPACE/NAME"
        )
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if options.prometheus_token_file is not None:
        token = read_pem(options.prometheus_token_file, "the token file")
    certificate = None
    if options.prometheus_key is not None and options.prometheus_cert is None:
        raise UsageError("--prometheus-key: there is no certificate to it")
    if options.prometheus_cert is not None:
        text = read_pem(options.prometheus_cert, "the certificate")
        key = options.prometheus_key
        certificate = text, "" if key is None else read_pem(key, "the key")
    ca_file = options.prometheus_ca
    return StoreAccess(
        url,
        tuple(headers),
        token,
        None if ca_file is None else read_pem(ca_file, "the authorities"),
        certificate,
        options.prometheus_insecure_tls,
    )


def now_of(options: StoreOptions, clock: Clock) -> datetime:
    """Return the instant that counts as now: the package's is after its night."""
    if options.prometheus == DEMO:
        return _midnight() + timedelta(seconds=seconds_of_night())
    return clock.now()


def default_length(options: StoreOptions, otherwise: timedelta = _DAY) -> timedelta:
    """Return which time is asked about by itself; of the package's store, its night."""
    is_demo = options.prometheus == DEMO
    return timedelta(seconds=seconds_of_night()) if is_demo else otherwise


def _midnight() -> datetime:
    """Return when the night of the package begins, by the clock on the wall here."""
    return _NIGHT.astimezone()


def _found_store(
    asked: str,
    headers: list[tuple[str, str]],
    options: StoreOptions,
    notes: Notes,
) -> StoreAccess:
    """Return how a store is asked through the API server, by the kubeconfig's rights.

    The token of the variable is for a store of another place.
    """
    for option, value in (
        ("--prometheus-token-file", options.prometheus_token_file),
        ("--prometheus-ca", options.prometheus_ca),
        ("--prometheus-cert", options.prometheus_cert),
        ("--prometheus-key", options.prometheus_key),
        ("--prometheus-insecure-tls", options.prometheus_insecure_tls),
    ):
        if value:
            raise UsageError(
                f"{option} is for a store with a URL: {AUTO} asks the API server, "
                "with the credentials of the kubeconfig"
            )
    if any(name.lower() == "authorization" for name, _ in headers):
        raise UsageError(
            "--prometheus-header Authorization is for a store with a URL: the API "
            "server passes none on"
        )
    access = load_access(options.kubeconfig, options.kube_context)
    clock = SystemClock(awake_ns)

    async def choose() -> StoreAccess:
        async with ApiClient(access, clock) as client:
            service, text = await choose_store(client, asked)
        notes.note(text)
        # Another one: this loop and its connections end here.
        return service_access(ApiClient(access, clock), service, headers)

    return asyncio.run(choose())


def _header(text: str) -> tuple[str, str]:
    name, separator, value = text.partition(":")
    if not separator or not _HEADER.fullmatch(name.strip()):
        # Without its text, which may be a secret.
        raise UsageError("--prometheus-header: it is not NAME:VALUE")
    if not value.isprintable() or not value.isascii():
        raise UsageError(f"--prometheus-header {name.strip()}: its value is no text")
    return name.strip(), value.strip()


def store_labels(options: StoreOptions) -> dict[str, str]:
    """Return the labels that series have to have; raises `UsageError`."""
    labels: dict[str, str] = {}
    for text in options.prometheus_label:
        name, separator, value = text.partition("=")
        if not separator or not _LABEL.fullmatch(name):
            raise UsageError(f'--prometheus-label: "{text}" is not NAME=VALUE')
        labels[name] = value
    return labels


def asked_time(
    options: AskedTime, now: datetime, default: timedelta = _DAY
) -> tuple[float, float]:
    """Return the time that is asked about, in Unix seconds.

    Args:
        options: what is asked.
        now: its end, unless that is asked.
        default: its length, unless that is asked.

    Raises:
        UsageError: an option is no time, or the time is empty or longer than a year.
    """
    end = now if options.end is None else past_instant("--to", options.end, now)
    if options.begin is not None and options.since is not None:
        raise UsageError("--since and --from both say when it begins: choose one")
    if options.begin is not None:
        begin = past_instant("--from", options.begin, now)
    else:
        begin = end - (default if options.since is None else past_length(options.since))
    if not begin < end:
        raise UsageError("the time that is asked about ends before it begins")
    if end - begin > _LONGEST:
        raise UsageError("the time that is asked about is longer than a year")
    return begin.timestamp(), end.timestamp()


def past_length(text: str) -> timedelta:
    """Return the length of time that a text means; raises `UsageError`."""
    if match := _DAYS.fullmatch(text):
        return int(match[1]) * _DAY * (7 if match[2] == "w" else 1)
    length = parse_duration(text)
    if not length:
        raise UsageError(f'--since "{text}" is no length of time: write 7d, 12h or 90m')
    return length


def past_instant(option: str, text: str, now: datetime) -> datetime:
    """Return the instant that a text names; times without a zone are local ones.

    Raises:
        UsageError: it is none.
    """
    stripped = text.strip()
    if stripped.startswith("-"):
        return now - past_length(stripped[1:])
    if stripped == "now":
        return now
    local = now.astimezone()
    if match := _CLOCK.fullmatch(stripped):
        parts = [int(part) for part in match[2].split(":")]
        try:
            clock = local.replace(
                hour=parts[0],
                minute=parts[1],
                second=parts[2] if len(parts) > 2 else 0,  # noqa: PLR2004
                microsecond=0,
            )
        except ValueError:
            raise UsageError(f'{option} "{text}" is no time of day') from None
        return clock - _DAY if match[1] == "yesterday " else clock
    try:
        instant = datetime.fromisoformat(stripped)
    except ValueError:
        raise UsageError(
            f'{option} "{text}" is no instant: write 2026-08-31T03:12:00Z, '
            '"2026-08-31 03:12", 03:12, "yesterday 03:12" or -12h'
        ) from None
    return instant.astimezone() if instant.tzinfo is None else instant


def note_store(client: StoreClient, clock: Clock, notes: Notes) -> None:
    """Note what a store said beside its answers, and a clock that is not ours."""
    for warning in client.warnings:
        notes.note(f"the store says: {warning}")
    told_at = client.told_at
    if told_at is None:
        return
    ahead = told_at.astimezone(UTC) - clock.now().astimezone(UTC)
    if abs(ahead) > _CLOCKS_DIFFER:
        way = "behind" if ahead > timedelta() else "ahead of"
        notes.warning(
            f"this machine's clock is {format_age(abs(ahead))} {way} the store's: the "
            "store's instants are meant, so --at and --to may have to be others"
        )


class QueryCount:
    """Counts queries, and prints them if they are to be explained."""

    def __init__(self, *, explains: bool) -> None:
        self.count = 0
        self._explains = explains

    def tell(self, promql: str, at: float) -> None:
        """Count a query."""
        self.count += 1
        if self._explains:
            when = datetime.fromtimestamp(at, UTC)
            text = f"{self.count} at {when:%Y-%m-%dT%H:%M:%SZ}: {safe_line(promql)}"
            print_line(text, err=True)


@contextmanager
def told_queries(clock: Clock, *, explains: bool) -> Iterator[QueryCount]:
    """Count the queries of a block; print them and their number if asked to."""
    count = QueryCount(explains=explains)
    began_at = clock.now()
    yield count
    if explains:
        seconds = (clock.now() - began_at).total_seconds()
        print_line(f"{count.count} queries in {seconds:.1f} s", err=True)
