#!/usr/bin/env bash
# Marks what is wrong in the manifests, and writes the same as SARIF. Fails if the API
# server would refuse one of them.

set -euo pipefail

arguments=(--recursive)
while IFS= read -r line; do
  [[ -z "$line" ]] || arguments+=(-f "$line")
done <<<"$INPUT_FILES"
[[ -z "${INPUT_KUBELET:-}" ]] || arguments+=(--kubelet "$INPUT_KUBELET")

# What is wrong decides at the second time: 1 for errors, 2 for what cannot be used.
probetui check "${arguments[@]}" -o sarif >"$INPUT_SARIF" || (($? <= 2))
exec probetui check "${arguments[@]}" -o github
