# One service in one image:
#   docker build --build-arg SERVICE=access --tag tallystick-access .
# For both architectures:
#   docker buildx build --platform linux/amd64,linux/arm64 --build-arg SERVICE=access .
# SERVICE is access, care or grading; issuer (care's sign-in), facilitator and devnet (the local ledgers) build the same way.
# What installs: any Node that starts npm.
ARG NODE_IMAGE=node:26.10.0-trixie-slim@sha256:930557a230abacbc3f4fd9b8648abf8f4bee1e17cb72195dcdfb2f709bc85b33
# What runs: Debian, since npm's native packages need glibc, with the lockfile's Node.
ARG DEBIAN_IMAGE=debian:trixie-slim@sha256:a29215f6a35e51e22adffa17f89e9d2ef06214e64a2bad10d765c46aea49f11f

FROM ${NODE_IMAGE} AS install
WORKDIR /source
# What is installed changes less often than the sources: a layer of its own, the same for every service.
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml .pnpmfile.cjs .npmrc ./
RUN npx --yes "$(node -p "require('./package.json').packageManager")" fetch --prod
COPY . .
ARG SERVICE
RUN node scripts/install-service.ts "$SERVICE" /app
# Of Node's package an image needs the program alone.
RUN mv /app/node_modules/node-linux-*/bin/node /node \
 && rm -rf /app/node_modules/.bin/node /app/node_modules/node-linux-* /app/node_modules/.pnpm/node-linux-*

FROM ${DEBIAN_IMAGE}
# Node is linked with libatomic, which Debian's slim lacks. /data is the only folder that a service writes to, besides /tmp: a
# volume for those that keep records.
RUN apt-get update && apt-get install --yes --no-install-recommends libatomic1 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 1000 node && mkdir /data && chown node:node /data
VOLUME /data
COPY --from=install /node /usr/local/bin/node
ARG SERVICE
# care speaks with espeak-ng, a separate program; the others need nothing more from Debian.
RUN if [ "$SERVICE" = care ]; then \
      apt-get update && apt-get install --yes --no-install-recommends espeak-ng && rm -rf /var/lib/apt/lists/*; \
    fi
COPY --from=install /app /app
WORKDIR /app
USER node
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 HEALTH_PATH=/health
EXPOSE 8080
# By the shell: a Node for each look would cost more than the service at rest.
HEALTHCHECK --interval=15s --timeout=3s --start-period=20s --retries=3 \
  CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/$PORT && printf 'GET %s HTTP/1.0\\r\\nhost: localhost\\r\\n\\r\\n' $HEALTH_PATH >&3 && head -n 1 <&3 | grep -q ' 200 '"]
ENTRYPOINT ["node", "main.mjs"]
