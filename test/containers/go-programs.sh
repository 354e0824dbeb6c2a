#!/usr/bin/env bash
# Builds the programs of the stand-in images, and Compose v2, with Go into the folder given. Builds only what is missing.
set -euo pipefail
target=$1
tools=$(cd "$(dirname "$0")/../../tools/temporal" && pwd)
mkdir -p "$target"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build <program> <folder of a Go module> <package>
build() {
  [ -x "$target/$1" ] && return
  echo "building $1 with Go; the first build takes some minutes"
  (cd "$2" && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -tags disable_grpc_modules -o "$target/$1.tmp" "$3")
  mv "$target/$1.tmp" "$target/$1"
}

# module <name> <package> <module> <version>: `go install` refuses modules that replace or exclude others.
module() {
  mkdir -p "$work/$1"
  printf 'module %s\n\ngo 1.26\n\ntool %s\n\nrequire %s v%s\n' "$1" "$2" "$3" "$4" >"$work/$1/go.mod"
  (cd "$work/$1" && go mod tidy >/dev/null 2>&1)
}

build temporal-server "$tools/server" go.temporal.io/server/cmd/server
build temporal-ui "$tools/ui" github.com/temporalio/ui-server/v2/cmd/server
if [ ! -x "$target/temporal-sql-tool" ]; then
  # With the dependencies of the server, which are in Go's cache.
  cp -r "$tools/server" "$work/sql"
  sed -i 's#^tool .*#tool go.temporal.io/server/cmd/tools/sql#' "$work/sql/go.mod"
  (cd "$work/sql" && go mod tidy >/dev/null 2>&1)
  build temporal-sql-tool "$work/sql" go.temporal.io/server/cmd/tools/sql
fi
if [ ! -x "$target/docker-compose" ]; then
  module compose github.com/docker/compose/v2/cmd github.com/docker/compose/v2 2.40.3
  build docker-compose "$work/compose" github.com/docker/compose/v2/cmd
fi
if [ ! -x "$target/temporal" ]; then
  # Later versions need a module that they do not publish.
  module cli github.com/temporalio/cli/cmd/temporal github.com/temporalio/cli 1.5.1
  build temporal "$work/cli" github.com/temporalio/cli/cmd/temporal
fi
# The server finds its schema, and the UI its settings, in the folders of their modules.
(cd "$tools/server" && go list -m -f '{{.Dir}}' go.temporal.io/server) >"$target/server-module"
(cd "$tools/ui" && go list -m -f '{{.Dir}}' github.com/temporalio/ui-server/v2) >"$target/ui-module"
