# The worker's image. bin/worker-image.sh builds it: the packages come in as a build context of their own, so that no build needs
# a package registry, and Node is one of them: any base with a shell and glibc 2.28 or later will do.
ARG BASE=debian:12-slim

FROM ${BASE}
# Two contexts beside this folder. modules: node_modules, the production packages alone. programs: what else is to be on PATH.
COPY --link --from=modules . /app/node_modules/
COPY --link --from=programs . /usr/local/bin/
ENV HOME=/tmp PATH=/app/node_modules/node/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# The compiler of workflows unpacks itself at its first use, into a folder with locks in it, which a root file system that is
# read-only has no place for. So that is done here, and what comes of it put where the compiler looks first.
RUN mkdir -m 0700 /root/swc && HOME=/root SWC_NATIVE_BINDING_CACHE=/root/swc node -e 'require("/app/node_modules/@swc/core")' \
 && cd /app/node_modules/@swc && install -m 0644 "$(find /root/swc -name '*.node')" "core/$(basename core-*/*.node)" \
 && rm -rf /root/swc

# Nobody that the base knows.
USER 10001:10001
COPY --link . /app/
WORKDIR /app
ENTRYPOINT ["node", "/app/cli/main.ts"]
CMD ["worker"]
