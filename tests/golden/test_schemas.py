"""The JSON Schemas that a released version printed still hold, but for descriptions.

Programs are written against them: names of fields, of definitions and words are kept,
whatever they are called in the code. Something may be added; then
`PROBETUI_UPDATE_GOLDEN=1` writes the files anew, and the difference is to be looked at.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from probetui.cli.main import run

SCHEMAS = Path(__file__).parent / "schemas"
UPDATES = "PROBETUI_UPDATE_GOLDEN" in os.environ
"""Read at the import, as the fixture `home` takes such variables away."""


def without_descriptions(schema: Any) -> Any:
    match schema:
        case dict():
            return {
                key: without_descriptions(inner)
                for key, inner in schema.items()
                if not (key == "description" and isinstance(inner, str))
            }
        case list():
            return [without_descriptions(item) for item in schema]
        case _:
            return schema


@pytest.mark.parametrize("name", ["record", "state", "why"])
def test_a_schema_is_as_it_was(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    golden = SCHEMAS / f"{name}.json"

    assert run(["schema", name]) == 0

    found = without_descriptions(json.loads(capsys.readouterr().out))
    if UPDATES:
        golden.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    assert found == json.loads(golden.read_text(encoding="utf-8"))
