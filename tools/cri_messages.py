"""Makes the Python of the CRI's messages from `runtime_v1.proto`.

    python tools/cri_messages.py [FOLDER]

Into the package itself, unless a folder is named. A test compares what is checked in
with what comes out.
"""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

SOURCE_ROOT = Path(__file__).parents[1] / "src"
PROTO = "probetui/runtimes/cri/runtime_v1.proto"


def generate(folder: Path) -> None:
    """Write messages and their types below a folder, at the package's path.

    Raises `SystemExit` if the compiler refuses.
    """
    arguments = [
        "protoc",
        f"-I{SOURCE_ROOT}",
        f"-I{files('grpc_tools') / '_proto'}",
        f"--python_out={folder}",
        f"--pyi_out={folder}",
        str(SOURCE_ROOT / PROTO),
    ]
    if status := protoc.main(arguments):
        raise SystemExit(status)


if __name__ == "__main__":
    generate(Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE_ROOT)
