/**
 * The files that `imgmatch init` writes: a matrix with two CPU levels, one toolkit and two GPUs, and a program that prints what it was
 * compiled for.
 */
export function starterFiles(name: string, registry: string): Record<string, string> {
  return {
    "matrix.yaml": `# yaml-language-server: $schema=./node_modules/imgmatch/dist/matrix.schema.json
name: ${name}
version: 0.1.0
registry: ${registry} # images go to ${registry}/${name}
template: templates/app.Dockerfile.hbs
tag: "{{version}}-{{cell}}-{{inputs}}"

axes:
  cuda:
    - toolkit: none # the CPU-only row
      base: { build: gcc:12-bookworm, run: debian:bookworm-slim }
    - toolkit: "12.8.1"
      base:
        build: nvidia/cuda:12.8.1-devel-ubuntu22.04
        run: nvidia/cuda:12.8.1-base-ubuntu22.04
      driver: { mode: host } # the host's driver, at least the floor of CUDA 12
  compute: ["8.0", "9.0+ptx"] # SASS for one, SASS and PTX for the other
  march: [x86-64, x86-64-v3] # the first starts on every machine: what docker pull gets

exclude:
  - { cuda: "12.8", march: x86-64, reason: every host with these GPUs has AVX2 }
`,
    "templates/app.Dockerfile.hbs": `FROM {{base.build}} AS build
COPY hello.c /src/hello.c
RUN gcc -O3 {{march.flags}} -o /hello /src/hello.c
{{#if gpu}}
# nvcc's options for exactly this image's GPUs:
RUN nvcc -O3 {{gpu.gencode}} -x cu -o /hello /src/hello.c
{{/if}}

FROM {{base.run}}
COPY --from=build /hello /usr/local/bin/hello
CMD ["hello"]
`,
    "templates/hello.c": `#include <stdio.h>

int main(void) {
#if defined(__AVX512F__)
  puts("compiled for AVX-512");
#elif defined(__AVX2__)
  puts("compiled for AVX2");
#else
  puts("compiled for any x86-64 CPU");
#endif
  return 0;
}
`,
  };
}
