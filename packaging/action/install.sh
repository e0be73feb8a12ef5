#!/usr/bin/env bash
# Installs the probetui of this action's version, and puts it on the PATH of later steps.

set -euo pipefail
readonly WHERE=$RUNNER_TEMP/probetui

python3 -m venv "$WHERE"
"$WHERE/bin/pip" install --quiet "$GITHUB_ACTION_PATH"
printf '%s\n' "$WHERE/bin" >>"$GITHUB_PATH"
