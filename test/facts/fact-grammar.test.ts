import { describe, expect, test } from "vitest";
import { kernelNumber } from "../../src/facts/fact-grammar.ts";
import { readHost } from "../support/read-hosts.ts";
import { labelFormats } from "../../src/node/launch/labels/label-formats.ts";
import { nodeLabels } from "../../src/node/launch/labels/node-labels.ts";
import { a100, gpuHost } from "../resolve/support/hosts.ts";

const facts = JSON.stringify(gpuHost([a100], "570.124.06", "12.8"));
const hostile = ["--all", "x;reboot", "$(id)", "a b", "\u001b[2J", "\n--overwrite", "", "\u202e"];

/** Facts with one value swapped, by its path. */
function withFact(path: string, value: unknown): string {
  const edited = JSON.parse(facts) as Record<string, unknown>;
  const keys = path.split(".");
  let at = edited;
  for (const key of keys.slice(0, -1)) at = at[key] as Record<string, unknown>;
  at[keys.at(-1) ?? ""] = value;
  return JSON.stringify(edited);
}

describe("facts that become words of a command are words", () => {
  const words = [
    "platform",
    "kernel",
    "cpu.level",
    "nvidia.driver",
    "nvidia.library",
    "nvidia.cuda",
    "nvidia.module",
    "nvidia.gpus.0.uuid",
    "nvidia.gpus.0.compute",
    "nvidia.gpus.0.pci",
    "nvidia.gpus.0.bus",
    "nvidia.gpus.0.class",
    "runtime.nvidia",
    "runtime.toolkit",
    "runtime.compat",
  ];
  test.each(words)("%s", async (path) => {
    for (const text of hostile)
      await expect(readHost(withFact(path, text), "facts.json"), text).rejects.toThrow(/FACTS_SCHEMA/);
  });

  test.each([
    ["cpu.features", (text: string) => [text]],
    ["nvidia.gpus.0.mig", (text: string) => [{ uuid: "MIG-1", profile: text }]],
    ["nvidia.gpus.0.mig", (text: string) => [{ uuid: text, profile: "3g.40gb" }]],
    ["problems", (text: string) => [{ code: `HOST_${text}`, message: "m" }]],
    ["sources", (text: string) => ({ [text]: "nvml" })],
  ] as const)("the words in %s", async (path, wrap) => {
    for (const text of hostile)
      await expect(readHost(withFact(path, wrap(text)), "facts.json"), text).rejects.toThrow(/FACTS_SCHEMA/);
  });

  // It becomes the value of a Kubernetes label, which ends with a letter or digit.
  test.each(["linux/arm64_", "linux/_arm64", "linux/arm64/"])("the platform %s is no word", async (text) => {
    await expect(readHost(withFact("platform", text), "facts.json")).rejects.toThrow(/FACTS_SCHEMA/);
  });

  test("the CPU's vendor, which may have blanks", async () => {
    for (const text of hostile.filter((each) => each !== "a b"))
      await expect(readHost(withFact("cpu.vendor", text), "facts.json"), text).rejects.toThrow(
        /FACTS_SCHEMA/,
      );
  });

  test("a level that no table has is unknown, and is no label", async () => {
    const host = await readHost(withFact("cpu.level", "x86-64-v9"), "facts.json");
    expect(host.cpu.level).toBeNull();
    expect(Object.keys(nodeLabels(host))).not.toContain("cpu-level");
  });
});

test("text for people is read, and shows what a terminal would act on", async () => {
  const host = await readHost(withFact("nvidia.gpus.0.name", "A100\u001b]0;x\u0007\u202e"), "facts.json");
  expect(host.nvidia?.gpus[0]?.name).toBe("A100\\u001b]0;x\\u0007\\u202e");
});

test("labels of a node cannot bring other words in", async () => {
  for (const text of hostile) {
    const labels = {
      "kubernetes.io/arch": text,
      "kubernetes.io/os": text,
      "feature.node.kubernetes.io/cpu-cpuid.AVX2": "true",
      "feature.node.kubernetes.io/cpu-model.vendor_id": text,
      "feature.node.kubernetes.io/kernel-version.full": text,
      "nvidia.com/cuda.driver-version.full": text,
      "nvidia.com/cuda.runtime-version.full": text,
      "nvidia.com/gpu.product": text,
      "nvidia.com/gpu.count": "1",
      "nvidia.com/gpu.compute.major": text,
      "nvidia.com/mig.strategy": text,
    };
    const host = await readHost(JSON.stringify(labels), "node.json");
    for (const name of ["kubernetes", "nfd", "docker", "nomad"] as const) {
      for (const line of labelFormats[name].write(nodeLabels(host)).trimEnd().split("\n"))
        expect(line).toMatch(/^[A-Za-z0-9][A-Za-z0-9._/-]*=[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/);
    }
  }
});

test("reduces a kernel release to its number", () => {
  expect(kernelNumber("6.8.0-45-generic\n")).toBe("6.8.0");
  expect(kernelNumber("3.10.0-1160.el7.x86_64")).toBe("3.10.0");
  expect(kernelNumber("")).toBeNull();
});
