# One service in one image:
#   docker build --build-arg SERVICE=access --tag tallystick-access .
# For both architectures:
#   docker buildx build --platform linux/amd64,linux/arm64 --build-arg SERVICE=access .
# SERVICE is access, care or grading; issuer (care's sign-in), facilitator and devnet (the local ledgers) build the same way.
# The Node of package.json, on Debian: npm's native packages need glibc.
ARG NODE_IMAGE=node:26.12.1-trixie-slim

FROM ${NODE_IMAGE} AS install
ARG SERVICE
WORKDIR /source
# What is installed changes less often than the sources: a layer of its own.
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml .pnpmfile.cjs .npmrc ./
RUN npx --yes "$(node -p "require('./package.json').packageManager")" fetch --prod
COPY . .
RUN node scripts/install-service.ts "$SERVICE" /app
# The image has its own Node.
RUN rm -rf /app/node_modules/.bin/node /app/node_modules/node-linux-* /app/node_modules/.pnpm/node-linux-*

FROM ${NODE_IMAGE}
ARG SERVICE
# A service installs nothing.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn* /usr/local/bin/yarn*
# care speaks with espeak-ng, a separate program; the others need nothing from Debian.
RUN if [ "$SERVICE" = care ]; then \
      apt-get update && apt-get install --yes --no-install-recommends espeak-ng && rm -rf /var/lib/apt/lists/*; \
    fi
WORKDIR /app
COPY --from=install /app /app
# The only folder that a service writes to, besides /tmp: a volume for those that keep records.
RUN mkdir /data && chown node:node /data
VOLUME /data
USER node
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080
EXPOSE 8080
# By the shell: a Node for each look would cost more than the service at rest.
HEALTHCHECK --interval=15s --timeout=3s --start-period=20s --retries=3 \
  CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/$PORT && printf 'GET /health HTTP/1.0\\r\\nhost: localhost\\r\\n\\r\\n' >&3 && head -n 1 <&3 | grep -q ' 200 '"]
ENTRYPOINT ["node", "main.mjs"]
