# One image for the API, the worker, the migrations and the CLI. docker-compose.yml shows their commands.
# Debian instead of Alpine, because the Temporal SDK's native library needs glibc.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/client/package.json packages/client/
# The build needs no package's install script.
RUN npm ci --ignore-scripts
COPY src src
COPY workflows workflows
COPY activities activities
COPY docs docs
COPY examples examples
COPY tools/build.mjs tools/guides.css tools/guides.mjs tools/is-built.mjs tools/
RUN npm run build

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/client/package.json packages/client/
# Without the client's workspace, which is for shops. Removes the SDK's native libraries for other platforms.
RUN npm ci --ignore-scripts --include=prod --omit=dev --workspaces=false \
 && find node_modules/@temporalio/core-bridge/releases -mindepth 1 -maxdepth 1 \
      ! -name "$(uname -m)-unknown-linux-gnu" -exec rm -r {} +

FROM ${NODE_IMAGE}
# tini: as process 1, node ignores signals until it has registered handlers.
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates libjemalloc2 tini \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY package.json ./
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
# The API and the worker both answer health checks on port 3000. By default, the youngest objects of each of a worker's threads
# may take 192 MB before they are collected, and a worker in use took 1 GB instead of 550 MB. jemalloc returns what the SDK's
# native part has freed; glibc kept 120 MB of it.
ENV NODE_ENV=production \
    NODE_OPTIONS=--max-semi-space-size=16 \
    LD_PRELOAD=libjemalloc.so.2 \
    HOST=:: \
    PORT=3000 \
    WORKER_HEALTH_PORT=3000 \
    SHUTDOWN_DELAY_MS=5000
EXPOSE 3000
USER node
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:3000/health/live').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--"]
CMD ["node", "dist/src/server.js"]
