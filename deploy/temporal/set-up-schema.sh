#!/bin/sh
# Makes Temporal's two databases, or brings them up to the server's version. Safe to repeat.
# Runs in temporalio/admin-tools; temporal-sql-tool itself reads SQL_HOST, SQL_PORT, SQL_USER and SQL_PASSWORD.
set -eu

: "${SCHEMA_DIR:=/etc/temporal/schema/postgresql/v12}"

bring_up_to_date() {
  database=$1
  schema=$2
  temporal-sql-tool --plugin postgres12 --db "$database" create-database
  temporal-sql-tool --plugin postgres12 --db "$database" setup-schema -v 0.0
  temporal-sql-tool --plugin postgres12 --db "$database" update-schema -d "$SCHEMA_DIR/$schema/versioned"
}

bring_up_to_date temporal temporal
bring_up_to_date temporal_visibility visibility
