#!/usr/bin/env bash
# Builds the programs of the stand-in images, and Compose v2, with Go into the folder given. Builds only what is missing.
set -euo pipefail
target=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$target"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# version <image>: the tag of a Temporal image in docker-compose.yml
version() {
  sed -nE "s#^ *image: temporalio/$1:([0-9.]+).*#\1#p" "$root/docker-compose.yml" | head -n 1
}

# module <name>: makes a Go module from the lines of go.mod on stdin. `go install` refuses modules that replace others.
module() {
  mkdir -p "$work/$1"
  { printf 'module %s\n\ngo 1.26\n\n' "$1" && cat; } >"$work/$1/go.mod"
  (cd "$work/$1" && go mod tidy >/dev/null 2>&1)
}

# build <program> <module> <package>
build() {
  echo "building $1 with Go; the first build takes some minutes"
  (cd "$work/$2" && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -tags disable_grpc_modules -o "$target/$1.tmp" "$3")
  mv "$target/$1.tmp" "$target/$1"
}

# The server finds its schema, and the UI its settings, in the folders of their modules.
if [ ! -x "$target/temporal-server" ] || [ ! -x "$target/temporal-sql-tool" ]; then
  module server <<END
tool go.temporal.io/server/cmd/server
tool go.temporal.io/server/cmd/tools/sql
require go.temporal.io/server v$(version server)
// Earlier ones do not compile with the other packages of AWS.
require github.com/aws/aws-sdk-go-v2/service/ecs v1.82.0
END
  build temporal-server server go.temporal.io/server/cmd/server
  build temporal-sql-tool server go.temporal.io/server/cmd/tools/sql
  (cd "$work/server" && go list -m -f '{{.Dir}}' go.temporal.io/server) >"$target/server-module"
fi
if [ ! -x "$target/temporal-ui" ]; then
  module ui <<END
tool github.com/temporalio/ui-server/v2/cmd/server
require github.com/temporalio/ui-server/v2 v$(version ui)
replace github.com/gomarkdown/markdown => github.com/gomarkdown/markdown v0.0.0-20240328165702-4d01890c35c0
END
  build temporal-ui ui github.com/temporalio/ui-server/v2/cmd/server
  (cd "$work/ui" && go list -m -f '{{.Dir}}' github.com/temporalio/ui-server/v2) >"$target/ui-module"
fi
if [ ! -x "$target/docker-compose" ]; then
  module compose <<END
tool github.com/docker/compose/v2/cmd
require github.com/docker/compose/v2 v2.40.3
END
  build docker-compose compose github.com/docker/compose/v2/cmd
fi
