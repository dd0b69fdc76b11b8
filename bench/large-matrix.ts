/** A matrix of exactly so many cells that can be built. Its bases are pinned, so that no registry is asked. */

const pin = `@sha256:${"ab".repeat(32)}`;

/**
 * File name → text.
 *
 * @param cells a multiple of 400
 * @param cases further keys of the matrix
 */
export function largeMatrix(cells: number, cases = ""): Readonly<Record<string, string>> {
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
${cases}`,
    "templates/app.Dockerfile.hbs": `FROM {{base.build}} AS build
${cases === "" ? "" : "ARG MAX_JOBS\nARG GCC\nARG WHEEL\nARG TORCH_CUDA_ARCH_LIST\nARG CXXFLAGS\n"}COPY main.cu /src/main.cu
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

/** Values and arguments that depend on several axes, as in the fleets of docs/examples/fleets. */
export const largeCases = `values:
  max_jobs:
    - { when: { cuda: "12.4", march: [sapphirerapids, "znver*"] }, value: "16" }
    - { when: { compute: "9.0*" }, value: "8" }
    - { value: "2" }
  gcc:
    - { when: { march: "x86-64-*", cuda: ["12.4", "12.5"] }, value: "11", args: { CXXFLAGS: -O2 } }
    - { when: { march: [haswell, broadwell] }, value: "12" }
    - { value: "13", args: { CXXFLAGS: "-O3 {{march.flags}}" } }
  wheel:
    - { when: { build: "0", cuda: "12.8" }, value: nightly }
    - { when: { build: ["1*", "2*"], compute: ["7.0", "7.5"] }, value: old }
    - { value: release }
args:
  MAX_JOBS: "{{max_jobs}}"
  GCC: "{{gcc}}"
  WHEEL: "{{wheel}}"
  TORCH_CUDA_ARCH_LIST: '{{join (dotted gpu.targets) " "}}'
`;
