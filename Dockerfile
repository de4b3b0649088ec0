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
COPY . .
RUN node scripts/install-service.ts "$SERVICE" /app
# The image has its own Node.
RUN rm -rf /app/node_modules/.bin/node /app/node_modules/node-linux-* /app/node_modules/.pnpm/node-linux-*

FROM ${NODE_IMAGE}
ARG SERVICE
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
HEALTHCHECK --interval=15s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "main.mjs"]
