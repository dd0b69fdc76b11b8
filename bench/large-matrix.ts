/** A matrix of exactly so many cells that can be built, with bases that are pinned, so that no registry is asked. */

const pin = `@sha256:${"ab".repeat(32)}`;

/** `cells` must be a multiple of 400. Writes nothing: file name → text. */
export function largeMatrix(cells: number): Readonly<Record<string, string>> {
  const builds = Array.from({ length: cells / 400 }, (_, index) => `"${index}"`);
  return {
    "matrix.yaml": `name: large
version: "1.0.0"
registry: registry.example.com/bench
source: https://example.com/bench
template: templates/app.Dockerfile.hbs
axes:
  cuda:
${["12.4.1", "12.5.1", "12.6.3", "12.8.1"].map((toolkit) => `    - { toolkit: "${toolkit}", base: { build: "nvidia/cuda:${toolkit}-devel-ubuntu22.04${pin}", run: "nvidia/cuda:${toolkit}-base-ubuntu22.04${pin}" } }`).join("\n")}
  compute: ["7.0", "7.5", "8.0", ["8.6", "8.9"], "9.0+ptx", "9.0a", "6.0", "6.1", "8.9+ptx", "8.6"]
  march: [x86-64-v2, x86-64-v3, x86-64-v4, haswell, broadwell, skylake-avx512, icelake-server, sapphirerapids, znver3, znver4]
  build: [${builds.join(", ")}]
`,
    "templates/app.Dockerfile.hbs": `FROM {{base.build}} AS build
COPY main.cu /src/main.cu
{{#if gpu}}
RUN nvcc -O3 {{gpu.gencode}} -Xcompiler="{{march.flags}}" -DBUILD={{build}} -o /app /src/main.cu
{{/if}}

FROM {{base.run}}
COPY --from=build /app /usr/local/bin/app
CMD ["app"]
`,
    "templates/main.cu": "int main() { return 0; }\n",
  };
}
