#!/bin/sh
# certbot's deploy hook: gives the proxy a new certificate, without a closed connection.
set -eu
: "${RENEWED_LINEAGE:?set by certbot}"
folder=${CERTIFICATES:-/etc/order-service/certificates}

# One file with both, which HAProxy reads. As the old one's owner and group.
new=$(mktemp)
trap 'rm -f "$new"' EXIT
cat "$RENEWED_LINEAGE/fullchain.pem" "$RENEWED_LINEAGE/privkey.pem" >"$new"
openssl x509 -in "$new" -noout -checkend 0
cat "$new" >"$folder/order-service.pem"
if systemctl is-active --quiet order-service-proxy; then
  systemctl reload order-service-proxy
else
  docker kill --signal USR2 order-service-proxy-1
fi
