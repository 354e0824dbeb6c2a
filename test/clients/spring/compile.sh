#!/usr/bin/env bash
# Compiles the Java examples with Spring 6 and Spring 7: `npm run spring`. Needs Java, Maven and a registry of Maven.
set -euo pipefail
examples=$(cd "$(dirname "$0")/../../../examples/java" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for version in 6.2.12 7.0.1; do
  mkdir "$folder/$version"
  cp "$(dirname "$0")/pom.xml" "$folder/$version"
  mvn -q -B -f "$folder/$version/pom.xml" -Dspring.version="$version" -Dexamples="$examples" compile
  [ -f "$folder/$version/target/classes/WebhookController.class" ]
  echo "The Java examples compile with Spring $version."
done
