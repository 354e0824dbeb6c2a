#!/bin/sh
# Creates Temporal's two databases, or updates them to the server's version. Safe to repeat.
# Runs in temporalio/admin-tools. temporal-sql-tool reads SQL_HOST, SQL_PORT, SQL_USER and SQL_PASSWORD.
set -eu

: "${SCHEMA_DIR:=/etc/temporal/schema/postgresql/v12}"

create_or_update() {
  database=$1
  schema=$2
  temporal-sql-tool --plugin postgres12 --db "$database" create-database
  temporal-sql-tool --plugin postgres12 --db "$database" setup-schema -v 0.0
  temporal-sql-tool --plugin postgres12 --db "$database" update-schema -d "$SCHEMA_DIR/$schema/versioned"
}

create_or_update temporal temporal
create_or_update temporal_visibility visibility
