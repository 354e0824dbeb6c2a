#!/bin/sh
# Pins each image of both Compose files and the Dockerfile to the digest that its tag has now. Run it again to renew the
# digests, after a new tag for instance. Needs `docker buildx`, but no running engine. A failure changes nothing.
set -eu
cd "$(dirname "$0")/.."

edits=$(mktemp)
trap 'rm -f "$edits"' EXIT
images=$(sed -nE -e 's/^ *image: ([^@]+:[0-9][^@]*)(@.*)?$/\1/p' -e 's/^ARG NODE_IMAGE=([^@]+)(@.*)?$/\1/p' \
  docker-compose.yml deploy/hosts/compose.yml Dockerfile | sort -u)
for image in $images; do
  digest=$(docker buildx imagetools inspect "$image" --format '{{.Manifest.Digest}}')
  echo "$digest" | grep -Eqx 'sha256:[0-9a-f]{64}' || { echo "$image has no digest: $digest" >&2; exit 1; }
  echo "$image@$digest"
  pattern=$(echo "$image" | sed 's/\./\\./g')
  # Not echo: dash would replace \1.
  printf '%s\n' "s#([ =])$pattern(@.*)?\$#\\1$image@$digest#" >>"$edits"
done
for file in docker-compose.yml deploy/hosts/compose.yml Dockerfile; do
  sed -E -f "$edits" "$file" >"$file.new"
  mv "$file.new" "$file"
done
