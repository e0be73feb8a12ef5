from __future__ import annotations

import pytest

from probetui.kubelet.kuberuntime.termination_message import (
    end_of_file,
    end_of_log,
    termination_message,
    wants_log,
)

FALLBACK = "FallbackToLogsOnError"


@pytest.mark.parametrize(
    ("runtime", "own", "expected"),
    [
        pytest.param("", b"", "", id="nothing"),
        pytest.param("oops", b"", "oops", id="the-runtimes"),
        pytest.param("", b"why", "why", id="the-containers"),
        pytest.param("oops", b"why", "oops: why", id="both"),
        pytest.param("", b"\xff", "\udcff", id="not-utf-8"),
    ],
)
def test_the_message_of_a_container_follows_that_of_the_runtime(
    runtime: str, own: bytes, expected: str
) -> None:
    assert termination_message(runtime, own) == expected


@pytest.mark.parametrize(
    ("policy", "exit_code", "reason", "file", "expected"),
    [
        pytest.param(FALLBACK, 1, "Error", None, True, id="no-file"),
        pytest.param(FALLBACK, 1, "Error", b"", True, id="empty-file"),
        pytest.param(FALLBACK, 1, "Error", b"why", False, id="a-message"),
        pytest.param(FALLBACK, 0, "Completed", b"", False, id="success"),
        pytest.param(FALLBACK, 128, "ContainerCannotRun", None, False, id="never-ran"),
        pytest.param("File", 1, "Error", b"", False, id="other-policy"),
    ],
)
def test_when_the_end_of_the_log_stands_in(
    policy: str,
    exit_code: int,
    reason: str,
    file: bytes | None,
    expected: bool,  # noqa: FBT001  # a column of the table
) -> None:
    assert wants_log(policy, exit_code, reason, file) is expected


def test_only_the_end_of_a_file_counts() -> None:
    assert end_of_file(b"a" + b"b" * 4096) == b"b" * 4096


def test_only_the_last_lines_of_a_log_count() -> None:
    lines = [b"%d\n" % number for number in range(100)]

    assert end_of_log(lines).split()[0] == b"20"


def test_only_the_last_bytes_of_a_log_count() -> None:
    assert end_of_log([b"a" * 3000]) == b"a" * 2048
