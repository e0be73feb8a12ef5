"""Names in the documents exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from tools import cli_reference

import probetui.errors
from probetui.analysis.findings import FINDING_RULES
from probetui.cli.main import COMMANDS
from probetui.cli.parameters import OutputForm

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "probetui"

DOCUMENTS = (
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs" / "ARCHITECTURE.md",
    ROOT / "docs" / "TOUR.md",
    *sorted((ROOT / "docs" / "decisions").glob("*.md")),
)

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))

PLACES = (PACKAGE, ROOT, ROOT / "benchmarks")

DRAWING = re.compile(r"\[[^]]*\]\(([^):]+\.(?:svg|cast))\)")
PATH = re.compile(r"`([a-z_0-9./]+(?:\.py|/))`")
NAMED = re.compile(r"`([a-z_0-9/]+\.py):(\w+)`")


def paths_in(document: Path) -> set[str]:
    """Return the modules and folders that a document names."""
    return set(PATH.findall(document.read_text(encoding="utf-8")))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_a_document_names_files_that_exist(document: Path) -> None:
    missing = [
        path
        for path in sorted(paths_in(document))
        if not any((place / path).exists() for place in PLACES)
    ]

    assert missing == []


def test_the_tour_names_what_its_modules_define() -> None:
    named = NAMED.findall((ROOT / "docs" / "TOUR.md").read_text(encoding="utf-8"))

    assert len(named) >= 20
    missing = [
        f"{path}:{name}"
        for path, name in named
        if not re.search(
            rf"^ *(?:(?:async )?def|class) {name}\b|^{name}(?:: [^=]+)? = ",
            (PACKAGE / path).read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    ]
    assert missing == []


def test_the_architecture_names_every_room() -> None:
    rooms = {
        f"{path.parent.name}/"
        for path in PACKAGE.glob("*/__init__.py")
        if path.parent.name != "__pycache__"
    }

    assert rooms <= paths_in(ROOT / "docs" / "ARCHITECTURE.md")


def test_the_rules_of_the_kubelet_are_explained_with_sources_that_the_port_names() -> (
    None
):
    page = ROOT / "docs" / "explanation" / "how-a-kubelet-probes.md"
    sources = re.findall(
        r"`(?:[a-z/]+/)?(\w+\.go)`, `(\w+)`", page.read_text(encoding="utf-8")
    )
    modules = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")]

    assert len(sources) >= 8
    for file, function in sources:
        assert any(
            re.search(rf"{re.escape(file)}[^.]*, v[^:]*\b{function}\b", module)
            for module in modules
        ), (file, function)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_command_in_a_sentence_has_only_options_that_exist(page: Path) -> None:
    text = re.sub(
        r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    for command in re.findall(r"`(?:kubectl )?probetui ([^`]+)`", text):
        words = command.split()
        name = next((word for word in words if word in COMMANDS), "run")
        options = {
            option
            for parameter in COMMANDS[name].load().params
            for option in (*parameter.opts, *parameter.secondary_opts)
        }
        typed = {word.partition("=")[0] for word in words if re.match("--?[a-z]", word)}
        assert typed <= options | {"--help", "--version"}, command


def test_the_program_draws_every_picture_and_cast_that_is_shown() -> None:
    shown = {
        (page.parent / path).resolve()
        for page in PAGES
        for path in DRAWING.findall(page.read_text(encoding="utf-8"))
    }
    # By its name: there is a folder of that name beside the module.
    pictures = importlib.import_module("tools.pictures")
    folders = (pictures.DRAWN, pictures.CASTS_DRAWN)
    there = {path.resolve() for folder in folders for path in folder.iterdir()}

    assert shown == {path.resolve() for path in pictures.FILES} == there


def contract() -> str:
    """Return the part of docs/CLI.md that is written by hand."""
    text = cli_reference.DOCUMENT.read_text(encoding="utf-8")
    return text.partition(cli_reference.MARKER)[0]


@pytest.mark.parametrize("page", cli_reference.PAGES, ids=lambda page: page.stem)
def test_a_page_of_the_reference_equals_the_output_of_the_program(page: Path) -> None:
    written = page.read_text(encoding="utf-8")

    assert written == cli_reference.document(page), "run: python -m tools.cli_reference"


def test_each_finding_has_a_heading_on_its_page() -> None:
    text = (ROOT / "docs" / "reference" / "findings.md").read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)

    assert set(FINDING_RULES) <= set(headings)


def test_the_contract_has_every_exit_status_of_an_error() -> None:
    statuses = {
        str(kind.exit_status)
        for kind in vars(probetui.errors).values()
        if isinstance(kind, type) and issubclass(kind, probetui.errors.ProbetuiError)
    }

    rows = re.findall(r"^\| ([0-9, ]+) \|", contract(), re.MULTILINE)

    assert statuses <= {status for row in rows for status in row.split(", ")}


def test_the_contract_has_every_output_format_with_its_commands() -> None:
    listed: dict[str, set[str]] = {}
    for row in contract().splitlines():
        if row.startswith("| `") and row.count("|") == 4:
            forms, _, commands = row.strip("|").split(" | ")
            for form in re.findall(r"`(.*?)`", forms):
                listed.setdefault(form, set()).update(re.findall(r"`(.*?)`", commands))

    for name, entry in COMMANDS.items():
        for parameter in entry.load().params:
            if isinstance(parameter.type, OutputForm):
                for form in set(parameter.type.choices) - {"table", "text"}:
                    assert name in listed[form], (name, form)
