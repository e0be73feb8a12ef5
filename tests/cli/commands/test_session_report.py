"""`probetui report`: a page that shows a session, and is its record."""

from __future__ import annotations

import base64
import gzip
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from probetui.cli.main import run
from probetui.record.file import REPORT_BEGINNING, record_chunks
from probetui.record.report_file import DATA_TYPE, pack_record
from tests.golden.test_records import RECORDS
from tests.hostile.payloads import LONE, PAYLOADS, obeyed
from tests.hostile.test_escapes_of_records import forged, lines_of, write

Captured = pytest.CaptureFixture[str]
SVG = "{http://www.w3.org/2000/svg}"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
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
OURS = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "section"),
    *("h1", "h2", "h3", "p", "span", "div", "button", "figure", "figcaption"),
    *("svg", "desc", "rect", "line", "text", "details", "summary", "ul", "ol", "li"),
    *("pre", "script"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "id", "hidden"),
    *("role", "aria-label", "aria-labelledby", "aria-describedby", "aria-hidden"),
    *("type", "data-zoom", "data-start", "data-end", "data-offset", "xmlns", "open"),
    *("width", "height", "x", "y", "x1", "x2", "y1", "y2", "dx", "text-anchor"),
    "tabindex",
}


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """Return the record of a simulation in which liveness kills a container."""
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "script.yaml").write_text(SCRIPT)
    path = tmp_path / "session.jsonl"
    words = ["sim", "-f", str(tmp_path / "pod.yaml"), "--plain", "-q", "--for", "30s"]
    script = str(tmp_path / "script.yaml")
    assert run([*words, "--script", script, "--record", str(path)]) == 0
    return path


@pytest.fixture
def page(record: Path) -> Path:
    path = record.with_name("report.html")
    assert run(["report", str(record), "-o", str(path)]) == 0
    return path


