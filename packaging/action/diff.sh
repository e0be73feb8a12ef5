#!/usr/bin/env bash
# Says in the summary of the job what the manifests do otherwise than in a revision.
# Fails on what `fail-on` names.

set -euo pipefail

arguments=(-q)
[[ -z "${INPUT_KUBELET:-}" ]] || arguments+=(--kubelet "$INPUT_KUBELET")
for kind in ${INPUT_FAIL_ON:-}; do
  arguments+=(--fail-on "$kind")
done
if [[ -n "${INPUT_PROMETHEUS:-}" ]]; then
  arguments+=(--prometheus "$INPUT_PROMETHEUS" --since "${INPUT_SINCE:-30d}")
fi
paths=()
while IFS= read -r line; do
  [[ -z "$line" ]] || paths+=("$line")
done <<<"$INPUT_FILES"

probetui diff "${arguments[@]}" "$INPUT_COMPARE" -- "${paths[@]}" -R --md |
  tee -a "${GITHUB_STEP_SUMMARY:-/dev/null}"
