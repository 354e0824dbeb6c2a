#!/bin/bash
# As the entry point of the image `postgres`, for a user who owns the data folder.
set -euo pipefail
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  initdb --username="$POSTGRES_USER" --pwfile=<(printf '%s' "$POSTGRES_PASSWORD") --auth-host=scram-sha-256 \
    --encoding=UTF8 --locale=C.UTF-8
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  if [ "${POSTGRES_DB:-$POSTGRES_USER}" != postgres ]; then
    echo "create database ${POSTGRES_DB:-$POSTGRES_USER}" | postgres --single -j postgres >/dev/null
  fi
fi
exec "$@" -c listen_addresses='*'
