"""Reports on the site of the docs: lanes of each cause, and the demo's first minute.

They are made as the site is built, from the manifests that stand on the pages, so that
none is older than its page. `docs/conf.py` puts them there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from tools.doc_commands import ROOT, blocks_of

from probetui.cli.lessons import DEFAULT
from probetui.cli.main import run

CAUSES = ROOT / "docs" / "causes"
SCRIPTS: Mapping[str, Mapping[str, Any]] = yaml.safe_load(
    (ROOT / "tests" / "docs" / "cause_scripts.yaml").read_text("utf-8")
)
PICTURES = "_lanes"
"""The folder of the pictures on the site."""

DEMO = "demo-report.html"
MOST_PICTURE_BYTES = 64 << 10
MOST_PAGE_BYTES = 256 << 10
_LESSONS = ROOT / "src" / "probetui" / "cli" / "lessons"
_WITHOUT_SIMULATION = frozenset({"index", "waits-for-older-pod"})
"""What is no cause, and what takes two static pods, one after the other."""


_QUIETLY = ("-q", "--no-autosave")


def simulate_cause(page: str, which: str, folder: Path) -> Path:
    """Simulate a manifest of a page by its script, and return the record.

    Args:
        page: the kind that the page is named after.
        which: `failing` or `cured`.
        folder: where the files of the simulation go.
    """
    (block,) = (
        block
        for block in blocks_of(CAUSES / f"{page}.md")
        if block.options["file"] == f"{which}.yaml"
    )
    manifest, script = folder / f"{which}.yaml", folder / "script.yaml"
    manifest.write_text(block.text, "utf-8")
    given = SCRIPTS.get(page, {}).get(which, {})
    script.write_text(json.dumps(given.get("script", {})), "utf-8")
    record = folder / "session.jsonl"
    line = ["sim", "-f", str(manifest), "--script", str(script), "--plain", *_QUIETLY]
    record.unlink(missing_ok=True)
    # That containers do not start is what many pages are about.
    with redirect_stderr(StringIO()):
        run([*line, "--for", given.get("for", "90s"), "--record", str(record)])
    return record


def pictured_causes() -> Iterator[str]:
    """Yield the causes that have a picture."""
    for page in sorted(CAUSES.glob("*.md")):
        if page.stem not in _WITHOUT_SIMULATION:
            yield page.stem


def draw_cause(page: str) -> str:
    """Return the lanes of the failing manifest of a page, as SVG."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        record, picture = simulate_cause(page, "failing", folder), folder / "lanes.svg"
        run(["report", str(record), "-o", str(picture), "-q"])
        return picture.read_text("utf-8")


def demo_page() -> str:
    """Return the report on the first minute of the demo, as HTML."""
    with TemporaryDirectory() as name:
        page = Path(name) / "page.html"
        lesson = str(_LESSONS / f"{DEFAULT}.yaml")
        script = str(_LESSONS / f"{DEFAULT}.sim.yaml")
        line = ["sim", "-f", lesson, "--script", script, "--plain", *_QUIETLY]
        run([*line, "--for", "1m", "--report", str(page)])
        return page.read_text("utf-8")


def write_reports(site: Path) -> None:
    """Write the pictures and the page to a site."""
    (site / PICTURES).mkdir(exist_ok=True)
    for page in pictured_causes():
        (site / PICTURES / f"{page}.svg").write_text(draw_cause(page), "utf-8")
    (site / DEMO).write_text(demo_page(), "utf-8")
