/** The answers of variantlib, the reference implementation of PEP 825, with the providers of the properties, on captured machines. */

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { HostFacts } from "../../src/facts/facts.ts";
import { parseHostFacts } from "../../src/facts/parse-facts.ts";
import { judgeVariant } from "../../src/node/judge-variant.ts";
import {
  a100,
  amdGpu,
  amdHost,
  cpuHost,
  gpu,
  gpuHost,
  h100,
  orin,
  rtx4090,
  v100,
} from "../resolve/support/hosts.ts";
import { needs } from "../support/needs.ts";
import { whyNot } from "../support/programs.ts";

const folder = process.env.IMGMATCH_VARIANTLIB;
const env = { ...process.env, ...(folder === undefined ? {} : { PYTHONPATH: folder }) };
const install =
  "pip3 install --target FOLDER variantlib==0.2.2 provider-variant-x86-64 provider-variant-aarch64 rocm-bootstrap, and IMGMATCH_VARIANTLIB=FOLDER";
const missing = (module: string, how = install) =>
  whyNot("python3", ["-c", `import ${module}`], { install: how, env });

/** For each host the properties that its providers allow, then for each variant variantlib's answer. */
const script = `
import importlib, io, json, os, sys
from variantlib.models.variant import VariantDescription, VariantProperty
from variantlib.resolver.lib import filter_variants
def load(name):
    # Each provider brings an archspec of its own, and finds it in a process of its own.
    for module in [each for each in sys.modules if each.split(".")[0] == "archspec"]:
        del sys.modules[module]
    return importlib.import_module(name + ".plugin")
plugins = {"x86_64": load("provider_variant_x86_64").X8664Plugin, "aarch64": load("provider_variant_aarch64").AArch64Plugin}
def providers(host):
    for namespace, plugin in plugins.items():
        cpu = sys.modules[plugin.__module__].archspec.cpu
        getattr(cpu.detect.host, "cache_clear", lambda: None)()
        cpu.detect._machine = lambda: host["machine"]
        cpu.detect.open = lambda *_: io.StringIO(host["cpuinfo"])
        cpu.detect.detected_info = cpu.detect.proc_cpuinfo
        yield namespace, plugin().get_supported_configs(None)
    os.environ["ROCM_BOOTSTRAP_FORCE_GFX_ARCH"] = ",".join(host["gfx"])
    from rocm_bootstrap.variant_provider import AMDVariantPlugin
    yield "amd", AMDVariantPlugin.get_supported_configs() if host["gfx"] else []
    if host["cuda"] and os.environ.get("NVIDIA") == "1":
        os.environ["NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION"] = host["cuda"]
        os.environ["NV_VARIANT_PROVIDER_FORCE_SM_ARCH"] = host["sm"]
        from nvidia_variant_provider.plugin import NvidiaVariantPlugin as Nvidia
        for name in ("umd_version", "get_sm_architectures", "get_supported_configs"):
            getattr(Nvidia, name).cache_clear()
        yield "nvidia", Nvidia.get_supported_configs()
asked = json.load(sys.stdin)
answers = []
for host in asked["hosts"]:
    allowed = [VariantProperty(n, c.name, v) for n, configs in providers(host) for c in configs for v in c.values]
    row = []
    for properties in asked["variants"]:
        described = VariantDescription([VariantProperty.from_str(p) for p in properties])
        row.append(len(list(filter_variants(vdescs=[described], allowed_properties=allowed, filter_values=True))) == 1)
    answers.append(row)
print(json.dumps(answers))
`;

const machines = join(import.meta.dirname, "../fixtures/hosts");
const archspecNames = { "linux/amd64": "x86_64", "linux/arm64": "aarch64" } as const;

interface Machine {
  readonly name: string;
  readonly facts: HostFacts;
  readonly cpuinfo: string;
}

const captured: readonly Machine[] = readdirSync(machines).flatMap((name) => {
  const cpuinfo = join(machines, name, "root/proc/cpuinfo");
  const facts = parseHostFacts(readFileSync(join(machines, name, "expected.json"), "utf8"), name);
  const isKnown = existsSync(cpuinfo) && facts.platform in archspecNames && facts.cpu.features !== null;
  return isKnown ? [{ name, facts, cpuinfo: readFileSync(cpuinfo, "utf8") }] : [];
});

