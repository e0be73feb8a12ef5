"""The request of an HTTP probe, as the kubelet builds it and Go sends it.

Source: pkg/probe/http/request.go, v1.32.10, NewRequestForHTTPGetAction and
NewProbeRequest; net/http/request.go and transport.go, Request.write.
"""

from __future__ import annotations

import base64
import re
from functools import cached_property, lru_cache

import httpx2
from msgspec import Struct
from msgspec.structs import replace

from probetui.errors import GoError
from probetui.k8s.probe import HTTPGetAction
from probetui.kubelet.runtime.go_format import go_quote, join_host_port, to_bytes
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.probers.go import urls
from probetui.probers.go.net import to_ascii_host, to_punycode
from probetui.probers.go.urls import GoURL, UserInfo

DEFAULT_PORTS = {"http": 80, "https": 443}

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+\-.^_`|~]+")
_BAD_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_HOST_HEADER = re.compile(r"[A-Za-z0-9!$%&()*+,\-.:;='\[\]_~]*")
_CLOSE = re.compile(r"(?:^|[ ,\t])close(?:$|[ ,\t])", re.IGNORECASE)
# Host and User-Agent have lines of their own; the rest describes a body.
_NOT_COPIED = frozenset(
    {"Host", "User-Agent", "Content-Length", "Transfer-Encoding", "Trailer"}
)

Headers = dict[str, tuple[str, ...]]


class ProbeRequest(Struct, frozen=True, dict=True):
    """One GET request; derived values are computed once.

    `headers` has canonical names, or for old versions the names as written, each with
    its values in order; it must not be changed. `host` is the Host header, empty for
    the URL's host. `redirect_warning` begins the output if a redirect is not followed.
    `is_http2` uses HTTP/2 even without TLS.
    """

    url: GoURL
    headers: Headers
    host: str = ""
    redirect_warning: str = PORTED_RULES.redirect_warning
    is_http2: bool = False

    @cached_property
    def as_sent(self) -> httpx2.Request:
        """The request for the transport; raises `GoError` if it cannot be sent."""
        return to_httpx(self)

    @cached_property
    def named(self) -> str:
        """The URL as messages name it."""
        return self.url.without_password

    def header(self, name: str) -> str:
        """Return the first value of a header; empty if there is none."""
        return self.headers.get(name, ("",))[0]

    @property
    def is_upgrade(self) -> bool:
        """Whether the request asks for an upgrade, which only HTTP/1 has."""
        tokens = ",".join(self.headers.get("Connection", ())).lower().split(",")
        return bool(self.header("Upgrade")) and "upgrade" in map(str.strip, tokens)

    def with_header(self, name: str, value: str) -> ProbeRequest:
        """Return this request with a header set to one value."""
        return replace(self, headers={**self.headers, name: (value,)})

    def redirected(
        self, location: str, url: GoURL, first: ProbeRequest
    ) -> ProbeRequest:
        """Return the request that follows a redirect of this one to `url`.

        It keeps the headers of the `first` request, and its Host header until a
        redirect names a scheme.
        """
        keeps_host = not urls.parse_url(location).scheme
        request = replace(first, url=url, host=self.host if keeps_host else "")
        leaves_tls = (self.url.scheme, url.scheme) == ("https", "http")
        if first.header("Referer") or leaves_tls:
            return request
        return request.with_header("Referer", str(replace(self.url, user=None)))


@lru_cache(maxsize=4096)  # the same at every tick, and a tenth of a probe's CPU time
def build_request(
    action: HTTPGetAction,
    host: str,
    port: int,
    rules: KubeletRules = PORTED_RULES,
    user_agent: str = "",
) -> ProbeRequest:
    """Build the request of a probe; raises `GoError` if that is impossible.

    `host` and `port` are the resolved ones of the action. `user_agent` is sent unless
    the action sets one; empty is the probes' own.

    Quirk, kept: a path that is no URL reference is escaped as a whole, with its
    question mark.
    """
    try:
        url = urls.parse_url(action.path)
    except GoError:
        url = GoURL(path=action.path)
    scheme = action.scheme.lower() or "http"
    url = replace(url, scheme=scheme, host=join_host_port(host, port))
    user_agent = user_agent or rules.probe_user_agent
    headers = _probe_headers(action, user_agent, rules)
    return ProbeRequest(
        url=urls.parse_url(str(url)),
        headers=headers,
        host=headers.get("Host", ("",))[0],
        redirect_warning=rules.redirect_warning,
        is_http2=action.uses_http2,
    )


def build_bare_request(action: HTTPGetAction, host: str, port: int) -> ProbeRequest:
    """Build a request without ConsistentHTTPGetHandlers: host, port and path only.

    Raises:
        GoError: they form no URL.

    Source: kubelet/lifecycle/handlers.go, v1.20.2, runHTTPHandler.
    """
    where = join_host_port(host, port)
    headers: Headers = {
        "User-Agent": ("Go-http-client/1.1",),
        "Accept-Encoding": ("gzip",),
    }
    return ProbeRequest(urls.parse_url(f"http://{where}/{action.path}"), headers)


def _probe_headers(
    action: HTTPGetAction, user_agent: str, rules: KubeletRules
) -> Headers:
    headers: Headers = {}
    for header in action.http_headers:
        name = header.name
        if rules.canonical_headers:
            name = canonical_name(name)
        headers[name] = (*headers.get(name, ()), header.value)
    headers.setdefault("User-Agent", (user_agent,))
    if not rules.sends_accept:
        # Without an explicit value Go's transport requests gzip and decompresses it.
        headers.setdefault("Accept-Encoding", ("gzip",))
    elif not headers.setdefault("Accept", ("*/*",))[0]:
        # Quirk, kept: an empty first value removes the later ones too.
        del headers["Accept"]
    return headers


def canonical_name(name: str) -> str:
    """Return the canonical form of a header name; an invalid one is unchanged.

    Source: net/textproto/reader.go, CanonicalMIMEHeaderKey.
    """
    if not _TOKEN.fullmatch(name):
        return name
    return "-".join(map(str.capitalize, name.split("-")))


def to_httpx(request: ProbeRequest) -> httpx2.Request:
    """Convert a request for the transport; raises `GoError` if it cannot be sent.

    Two extensions bypass the spelling of `httpx2.URL`: `target` is the request target,
    `address` the address to dial.
    """
    _check(request)
    url = request.url
    port = int(url.port or DEFAULT_PORTS[url.scheme])
    address = (to_ascii_host(url.hostname), port)
    return httpx2.Request(
        "GET",
        _origin(url.scheme, to_punycode(address[0]), port),
        headers=_wire_headers(request),
        extensions={
            "target": to_bytes(url.request_uri),
            "address": address,
            "is_upgrade": request.is_upgrade,
            "is_http2": request.is_http2,
        },
    )


@lru_cache(maxsize=4096)  # as above
def _origin(scheme: str, host: str, port: int) -> httpx2.URL:
    return httpx2.URL(scheme=scheme, host=host, port=port)


def _check(request: ProbeRequest) -> None:
    """Raise `GoError` for what Go's transport refuses, in its order of checks."""
    url = request.url
    if url.scheme not in DEFAULT_PORTS:
        raise GoError(f"unsupported protocol scheme {go_quote(url.scheme)}")
    for name, values in sorted(request.headers.items()):
        if not _TOKEN.fullmatch(name):
            raise GoError(f"net/http: invalid header field name {go_quote(name)}")
        if any(map(_BAD_VALUE.search, values)):
            raise GoError(f"net/http: invalid header field value for {go_quote(name)}")
    if not url.host:
        raise GoError("http: no Host in request URL")


def _wire_headers(request: ProbeRequest) -> list[tuple[bytes, bytes]]:
    lines = [("Host", _host_header(request))]
    if agent := request.header("User-Agent"):
        lines.append(("User-Agent", agent))
    headers = request.headers
    if request.url.user is not None and not request.header("Authorization"):
        value = _basic_authorization(request.url.user)
        headers = {**headers, "Authorization": (value,)}
    for name in sorted(headers.keys() - _NOT_COPIED):
        lines += [(name, value) for value in headers[name]]
    if not _CLOSE.search(request.header("Connection")) and not request.is_upgrade:
        lines.append(("Connection", "close"))
    return [
        (name.encode("ascii"), to_bytes(value.strip(" \t"))) for name, value in lines
    ]


def _host_header(request: ProbeRequest) -> str:
    host = to_punycode(request.host or request.url.host)
    if not _HOST_HEADER.fullmatch(host):
        # RFC 9110, 7.2: an empty Host header is sent if there is no valid one.
        return ""
    literal, bracket, port = host.rpartition("]")
    if bracket and literal.startswith("["):
        host = f"{literal.partition('%')[0]}]{port}"
    return host


def _basic_authorization(user: UserInfo) -> str:
    pair = to_bytes(f"{user.name}:{user.password or ''}")
    return "Basic " + base64.b64encode(pair).decode("ascii")
