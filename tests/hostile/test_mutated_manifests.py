"""Manifests, scripts and settings with mistakes: all are reported, none crashes."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
import yaml

from tests.e2e.program import SAMPLES
from tests.hostile.mutations import (
    BUG,
    Commands,
    amount,
    crash_report,
    mutated_bytes,
    mutated_lines,
    mutated_value,
    strays_of,
)

DATA = Path(__file__).parent / "data"
RICH_POD, TEMPLATES, SCRIPT, SETTINGS = (
    (DATA / f"{name}.yaml").read_bytes()
    for name in ("rich-pod", "templates", "script", "settings")
)
MUTATIONS = 300
STATUSES = {0, 1, 2, 5, 6}
"""Success, refused, usage error, nothing to do, not startable."""


def bases() -> list[bytes]:
    """Return the manifests to mutate."""
    return [
        RICH_POD,
        RICH_POD,
        TEMPLATES,
        *(path.read_bytes() for path in sorted(SAMPLES.glob("*.yaml"))),
    ]


def mutated(data: bytes, random: Random) -> bytes:
    """Return a text with mistakes or with other values."""
    match random.randrange(5):
        case 0:
            return mutated_bytes(data, random)
        case 1:
            return mutated_lines(data, random)
        case _:
            documents = list(yaml.safe_load_all(data))
            for _ in range(random.choice((1, 1, 2, 4))):
                place = random.randrange(len(documents))
                documents[place] = mutated_value(documents[place], random)
            text = yaml.safe_dump_all(documents, allow_unicode=random.random() < 0.5)
            return text.encode("utf-8", "surrogatepass")


def try_mutation(seed: int, base: list[bytes], commands: Commands, path: Path) -> str:
    """Mutate a manifest and run commands on it; return the problems of the outcome."""
    random = Random(seed)
    folder = path.parent
    manifest, script, settings = (
        folder / name for name in ("pod.yaml", "script.yaml", "settings.yaml")
    )
    manifest.write_bytes(RICH_POD)
    script.write_bytes(SCRIPT)
    settings.write_bytes(SETTINGS)
    sim = ("sim", "-f", str(manifest), "--plain", "--for", "30s", "--no-autosave")
    lines: list[tuple[str, ...]]
    match random.randrange(10):
        case 0 | 1:
            script.write_bytes(mutated(SCRIPT, random))
            lines = [(*sim, "--script", str(script))]
        case 2:
            settings.write_bytes(mutated(SETTINGS, random))
            lines = [("check", "-f", str(manifest), "--config", str(settings))]
        case 3 | 4:
            manifest.write_bytes(mutated(random.choice(base), random))
            lines = [sim]
        case _:
            manifest.write_bytes(mutated(random.choice(base), random))
            output = random.choice(("text", "json", "github", "junit", "tap", "sarif"))
            lines = [
                ("check", "-f", str(manifest), "-o", output),
                ("explain", "-f", str(manifest)),
            ]
    for args in lines:
        outcome = commands.run(*args)
        if outcome.status == BUG or "Traceback" in outcome.output:
            return f"seed {seed}: {args[0]}: {crash_report(outcome)}"
        if outcome.status not in STATUSES:
            return f"seed {seed}: {args}: status {outcome.status}: {outcome.output}"
        if strays := strays_of(outcome.output):
            return f"seed {seed}: {args} prints {strays!r}"
    return ""


@pytest.mark.usefixtures("_own_home")
def test_no_mistake_in_a_manifest_crashes_a_command(tmp_path: Path) -> None:
    base, commands = bases(), Commands(tmp_path)

    wrong = [
        problem
        for seed in range(amount(MUTATIONS))
        if (problem := try_mutation(seed, base, commands, tmp_path / "session.jsonl"))
    ]

    assert wrong == []
