#!/usr/bin/env bash
# Runs the cases, or without any what every pod should do, and writes JUnit.

set -euo pipefail

arguments=(--junit "$INPUT_JUNIT")
while IFS= read -r line; do
  [[ -z "$line" ]] || arguments+=(-f "$line")
done <<<"$INPUT_FILES
$INPUT_CASES"
[[ -z "${INPUT_RUNTIME:-}" ]] || arguments+=(--runtime "$INPUT_RUNTIME")
[[ -z "${INPUT_KUBELET:-}" ]] || arguments+=(--kubelet "$INPUT_KUBELET")

exec probetui test "${arguments[@]}"
