"""Reports in a real browser: what is seen, read aloud, pressed, and never run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from probetui.cli.main import run
from tests.browser import Page, a_browser
from tests.hostile.payloads import EVERYTHING, LONE
from tests.hostile.test_escapes_of_records import forged, lines_of, write

pytestmark = [pytest.mark.chromium, pytest.mark.e2e]

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
    - name: app
      image: registry.example/shop/web:1.0
      livenessProbe: {httpGet: {path: /ready, port: 8080}, periodSeconds: 2}
    - name: db
      image: registry.example/shop/db:1.0
"""
SCRIPT = """\
containers:
  app:
    liveness: [{result: success, until: 9s}, {result: failure, output: is down}]
"""
WIDTHS = (400, 900, 1600)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with a_browser(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with reports: of a kill, of forty containers, of forged texts."""
    folder = tmp_path_factory.mktemp("reports")
    many = "".join(
        f"---\n{POD.replace('name: web', f'name: web-{n}')}" for n in range(20)
    )
    for name, pods in (("kill", POD), ("forty", many)):
        (folder / "pod.yaml").write_text(pods)
        (folder / "script.yaml").write_text(SCRIPT)
        words = ["sim", "-f", str(folder / "pod.yaml"), "--plain", "-q", "--for", "40s"]
        words += ["--script", str(folder / "script.yaml"), "--no-autosave"]
        assert run([*words, "--report", str(folder / f"{name}.html")]) == 0
    lines = lines_of("process")[:60]
    for field in ("pod", "container", "namespace", "output", "message", "text", "name"):
        lines = forged(lines, field, EVERYTHING + "".join(LONE.values()))
    write(folder / "forged.jsonl", lines)
    run(["report", str(folder / "forged.jsonl"), "-o", str(folder / "forged.html")])
    return folder


@pytest.mark.parametrize("scripts", ["scripts", "no scripts"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["kill", "forty"])
def test_a_page_fits_every_width_and_asks_for_nothing(
    name: str, scheme: str, scripts: str, browser: Page, folder: Path
) -> None:
    browser.use_scheme(scheme)
    for width in WIDTHS:
        browser.open(folder / f"{name}.html", width=width, scripts=scripts == "scripts")

        root = browser.call("Page.getLayoutMetrics")["cssContentSize"]
        assert root["width"] <= width
        assert root["height"] > 600
        assert browser.requests() == [(folder / f"{name}.html").as_uri()]
        assert not browser.has_seen("Log.entryAdded")
        assert not browser.has_seen("Runtime.exceptionThrown")


def test_paper_is_light_whatever_the_screen_prefers(
    browser: Page, folder: Path
) -> None:
    ink, inked = "rgb(27, 31, 36)", "getComputedStyle(document.querySelector('{}')).{}"
    browser.use_scheme("dark")
    browser.open(folder / "kill.html")
    assert browser.evaluate(inked.format("body", "color")) != ink
    browser.use_scheme("dark", medium="print")

    assert browser.evaluate(inked.format("body", "color")) == ink
    assert browser.evaluate(inked.format("svg .start", "stroke")) == ink
    browser.use_scheme("light")


def test_a_screen_reader_hears_what_the_picture_shows(
    browser: Page, folder: Path
) -> None:
    browser.open(folder / "kill.html", scripts=False)

    found = browser.accessible()
    images = {name: shown for role, name, shown in found if role == "image"}
    assert {"web/app", "web/app liveness", "web/db"} <= images.keys()
    assert "failure 2 of 3" in images["web/app liveness"]
    assert "stopped: SIGTERM" in images["web/app"]
    headings = [name for role, name, _ in found if role == "heading"]
    assert headings[0].startswith("1 of 2 containers in trouble: web/app is up")
    assert {"Lanes", "Why", "Instances and kills", "The record"} <= {*headings}


def test_keys_move_the_cursor_and_zoom(browser: Page, folder: Path) -> None:
    browser.open(folder / "kill.html")
    width = "document.querySelector('svg.time').getAttribute('width')"
    told = "document.querySelector('.cursor').textContent"

    browser.evaluate("document.querySelector('figure').focus()")
    for key in ("End", "ArrowLeft", "+"):
        browser.press(key)

    assert browser.evaluate(width) == "200%"
    assert "web/db: " in browser.evaluate(told)
    browser.press("0")
    browser.press("Escape")
    assert browser.evaluate(width) == "100%"
    assert browser.evaluate(told) == ""


def test_nothing_of_a_forged_record_runs_or_is_fetched(
    browser: Page, folder: Path
) -> None:
    page = folder / "forged.html"
    browser.open(page)

    assert browser.requests() == [page.as_uri()]
    assert str(browser.evaluate("document.title")).startswith("probetui: ")
    assert browser.evaluate("document.scripts.length") == 2
    assert browser.evaluate("document.querySelectorAll('img, a, iframe').length") == 0


def test_the_policy_holds_what_would_get_into_a_page(
    browser: Page, folder: Path
) -> None:
    page = folder / "injected.html"
    text = (folder / "kill.html").read_text()
    injected = "<script>document.title='ran'</script><img src='http://evil.invalid/x'>"
    page.write_text(text.replace("<h1>", f"{injected}<h1>"))

    browser.open(page)

    assert browser.evaluate("document.title") != "ran"
    assert browser.has_seen("Log.entryAdded")
    assert browser.blocked() == {"csp"}
