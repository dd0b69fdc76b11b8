/** A lock of so many images, for CPUs from x86-64-v2 on. */

const marches = ["x86-64-v2", "x86-64-v3", "x86-64-v4", "sapphirerapids", "znver4"];
const digest = `sha256:${"cd".repeat(32)}`;

export function benchLock(images: number): string {
  const entries = Array.from({ length: images }, (_, index) => {
    const march = marches[index % marches.length] ?? "x86-64-v2";
    const gpu = index >= marches.length;
    const image = {
      axes: { cuda: gpu ? "12.8.1" : "none", march, build: String(index) },
      platform: "linux/amd64",
      tag: `t${index}`,
      inputDigest: digest,
      digest,
      requires: {
        cpu: { march, features: index === 0 ? ["sse2"] : ["avx2", "fma", "sse2"] },
        cuda: gpu
          ? {
              toolkit: "12.8.1",
              code: ["sm_80", "compute_80"],
              driver: { mode: "host", minimum: "525.60.13" },
            }
          : null,
      },
      bases: [],
      builder: "bench",
      created: null,
      size: null,
    };
    return [`cell-${index}`, image];
  });
  const lock = {
    schemaVersion: 2,
    name: "bench",
    version: "1",
    repository: "registry.example.com/bench",
    images: Object.fromEntries(entries),
  };
  return JSON.stringify(lock, null, 2);
}
