# The node's own mirror (docs/mirror.md): after npm ci and npm run build, docker build --tag imgmatch .
# Any base with node in /nodejs/bin, /usr/local/bin or /usr/bin, and glibc: node:22-slim is one.
ARG BASE=gcr.io/distroless/nodejs22-debian12:nonroot
FROM ${BASE}
COPY dist/imgmatch.cjs dist/THIRD-PARTY-LICENSES LICENSE /imgmatch/
COPY node_modules/koffi /imgmatch/node_modules/koffi
COPY node_modules/@koromix /imgmatch/node_modules/@koromix
ENV PATH=/nodejs/bin:/usr/local/bin:/usr/bin:/bin
# What NVIDIA's container runtime is to bring: NVML and nvidia-smi, for the GPUs of the node.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=utility
USER 65532:65532
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:5047/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/imgmatch/imgmatch.cjs"]
CMD ["serve", "--help"]
