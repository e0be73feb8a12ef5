#!/usr/bin/env bash
# Runs the cases, or without any what every pod should do, and writes JUnit and a page of
# each case. If one fails, the summary of the job says of all why containers are as they
# are; it shows no pictures that are files, so that these are for an artifact.

set -euo pipefail

# The runner refuses a summary of more than 1 MiB.
readonly MOST_BYTES=1000000

summarize() {
  local page text
  for page in "$INPUT_REPORTS"/*.html; do
    [[ -e "$page" ]] || continue
    probetui report "$page" -o "${page%.html}.svg" -q || continue
    text=$(probetui why "$page" --md -q) || continue
    (($(wc -c <"$1") + ${#text} * 4 < MOST_BYTES)) || continue
    printf '## %s\n\n%s\n\n' "$(basename "$page" .html)" "$text" >>"$1"
  done
}

arguments=(--junit "$INPUT_JUNIT" --report "$INPUT_REPORTS")
while IFS= read -r line; do
  [[ -z "$line" ]] || arguments+=(-f "$line")
done <<<"$INPUT_FILES
$INPUT_CASES"
[[ -z "${INPUT_RUNTIME:-}" ]] || arguments+=(--runtime "$INPUT_RUNTIME")
[[ -z "${INPUT_KUBELET:-}" ]] || arguments+=(--kubelet "$INPUT_KUBELET")

status=0
probetui test "${arguments[@]}" || status=$?
summary=/dev/null
((status == 0)) || summary=${GITHUB_STEP_SUMMARY:-/dev/null}
summarize "$summary"
exit "$status"
