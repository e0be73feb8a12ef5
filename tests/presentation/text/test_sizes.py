from __future__ import annotations

import pytest

from probetui.presentation.text.cells import format_bytes


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        pytest.param(0, "0B", id="nothing"),
        pytest.param(999, "999B", id="bytes"),
        pytest.param(1000, "1.0kB", id="the first kilobyte"),
        pytest.param(9_999, "9.9kB", id="never rounded up"),
        pytest.param(63_700_000, "63MB", id="no decimal from ten"),
        pytest.param(999_999_999, "999MB", id="the last megabyte"),
        pytest.param(1_230_000_000, "1.2GB", id="gigabytes"),
        pytest.param(5_000_000_000_000_000, "5000TB", id="there is nothing larger"),
    ],
)
def test_a_size_takes_a_few_characters(count: int, expected: str) -> None:
    assert format_bytes(count) == expected
