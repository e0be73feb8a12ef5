"""Generate the Python code of the CRI's messages from `runtime_v1.proto`.

    python tools/cri_messages.py [FOLDER]

The code is written to the package itself, unless a folder is given. A test compares the
committed files with the generated ones.
"""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

SOURCE_ROOT = Path(__file__).parents[1] / "src"
PROTO = "probetui/runtimes/cri/runtime_v1.proto"


def generate(folder: Path) -> None:
    """Write messages and their types to a folder, at the package's path.

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
