#!/bin/bash
# Restores the newest backup into a new database, checks it, and drops the database. Prints what it found and how long it took.
# Exits with 1 if the backup is older than MAX_AGE_HOURS (26), cannot be restored, or has no seller.
# RESTORE_SERVER_URL is a Postgres other than production, where the role may create databases.
set -euo pipefail
: "${RESTORE_SERVER_URL:?}" "${RESTIC_REPOSITORY:?}" "${RESTIC_PASSWORD:?}"

database=orders_restore_test
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
started=$(date +%s)
restic dump --host order-service --tag orders latest orders.dump >"$folder/orders.dump"
# Fails if it exists, so that no database of that name is ever overwritten or dropped.
createdb --maintenance-db="$RESTORE_SERVER_URL" "$database"
trap 'rm -rf "$folder"; dropdb --maintenance-db="$RESTORE_SERVER_URL" --force "$database"' EXIT
url=$(echo "$RESTORE_SERVER_URL" | sed -E "s#^(postgres(ql)?://[^/]+)/[^?]*#\1/$database#")
pg_restore --exit-on-error --no-owner --no-privileges --dbname="$url" "$folder/orders.dump"

# The dump's own time, which pg_restore prints in the local time zone.
created=$(TZ=UTC pg_restore --list "$folder/orders.dump" | sed -n 's/^; *Archive created at //p')
age=$((($(date +%s) - $(date -u -d "$created" +%s)) / 3600))
read -r sellers orders newest <<<"$(psql "$url" --no-psqlrc --tuples-only --no-align --field-separator=' ' --command="
  select (select count(*) from seller), (select count(*) from orders),
    coalesce((select to_char(max(created_at) at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI\"Z\"') from orders), '-')")"
echo "restored in $(($(date +%s) - started)) s: $sellers sellers, $orders orders, newest order $newest, backup $age h old"
[ "$sellers" -gt 0 ] || { echo "the backup has no seller" >&2; exit 1; }
[ "$age" -le "${MAX_AGE_HOURS:-26}" ] || { echo "the backup is older than ${MAX_AGE_HOURS:-26} h" >&2; exit 1; }