class Elements(HTMLParser):
    """The names of elements and attributes, scripts by their types."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.scripts: list[str | None] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "script":
            self.scripts.append(dict(attrs).get("type"))


def printed(capsys: Captured, *words: str) -> str:
    run([*words])
    captured = capsys.readouterr()
    return str(captured.out + captured.err)


@pytest.mark.parametrize(
    "words",
    [
        ("replay", "RECORD", "--plain", "-v"),
        ("replay", "RECORD", "--plain", "-o", "jsonl"),
        ("why", "RECORD"),
        ("why", "RECORD", "shop/web", "--at", "12s", "-o", "json"),
        ("fit", "RECORD"),
        ("whatif", "RECORD", "--set", "app.livenessProbe.failureThreshold=5"),
    ],
    ids=" ".join,
)
def test_a_report_is_read_as_its_record(
    words: tuple[str, ...], record: Path, page: Path, capfd: Captured
) -> None:
    capfd.readouterr()
    of_record, of_page = (
        printed(capfd, *(str(path) if word == "RECORD" else word for word in words))
        for path in (record, page)
    )

    assert of_page.replace(page.name, record.name) == of_record
    assert len(of_record) > 20


def test_a_report_holds_every_byte_of_its_record(record: Path, page: Path) -> None:
    assert b"".join(record_chunks(page)) == record.read_bytes()


@pytest.mark.sweep
@pytest.mark.parametrize(
    "packed", sorted(RECORDS.glob("*/*.jsonl.gz")), ids=lambda path: path.stem
)
def test_records_of_each_release_have_reports(packed: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.html"

    assert run(["report", str(packed), "-o", str(path)]) == 0
    assert b"".join(record_chunks(path)) == gzip.decompress(packed.read_bytes())


def test_a_report_of_a_report_is_the_same(page: Path) -> None:
    again = page.with_name("again.html")

    assert run(["report", str(page), "-o", str(again)]) == 0
    first, second = page.read_text(), again.read_text()
    assert second.replace("(report.html)", "(session.jsonl)") == first


def test_a_session_writes_its_report_at_its_end(record: Path) -> None:
    page, again = record.with_name("page.html"), record.with_name("again.jsonl")
    script = str(record.with_name("script.yaml"))
    words = ["sim", "-f", str(record.with_name("pod.yaml")), "--script", script]
    words += ["--plain", "-q", "--for", "30s", "--record", str(again)]

    assert run([*words, "--report", str(page)]) == 0
    assert b"".join(record_chunks(page)) == again.read_bytes()
    assert "<h1>All is well at the end" in page.read_text()


def test_a_report_that_must_not_be_written_ends_a_session_before_it_begins(
    record: Path, capsys: Captured
) -> None:
    pod = record.with_name("pod.yaml")

    assert run(["sim", str(pod), "--plain", "--report", str(pod)]) == 2
    assert "uses the file as an input" in capsys.readouterr().err
    assert pod.read_text() == POD


def test_cases_have_reports(record: Path) -> None:
    cases, pages = record.with_name("cases.yaml"), record.with_name("pages")
    cases.write_text("cases:\n- name: is up\n  expect: [ready within 9s]\n")
    words = ["test", "-f", str(record.with_name("pod.yaml")), "-f", str(cases)]

    assert run([*words, "--runtime", "sim", "--report", str(pages)]) == 0
    (page,) = pages.iterdir()
    assert page.name == "1-is-up-sim.html"
    assert "<h1>All is well with 2 containers" in page.read_text()


def test_a_deletion_of_what_was_well_is_no_trouble(record: Path) -> None:
    script, page = record.with_name("deleted.yaml"), record.with_name("page.html")
    script.write_text("do: [{at: 20s, command: delete, pod: web}]\n")
    words = ["sim", "-f", str(record.with_name("pod.yaml")), "--script", str(script)]

    assert run([*words, "--plain", "-q", "--for", "2m", "--report", str(page)]) == 0
    assert "<h1>All is well at the end, but web/app ended once" in page.read_text()


def test_a_page_begins_with_the_verdict_and_names_what_its_lanes_show(
    page: Path,
) -> None:
    text = page.read_text()

    assert "<h1>All is well at the end, but web/app ended twice" in text
    for name in ("web/app", "web/app liveness", "web/db"):
        assert re.search(rf"<title id=\"lane-\d+\">{name}</title>", text)
    assert "failure 2 of 3" in text
    assert "is down" in text


def test_a_page_loads_nothing_and_allows_only_its_own_style_and_script(
    page: Path,
) -> None:
    text = page.read_text()
    elements = Elements(text)

    assert elements.tags <= OURS
    assert elements.attributes <= ATTRIBUTES
    assert elements.scripts == [DATA_TYPE, None]
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', text)
    assert policy is not None
    directives = dict(part.strip().split(" ", 1) for part in policy[1].split(";"))
    assert directives["default-src"] == "'none'"
    assert all(
        re.fullmatch(r"'sha256-[\w+/]{43}='", directives[name])
        for name in ("style-src", "script-src")
    )


def test_seconds_of_a_calm_probe_hardly_add_to_a_page(
    record: Path, tmp_path: Path
) -> None:
    pages = []
    for length in ("5m", "15m"):
        calm = tmp_path / f"{length}.jsonl"
        pod = str(record.with_name("pod.yaml"))
        words = ["sim", "-f", pod, "--plain", "-q", "--for", length]
        words += ["--set", "app.livenessProbe.periodSeconds=1"]
        assert run([*words, "--record", str(calm)]) == 0
        pages.append(len(pack_record(calm.read_bytes().splitlines(keepends=True))))

    of_a_day = (pages[1] - pages[0]) / 600 * 86_400
    assert of_a_day < 1 << 20


def test_a_picture_is_svg_that_stands_alone(record: Path, tmp_path: Path) -> None:
    path = tmp_path / "lanes.svg"

    assert run(["report", str(record), "-o", str(path)]) == 0
    root = ET.fromstring(path.read_text())
    assert "web/app" in str(root.findtext(f"{SVG}title"))
    names = {node.text for node in root.iterfind(f"{SVG}text")}
    assert {"web/app", "liveness", "web/db"} <= names


@pytest.mark.parametrize("text", [*PAYLOADS.values()], ids=[*PAYLOADS])
def test_text_of_a_record_stays_text_in_pages_and_pictures(
    text: str, tmp_path: Path
) -> None:
    lines = lines_of("process")[:60]
    for field in ("pod", "container", "namespace", "output", "message", "text", "name"):
        lines = forged(lines, field, text + "".join(LONE.values()))
    record, page, picture = (
        tmp_path / name for name in ("record.jsonl", "page.html", "picture.svg")
    )
    write(record, lines)

    run(["report", str(record), "-o", str(page)])
    run(["report", str(record), "-o", str(picture)])

    elements = Elements(page.read_text())
    assert elements.tags <= OURS
    assert elements.attributes <= ATTRIBUTES
    assert elements.scripts == [DATA_TYPE, None]
    assert obeyed(page.read_text()) == obeyed(picture.read_text()) == []
    tags = {node.tag for node in ET.fromstring(picture.read_text()).iter()}
    assert {tag.removeprefix(SVG) for tag in tags} <= OURS


def test_a_file_that_is_no_report_is_not_overwritten(
    record: Path, tmp_path: Path, capsys: Captured
) -> None:
    thesis = tmp_path / "thesis.html"
    thesis.write_text("<!DOCTYPE html>\n<p>mine")

    assert run(["report", str(record), "-o", str(thesis)]) != 0
    assert thesis.read_text().endswith("mine")
    assert "is not a report of probetui" in capsys.readouterr().err


@pytest.mark.parametrize("cut", [100, -4000, -9000])
def test_a_page_that_was_cut_off_is_no_record(
    cut: int, page: Path, capsys: Captured
) -> None:
    text = page.read_text()
    begin = text.index(f'<script type="{DATA_TYPE}">')
    page.write_text(text[: cut if cut > 0 else begin - cut // 100])

    assert run(["why", str(page)]) == 2
    assert "only the beginning of one" in capsys.readouterr().err


def test_a_damaged_block_is_reported(page: Path, capsys: Captured) -> None:
    text = page.read_text()
    place = text.index(f'<script type="{DATA_TYPE}">') + 600
    page.write_text(f"{text[:place]}!!{text[place + 2 :]}")

    assert run(["why", str(page)]) == 2
    assert "the record in the report is damaged" in capsys.readouterr().err


def test_a_report_that_unpacks_to_far_more_is_not_read(
    record: Path, tmp_path: Path, capsys: Captured
) -> None:
    begin, _ = record.read_bytes().split(b"\n", 1)
    rows = [b"=", begin, b"\n=", b"x" * 2000, b" 1\n", b"1,\n" * (17 << 19)]
    block = base64.b64encode(gzip.compress(b"".join(rows))).decode()
    bomb = tmp_path / "bomb.html"
    bomb.write_text(f'{REPORT_BEGINNING}<script type="{DATA_TYPE}">{block}</script>')
    assert bomb.stat().st_size < 1 << 18

    assert run(["why", str(bomb), "--record-limit", "16Mi"]) == 2
    assert "is larger than 16 MiB when unpacked" in capsys.readouterr().err
