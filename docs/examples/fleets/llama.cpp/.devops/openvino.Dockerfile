# The arguments and stages of llama.cpp's .devops/openvino.Dockerfile. Its steps note what they were given, and compile nothing.
ARG OPENVINO_VERSION_MAJOR=2026.2
ARG OPENVINO_VERSION_FULL=2026.2.0.21903.52ddc073857
ARG UBUNTU_VERSION=24.04
ARG APP_VERSION=N/A
ARG NODE_VERSION=24

FROM docker.io/node:${NODE_VERSION} AS web
RUN mkdir -p /app/tools/ui/dist && echo ui > /app/tools/ui/dist/index.html

FROM docker.io/ubuntu:${UBUNTU_VERSION} AS build
ARG OPENVINO_VERSION_MAJOR
ARG OPENVINO_VERSION_FULL
COPY --from=web /app/tools/ui/dist /app/tools/ui/dist
RUN mkdir -p /app/lib /app/full && echo "openvino $OPENVINO_VERSION_MAJOR, $OPENVINO_VERSION_FULL" > /app/lib/libggml.so \
    && for name in llama-cli llama-completion llama-server tools.sh; do echo "$name" > /app/full/$name; done

FROM docker.io/ubuntu:${UBUNTU_VERSION} AS base
ARG APP_VERSION=N/A
ARG IMAGE_URL=https://github.com/ggml-org/llama.cpp
ARG IMAGE_SOURCE=https://github.com/ggml-org/llama.cpp
LABEL org.opencontainers.image.url=$IMAGE_URL
RUN mkdir -p /app && echo "$APP_VERSION of $IMAGE_SOURCE" > /app/version
COPY --from=build /app/lib/ /app

FROM base AS full
COPY --from=build /app/full /app
WORKDIR /app
ENTRYPOINT ["cat", "/app/tools.sh", "/app/libggml.so", "/app/version"]

FROM base AS light
COPY --from=build /app/full/llama-cli /app/full/llama-completion /app/
WORKDIR /app
ENTRYPOINT ["cat", "/app/llama-cli", "/app/libggml.so", "/app/version"]

FROM base AS server
ENV LLAMA_ARG_HOST=0.0.0.0
COPY --from=build /app/full/llama-server /app/
WORKDIR /app
ENTRYPOINT ["cat", "/app/llama-server", "/app/libggml.so", "/app/version"]
