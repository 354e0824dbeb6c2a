#!/bin/sh
# Replaces the containers of the API and the worker by those of a new image, without a failed call: builds, migrates,
# starts as many new containers as old ones run, and stops the old ones once the new ones are healthy.
# `sh deploy/roll-out.sh`, in a folder whose services run. If new containers do not become healthy, the old ones continue.
set -eu
cd "$(dirname "$0")/.."

interrupted() {
  echo "interrupted: repeat the script, then compare the containers in docker compose ps with the numbers above" >&2
  exit 1
}
trap interrupted HUP INT TERM

docker compose build migrate
docker compose run --rm --no-deps -T migrate
for service in worker api; do
  # An interrupted roll-out leaves stopped containers of the old image, which --scale would start again.
  docker compose rm --force "$service"
  old=$(docker compose ps --quiet "$service")
  [ -n "$old" ] || { echo "no container of $service runs: use docker compose up --detach --wait" >&2; exit 1; }
  count=$(echo "$old" | wc -l)
  echo "containers of $service to replace: $count"
  docker compose up --detach --no-deps --no-recreate --wait --scale "$service=$((count * 2))" "$service" || {
    echo "the new containers of $service are not healthy: removing them" >&2
    for container in $(docker compose ps --all --quiet "$service"); do
      case $old in *"$container"*) ;; *) docker rm --force "$container" ;; esac
    done
    exit 1
  }
  # The API serves for SHUTDOWN_DELAY_MS, and both finish what they have begun.
  docker stop $old
  docker rm $old
done
