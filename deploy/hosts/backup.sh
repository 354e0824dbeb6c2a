#!/bin/bash
# Sends an encrypted dump of the orders database to restic's repository, which is on another machine, and keeps 35 daily ones.
# Needs pg_dump of the server's version or a later one, restic, and service.env and backup.env as environment. Run on one host.
set -euo pipefail
: "${DATABASE_URL:?}" "${RESTIC_REPOSITORY:?}" "${RESTIC_PASSWORD:?}"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# A file first: a dump that breaks off must not become the newest backup.
pg_dump --format=custom --file="$folder/orders.dump" "$DATABASE_URL"
pg_restore --list "$folder/orders.dump" >/dev/null
# One host name, so that both hosts' backups count together.
restic backup --quiet --host order-service --tag orders --stdin --stdin-filename orders.dump <"$folder/orders.dump"
restic forget --quiet --host order-service --tag orders --keep-within 7d --keep-daily 35 --prune

# For the alert OrderServiceBackupMissing.
metrics=${BACKUP_METRICS_FOLDER:-/var/lib/prometheus/node-exporter}
if [ -w "$metrics" ]; then
  umask 022
  echo "order_service_last_backup_timestamp_seconds $(date +%s)" >"$metrics/order-service-backup.new"
  mv "$metrics/order-service-backup.new" "$metrics/order-service-backup.prom"
fi
echo "backup sent to $RESTIC_REPOSITORY"
