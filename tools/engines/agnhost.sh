#!/usr/bin/env bash
#
# Gives the Docker engine the image of the test server that the conformance cases use.
#
#   tools/engines/agnhost.sh
#
# Builds it without a registry, unless the engine has it as it would be built now.

set -euo pipefail

readonly IMAGE=registry.k8s.io/e2e-test-images/agnhost:2.53
readonly LABEL=io.probetui.made-from
source=$(cd "$(dirname "$0")/../../tests/images/agnhost" && pwd)
readonly source

say() {
  printf 'agnhost.sh: %s\n' "$*"
}

made_from() {
  (cd "$source" && sha256sum -- agnhost.py localhost.* *.sh | sha256sum | cut -c 1-16)
}

is_made_from() {
  local has
  has=$(docker image inspect -f "{{ index .Config.Labels \"$LABEL\" }}" "$IMAGE" 2>&1) &&
    [[ "$has" == "$1" ]]
}

build() {
  local folder
  folder=$(mktemp -d)
  bash "$source/build.sh" "$folder"
  tar -C "$folder" --numeric-owner --owner=0 --group=0 -c . |
    docker import --change 'ENTRYPOINT ["/agnhost"]' --change 'CMD ["pause"]' \
      --change "LABEL $LABEL=$1" - "$IMAGE" >/dev/null
  rm -rf "$folder"
}

version=$(made_from)
if is_made_from "$version"; then
  say "image $IMAGE is here"
else
  say "building image $IMAGE"
  build "$version"
fi
