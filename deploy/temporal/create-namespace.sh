#!/bin/sh
# Creates the namespace of the orders when the server is healthy. Safe to repeat.
# Runs in temporalio/admin-tools. The temporal CLI reads TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE.
set -eu

tries=60
until temporal operator cluster health >/dev/null 2>&1; do
  tries=$((tries - 1))
  [ "$tries" -gt 0 ] || { echo "Temporal at $TEMPORAL_ADDRESS is not healthy" >&2; exit 1; }
  sleep 2
done

if temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1; then
  echo "namespace $TEMPORAL_NAMESPACE already exists"
else
  temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention 720h
fi
