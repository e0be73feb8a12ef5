"""The catalogue of causes: its pages have their parts, their manifests their kinds."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tools.doc_commands import ROOT, blocks_of
from tools.site_reports import (
    CAUSES,
    MOST_PAGE_BYTES,
    MOST_PICTURE_BYTES,
    SCRIPTS,
    demo_page,
    draw_cause,
    pictured_causes,
    simulate_cause,
)

from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.causes.pages import PAGES_OF_FINDINGS, page_names, page_of
from probetui.analysis.findings import FINDING_RULES
from probetui.cli.main import run
from tests.sweeps import sampled

HEADINGS = ["What you see", "Why", "How to be sure", "What to do"]
ALONE = {CauseKind.WAITS_FOR_OLDER_POD}
"""What takes two static pods of one name, one after the other, in one session."""
LONGEST = 85
"""Lines of a page: a screen of text, and two manifests below it."""
KINDS_LINE = re.compile(r"^Kinds?: (.*)$", re.MULTILINE)
SOURCE = re.compile(r"`(?:[a-z/]+/)?(\w+\.go)`, `(\w+)`")


def text_of(page: CauseKind) -> str:
    return (CAUSES / f"{page}.md").read_text("utf-8")


def test_there_is_a_page_for_each_kind_and_no_other() -> None:
    files = {path.stem for path in CAUSES.glob("*.md")}

    assert files == {*page_names(), "index"}
    assert {page_of(kind) for kind in CauseKind} == set(page_names())


@pytest.mark.parametrize("page", page_names())
def test_a_page_has_its_parts(page: CauseKind) -> None:
    text = text_of(page)

    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == HEADINGS
    named = KINDS_LINE.search(text)
    assert named is not None
    assert set(re.findall(r"`(.*?)`", named[1])) == {
        kind for kind in CauseKind if page_of(kind) is page
    }
    assert text.count("\n") <= LONGEST
    files = [block.options["file"] for block in blocks_of(CAUSES / f"{page}.md")]
    assert files == ["failing.yaml", "cured.yaml"]


def test_the_sources_of_pages_are_those_that_the_port_names() -> None:
    modules = [
        path.read_text("utf-8") for path in (ROOT / "src" / "probetui").rglob("*.py")
    ]
    sources = {
        source for page in page_names() for source in SOURCE.findall(text_of(page))
    }
    unknown = {
        (file, function)
        for file, function in sources
        if not any(
            re.search(rf"{re.escape(file)}[^.]*(?:, v|,)[^:]*\b{function}\b", module)
            for module in modules
        )
    }

    assert len(sources) > 20
    assert unknown == set()


def test_the_index_has_each_page_with_its_title() -> None:
    links = re.findall(
        r"^- \[(.*)\]\((.*)\.md\): `(.*)`$",
        (CAUSES / "index.md").read_text("utf-8"),
        re.MULTILINE,
    )

    assert {(title, kind) for title, kind, _ in links} == {
        (text_of(page).splitlines()[0].removeprefix("# "), page)
        for page in page_names()
    }
    assert all(path == kind for _, path, kind in links)


def test_the_pages_of_findings_are_of_rules_that_exist() -> None:
    of_manifests = {"no-object", "no-key", "port-name"}

    assert set(PAGES_OF_FINDINGS) <= {*FINDING_RULES, *of_manifests}


@pytest.mark.parametrize("name", ["port-speaks-tls", "missing-secret"])
def test_why_prints_the_page_of_a_kind(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["why", "--page", name]) == 0

    printed = capsys.readouterr().out
    page = text_of(page_of(CauseKind(name)))
    assert printed == re.sub(r"<!--.*-->\n", "", page)
    assert f"`{name}`" in printed


def test_why_lists_the_pages(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["why", "--page"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(page_names())
    assert all(line.split(maxsplit=1)[1:] for line in lines)


def test_an_unknown_kind_is_refused_with_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["why", "--page", "killed-by-livenes"]) == 2

    assert '"killed-by-livenes" is not a kind of cause (nearest: killed-by-' in (
        capsys.readouterr().err
    )


def sentences_of(
    record: Path, capsys: pytest.CaptureFixture[str]
) -> dict[str, list[str]]:
    """Return what `why` says of the causes in a record of the pod, by their pages."""
    capsys.readouterr()
    assert run(["why", str(record), "web", "-o", "json"]) == 0
    chains = (
        chain
        for container in json.loads(capsys.readouterr().out)
        for name in ("causes", "beforeDeletion", "lastEnd")
        for chain in [container[name]]
    )
    causes = [cause for chain in chains for cause in chain]
    sentences: dict[str, list[str]] = {}
    for cause in causes:
        for kind in filter(None, (cause["page"], cause["quirk"])):
            page = page_of(CauseKind(kind))
            sentences.setdefault(page, []).append(cause["sentence"])
    return sentences


def quoted_in(page: CauseKind) -> str:
    """Return what a page says that `why` says, with `…` for what varies."""
    section = text_of(page).partition("## What you see\n\n")[2]
    first, *_ = section.partition("\n- ")
    quoted = re.fullmatch(r'- `probetui why`: "(.*)"\.', " ".join(first.split()))
    assert quoted is not None, first
    return quoted[1]


@pytest.mark.parametrize(
    "page", sampled([page for page in page_names() if page not in ALONE])
)
def test_why_names_the_cause_of_the_failing_manifest_and_not_of_the_cured_one(
    page: CauseKind, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = sentences_of(simulate_cause(page, "failing", tmp_path), capsys)
    cured = sentences_of(simulate_cause(page, "cured", tmp_path), capsys)

    assert page in failing
    assert page not in cured
    said = ".*".join(map(re.escape, quoted_in(page).split("…")))
    assert any(re.match(said, sentence) for sentence in failing[page]), failing


@pytest.mark.parametrize("page", page_names())
def test_the_manifests_of_a_page_are_valid(page: CauseKind, tmp_path: Path) -> None:
    for block in blocks_of(CAUSES / f"{page}.md"):
        manifest = tmp_path / block.options["file"]
        manifest.write_text(block.text, "utf-8")
        line = ["check", "-f", str(manifest), "--no-findings", "-q"]

        assert run(line) == 0, block.text


def test_each_script_is_of_a_page() -> None:
    assert set(SCRIPTS) <= set(page_names())
    assert {which for given in SCRIPTS.values() for which in given} <= {
        "failing",
        "cured",
    }


@pytest.mark.parametrize("page", sampled([*pictured_causes()]))
def test_a_page_has_lanes_that_are_small(page: str) -> None:
    picture = draw_cause(page)

    assert len(picture.encode()) < MOST_PICTURE_BYTES
    assert ET.fromstring(picture).findtext("{http://www.w3.org/2000/svg}title")


def test_each_page_has_lanes_but_that_of_two_pods() -> None:
    assert {*page_names()} - {*pictured_causes()} == ALONE


def test_the_page_of_the_demo_is_small_and_has_its_kill() -> None:
    page = demo_page()

    assert len(page.encode()) < MOST_PAGE_BYTES
    assert "stopped: SIGTERM" in page
