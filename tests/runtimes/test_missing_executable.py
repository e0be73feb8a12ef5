"""What runtimes say of a command that is not there."""

from __future__ import annotations

import pytest

from probetui.errors import ContainerRuntimeError, ExecutableMissingError
from probetui.runtimes.missing_executable import command_error, is_missing

RUNC = "OCI runtime exec failed: exec failed: unable to start container process: "


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(
            RUNC + 'exec: "nope": executable file not found in $PATH: unknown',
            True,
            id="runc",
        ),
        pytest.param(
            RUNC + 'exec: "/nope": stat /nope: no such file or directory: unknown',
            True,
            id="runc-path",
        ),
        pytest.param(
            "exec failed: executable file `nope` not found in $PATH: No such file",
            True,
            id="crun",
        ),
        pytest.param(
            RUNC + 'exec: "/etc": permission denied: unknown', False, id="permission"
        ),
        pytest.param(
            RUNC + "exec /x.sh: no such file or directory: unknown",
            False,
            id="interpreter",
        ),
        pytest.param(
            RUNC + 'chdir to cwd ("/x") set in config.json failed: no such file or '
            "directory",
            False,
            id="working-directory",
        ),
        pytest.param("container is not running", False, id="another"),
        pytest.param("", False, id="nothing"),
    ],
)
def test_only_a_missing_executable_is_recognized_as_such(
    words: str, *, expected: bool
) -> None:
    error = command_error(words)

    assert is_missing(words) is expected
    assert isinstance(error, ExecutableMissingError) is expected
    assert isinstance(error, ContainerRuntimeError)
    assert str(error) == words
