"""Manifests behind URLs: bounded in size, time and redirects.

Source: kubelet/config/http.go, v1.32.10, extractFromURL.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from concurrent.futures import ThreadPoolExecutor

import httpx2

from probetui import __version__
from probetui.cli.files import UrlError
from probetui.manifest.yaml.parser import MAX_BYTES
from probetui.record.credentials import mask_credentials

POLL_SECONDS = 20
"""The kubelet reads its manifest URL this often.

Source: apis/config/v1beta1/defaults.go, v1.32.10, HTTPCheckFrequency.
"""

FETCH_SECONDS = 10
"""How long an answer may take, redirects and all."""

MAX_REDIRECTS = 10
"""Source: net/http/client.go, Go 1.23, defaultCheckRedirect."""

_SSL_PREFIX = re.compile(r"\[[A-Z_: ]+\] |\s*\(_ssl\.c:\d+\)")


async def fetch(url: str, *, verifies_tls: bool = True) -> bytes:
    """Return what is behind a URL, at most a byte more than a manifest may have.

    Credentials in the URL go to its own host only: a redirect to another one does not
    carry them. No cookie is sent, and nothing but the URL's own credentials.

    Args:
        url: with the scheme http or https.
        verifies_tls: certificates are verified, by the certificates of this system.

    Raises:
        UrlError: there is no answer, or it is no manifest.
    """
    try:
        async with asyncio.timeout(FETCH_SECONDS):
            return await _fetch(url, verifies_tls=verifies_tls)
    except (TimeoutError, httpx2.TimeoutException):
        problem = f"no answer within {FETCH_SECONDS}s"
    except httpx2.TooManyRedirects:
        problem = f"more than {MAX_REDIRECTS} redirects"
    except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
        problem = _SSL_PREFIX.sub("", str(error)) or type(error).__name__
        if "certificate verify failed" in problem:
            problem += " (--insecure-skip-tls-verify does not verify it)"
    raise _error(url, problem)


async def _fetch(url: str, *, verifies_tls: bool) -> bytes:
    context = ssl.create_default_context()
    if not verifies_tls:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    client = httpx2.AsyncClient(
        verify=context,
        follow_redirects=True,
        max_redirects=MAX_REDIRECTS,
        timeout=FETCH_SECONDS,
        headers={
            "User-Agent": f"probetui/{__version__}",
            # What is compressed could be far longer than it looks.
            "Accept-Encoding": "identity",
        },
    )
    async with client, client.stream("GET", url) as response:
        if response.status_code != httpx2.codes.OK:
            status = f"{response.status_code} {response.reason_phrase}".rstrip()
            raise _error(url, status)
        encoding = response.headers.get("Content-Encoding", "identity")
        if encoding.lower() != "identity":
            raise _error(url, f"it is compressed ({encoding})")
        data = bytearray()
        async for chunk in response.aiter_raw():
            data += chunk
            if len(data) > MAX_BYTES:
                break
        return bytes(data[: MAX_BYTES + 1])


def _error(url: str, problem: str) -> UrlError:
    return UrlError(f"{mask_credentials(url)}: {mask_credentials(problem)}")


def fetch_now(url: str, *, verifies_tls: bool = True) -> bytes:
    """Wait for what is behind a URL, also where an event loop runs; see `fetch`."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(
            asyncio.run, fetch(url, verifies_tls=verifies_tls)
        ).result()