function ask(hosts: readonly Machine[], variants: readonly (readonly string[])[], nvidia = false) {
  const input = JSON.stringify({
    hosts: hosts.map(({ facts: { platform, nvidia: card, amd }, cpuinfo }) => ({
      machine: archspecNames[platform as keyof typeof archspecNames],
      cpuinfo,
      cuda: card?.cuda ?? null,
      sm:
        [...(card?.gpus ?? [])]
          .map(({ compute }) => compute ?? "0.0")
          .sort((a, b) => Number(b) - Number(a))[0] ?? "0.0",
      gfx: amd?.gpus.map(({ target }) => target) ?? [],
    })),
    variants,
  });
  const ran = spawnSync("python3", ["-W", "ignore", "-c", script], {
    ...{ input, encoding: "utf8", env: { ...env, NVIDIA: nvidia ? "1" : "0" }, maxBuffer: 2 ** 26 },
  });
  if (ran.status !== 0) throw new Error(ran.stderr);
  return JSON.parse(ran.stdout) as readonly (readonly boolean[])[];
}

/** `no` where some feature is refused, `unknown` where nobody knows, else `yes`. */
function own(facts: HostFacts, properties: readonly string[]): string {
  const features = new Map<string, string[]>();
  for (const property of properties) {
    const [namespace, feature, value = ""] = property.split(" :: ");
    const name = `${namespace} :: ${feature}`;
    features.set(name, [...(features.get(name) ?? []), value]);
  }
  const listed = [...features].map(([name, values]) => ({ name, values }));
  const { reasons, unknown } = judgeVariant({ label: "x", features: listed, why: "" }, facts);
  return reasons.length > 0 ? "no" : unknown.length > 0 ? "unknown" : "yes";
}

function compare(hosts: readonly Machine[], variants: readonly (readonly string[])[], nvidia = false) {
  const said = ask(hosts, variants, nvidia);
  const cases = hosts.flatMap(({ name, facts }, host) =>
    variants.map((properties, index) => ({
      what: `${name}: ${properties.join(", ")}`,
      variantlib: said[host]?.[index] ? "yes" : "no",
      imgmatch: own(facts, properties),
    })),
  );
  return {
    cases,
    differ: cases.filter(({ variantlib, imgmatch }) => imgmatch !== "unknown" && variantlib !== imgmatch),
    unknown: cases.filter(({ imgmatch }) => imgmatch === "unknown"),
  };
}

const hybrid = "ubuntu2204-alderlake_hybrid-none";
const x86Features =
  "avx2 avx512f avx512_bf16 avx512_vnni aes sha_ni sse3 sse4_2 adx vaes gfni clwb popcnt".split(" ");
const armFeatures = "sve sve2 i8mm bf16 asimddp sha3 rng paca flagm2 crc32 jscvt".split(" ");

