"""`--web` in a real browser: what is seen, keys, sizes, tabs, and who is refused."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest

from tests.browser import Page, a_browser
from tests.checkout import ROOT
from tests.cluster.servers import write_kubeconfig
from tests.e2e.program import Program, wait_for

pytestmark = [pytest.mark.chromium, pytest.mark.e2e]

LOOPBACK = "127.0.0.1"
REBOUND = "rebound.example"
INTERRUPTED = 130
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: app
      image: registry.example/shop/web:1.0
      command: [sh, -c, "while true; do sleep 1; done"]
      livenessProbe: {exec: {command: ["true"]}, periodSeconds: 1}
"""


@contextmanager
def served(folder: Path, *words: str) -> Iterator[str]:
    """Run the program with `--web`, and yield the address that it prints."""
    program = Program(folder)
    with program.started(*words, "--web", "-q") as process:
        assert process.stderr is not None
        line = wait_for("the screen is at ", process.stderr)
        yield line.split()[-1]
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == INTERRUPTED
    assert program.left_behind() == []


def written(folder: Path) -> str:
    """Write the manifest, and return its path."""
    path = folder / "pod.yaml"
    path.write_text(POD)
    return str(path)


@contextmanager
def recorded_cluster(folder: Path) -> Iterator[str]:
    """Serve the recorded cluster by an API server, and yield a kubeconfig."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.cluster.player", "0", "60"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    with server:
        assert server.stdout is not None
        url = server.stdout.readline().split()[-1]
        try:
            yield str(write_kubeconfig(folder / "kubeconfig", url))
        finally:
            server.terminate()


class Simulation(NamedTuple):
    """A simulation that is served: a browser that has entered, and the address."""

    page: Page
    url: str

    @property
    def folder(self) -> str:
        """The address without its token."""
        return self.url.partition("?")[0]

    def tab(self) -> Page:
        """Open a further tab of the browser, and wait for its screen."""
        page = self.page.another()
        enter(page, self.folder)
        return page


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulation]:
    folder = tmp_path_factory.mktemp("web")
    with (
        served(folder, "sim", "-f", written(folder)) as url,
        a_browser(folder, LOOPBACK, mapped={REBOUND: LOOPBACK}) as page,
    ):
        enter(page, url)
        yield Simulation(page, url)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Page]:
    with a_browser(tmp_path, LOOPBACK) as page:
        yield page


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[str]:
    """Serve an empty page on another port, and yield its address."""
    (tmp_path / "index.html").write_text("<!doctype html><title>Elsewhere</title>")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer((LOOPBACK, 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://{LOOPBACK}:{server.server_port}/"
        server.shutdown()
        thread.join()


def enter(page: Page, url: str, shown: str = "web/app") -> None:
    """Open an address and wait for the screen."""
    page.open(url)
    page.wait_until(lambda: shown in page.messages())


def notice(page: Page) -> str:
    """Return what the page says beside the screen, empty for nothing."""
    return str(
        page.evaluate(
            "document.getElementById('closed').hidden ? ''"
            " : document.getElementById('reason').textContent.trim()"
        )
    )


def test_the_screen_is_drawn_and_nothing_comes_from_elsewhere(
    simulated: Simulation,
) -> None:
    page = simulated.page
    assert page.evaluate("location.href") == simulated.folder
    assert all(url.startswith(simulated.folder) for url in page.requests())
    assert page.blocked() == set()
    assert not page.has_seen("Runtime.exceptionThrown")
    assert notice(page) == ""
    assert page.evaluate("document.querySelectorAll('canvas').length") > 0


def test_neither_history_nor_scripts_have_a_secret(simulated: Simulation) -> None:
    entries = simulated.page.call("Page.getNavigationHistory")["entries"]
    assert not any("token" in entry["url"] for entry in entries)
    assert simulated.page.evaluate("document.cookie") == ""


def test_keys_arrive_and_another_size_is_drawn(simulated: Simulation) -> None:
    page = simulated.tab()
    page.type("?")
    page.wait_until(lambda: "Keys for: containers" in page.messages())
    page.type("q")
    page.events.clear()
    page.resize(500, 400)
    page.wait_until(lambda: '"resize"' in page.messages("Sent"))
    page.wait_until(lambda: "web/app" in page.messages())
    page.close()


def test_a_screen_that_is_left_can_be_opened_again(simulated: Simulation) -> None:
    page = simulated.tab()
    page.type("q")
    page.wait_until(lambda: notice(page) == "This screen is closed.")
    page.events.clear()
    page.evaluate("document.getElementById('again').click()")
    page.wait_until(lambda: "web/app" in page.messages())
    page.close()


def test_another_browser_is_refused_without_the_newest_token(
    simulated: Simulation,
) -> None:
    page = simulated.page.in_private()
    page.open(simulated.url)
    assert "this address is used up" in page.evaluate("document.body.textContent")
    page.open(simulated.folder)
    assert "open the address" in page.evaluate("document.body.textContent")
    page.close()


def test_a_page_of_another_origin_gets_nothing(
    simulated: Simulation, elsewhere: str
) -> None:
    page = simulated.page.another()
    # Another port of this host: the same site, so that the cookie is sent.
    page.open(elsewhere)
    address = simulated.folder
    assert (
        page.awaited(
            f"fetch('{address}', {{credentials: 'include'}})"
            ".then(() => 'read', () => 'refused')"
        )
        == "refused"
    )
    socket = address.replace("http", "ws", 1) + "tab?width=80&height=24"
    opened = page.awaited(
        f"new Promise(done => {{ const tab = new WebSocket('{socket}');"
        "tab.onopen = () => done('open'); tab.onerror = () => done('refused') })"
    )
    assert opened == "refused"
    page.close()


def test_a_name_of_an_attacker_that_leads_here_is_refused(
    simulated: Simulation,
) -> None:
    page = simulated.page.another()
    page.open(simulated.folder.replace(LOOPBACK, REBOUND))
    assert "by another name" in page.evaluate("document.body.textContent")
    page.close()


def test_tabs_show_one_running_session_to_its_end(
    tmp_path: Path, browser: Page
) -> None:
    words = ("run", "-f", written(tmp_path), "--runtime", "process")
    with served(tmp_path, *words) as url:
        enter(browser, url)
        second = browser.another()
        enter(second, browser.evaluate("location.href"))
        second.close()
        browser.wait_until(lambda: "Running" in browser.messages())
        # A viewer changes nothing.
        browser.type("r")
        # A toast may take two lines.
        browser.wait_until(lambda: "read-only: restart" in browser.messages())
    browser.wait_until(lambda: notice(browser) == "The session has ended.")


def test_each_tab_has_a_lesson_of_its_own(tmp_path: Path, browser: Page) -> None:
    with served(tmp_path, "demo", "--no-quiz") as url:
        enter(browser, url, "liveness/app")
        second = browser.another()
        enter(second, browser.evaluate("location.href"), "liveness-2/app")
        second.type("}")
        second.wait_until(lambda: "readiness/app" in second.messages())


def test_a_watched_cluster_is_shown_and_left_as_it_is(
    tmp_path: Path, browser: Page
) -> None:
    with recorded_cluster(tmp_path) as kubeconfig:
        words = ("watch", "-A", "--kubeconfig", kubeconfig, "--no-counters")
        with served(tmp_path, *words, "--web-control") as url:
            enter(browser, url, "exec-liveness")
            second = browser.another()
            enter(second, browser.evaluate("location.href"), "exec-liveness")
            second.close()
            browser.type("r")
            browser.wait_until(lambda: "read-only: restart" in browser.messages())
        browser.wait_until(lambda: notice(browser) == "The session has ended.")


def test_a_record_is_replayed_in_a_tab(tmp_path: Path, browser: Page) -> None:
    path = ROOT / "tests/golden/records/1/sim.jsonl.gz"
    with served(tmp_path, "replay", str(path)) as url:
        enter(browser, url, "REPLAY")