describe(
  "variantlib and the providers of PyPI",
  needs(missing("variantlib"), missing("provider_variant_x86_64.plugin")),
  () => {
    it("agree about levels and features of every captured CPU", () => {
      const { cases, differ, unknown } = compare(captured, [
        ...["v1", "v2", "v3", "v4"].map((level) => [`x86_64 :: level :: ${level}`]),
        ...x86Features.map((feature) => [`x86_64 :: ${feature} :: on`]),
        ...armFeatures.map((feature) => [`aarch64 :: ${feature} :: on`]),
        ["x86_64 :: level :: v2", "x86_64 :: level :: v4"],
        ["x86_64 :: level :: v2", "x86_64 :: avx2 :: on"],
        ["x86_64 :: level :: v2", "aarch64 :: sve :: on"],
        [],
      ]);
      expect(captured.length).toBeGreaterThan(40);
      expect(cases.filter(({ variantlib }) => variantlib === "yes").length).toBeGreaterThan(500);
      expect(unknown).toEqual([]);
      // archspec looks at the first CPU alone, of which only the fast ones of Alder Lake have AVX-512.
      const refused = differ.filter(({ imgmatch }) => imgmatch === "no");
      expect([...new Set(refused.map(({ what }) => what.split(":")[0]))]).toEqual([hybrid]);
      // The providers tell the features of the model that archspec takes the CPU for, not all that its flags name.
      const lacked = differ.filter(({ imgmatch }) => imgmatch === "yes");
      const features = lacked.map(({ what }) => what.split(": ").slice(1).join(": "));
      expect([...new Set(features)].filter((property) => !/ :: \w+ :: on$/.test(property))).toEqual([]);
      expect(lacked.length).toBeLessThan(100);
    });

    it("agree about versions of Arm's architecture, of which our tables do not have all", () => {
      const arm = captured.filter(({ facts }) => facts.platform === "linux/arm64");
      const versions = ["8a", "8.1a", "8.2a", "8.3a", "8.4a", "8.5a", "9.0a"];
      const { differ, unknown } = compare(
        arm,
        versions.map((version) => [`aarch64 :: version :: ${version}`]),
      );
      // archspec does not know NVIDIA's Carmel, whose flags prove Armv8.2.
      expect(differ.map(({ what }) => what.split(":")[0])).toEqual([
        "jetson-carmel-xavier_jp5",
        "jetson-carmel-xavier_jp5",
      ]);
      expect(new Set(unknown.map(({ what }) => what.split(" :: ").at(-1)))).toEqual(
        new Set(["8.3a", "8.4a"]),
      );
    });

    it("agree about AMD's targets", () => {
      const cpuinfo = captured[0]?.cpuinfo ?? "";
      const hosts = [["gfx942"], ["gfx1100", "gfx1036"], []].map((targets) => ({
        ...{ name: targets.join(" "), cpuinfo },
        facts:
          targets.length === 0
            ? { ...cpuHost(), amd: null }
            : amdHost(targets.map((target) => amdGpu({ target }))),
      }));
      const variants = ["gfx942", "gfx1100", "gfx1036", "gfx90a"].map((target) => [
        `amd :: gfx_arch :: ${target}`,
      ]);
      const { differ, unknown } = compare(hosts, [...variants, variants.flat()]);
      expect({ differ, unknown }).toEqual({ differ: [], unknown: [] });
    });

    const checkout =
      "pip3 install --target FOLDER a checkout of github.com/wheelnext/nvidia-variant-provider beside variantlib";
    it(
      "agree with NVIDIA's about drivers and GPUs",
      needs(missing("nvidia_variant_provider.plugin", checkout)),
      () => {
        const cpuinfo = captured[0]?.cpuinfo ?? "";
        const hosts = [
          ["12.4", [h100]],
          ["12.9", [rtx4090, a100]],
          ["13.0", [v100]],
          ["11.4", [orin]],
          ["12.0", [gpu({ compute: "12.0" })]],
          ["10.2", [v100]],
        ].map(([cuda, gpus]) => ({
          ...{ name: `CUDA ${cuda}`, cpuinfo },
          facts: gpuHost(gpus as readonly ReturnType<typeof gpu>[], "999.0", cuda as string),
        }));
        const { cases, differ, unknown } = compare(hosts, [...nvidiaVariants, ...torchVariants], true);
        expect({ differ, unknown }).toEqual({ differ: [], unknown: [] });
        expect(cases.filter(({ variantlib }) => variantlib === "yes").length).toBeGreaterThan(40);
      },
    );
  },
);

const nvidiaVariants = [
  ...["11", "11.8", "12", "12.4", "12.10", "13", "13.1"].flatMap((cuda) => [
    [`nvidia :: cuda_version_lower_bound :: ${cuda}`],
    [`nvidia :: cuda_version_upper_bound :: ${cuda}`],
  ]),
  ...["70", "80", "86", "87", "89", "90", "100", "120"].flatMap((sm) => [
    [`nvidia :: sm_arch :: ${sm}_real`],
    [`nvidia :: sm_arch :: ${sm}_virtual`],
  ]),
];

/** The variants of torch 2.8.0, as its `torch-2.8.0-variants.json` listed them (wheelnext.dev, PyTorch's tutorial). */
const torchVariants = (
  [
    ["12.6", "50_real 60_real 70_real 75_real 80_real 86_real 90_real"],
    ["12.8", "100_real 120_real 75_real 80_real 86_real 90_real"],
    ["12.9", "100_real 120_real 120_virtual 75_real 80_real 86_real 90_real"],
  ] as const
).map(([cuda, targets]) => [
  `nvidia :: cuda_version_lower_bound :: ${cuda}`,
  ...targets.split(" ").map((target) => `nvidia :: sm_arch :: ${target}`),
]);
