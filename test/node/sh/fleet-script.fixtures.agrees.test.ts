import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { probeHost } from "../../../src/host/probe-host.ts";
import type { Lock } from "../../../src/lock/lock.ts";
import { fleetScript } from "../../../src/node/sh/fleet-script.ts";
import { resolveImage } from "../../../src/resolve/resolve-image.ts";
import { isOfHost } from "../../../src/resolve/verdict.ts";
import { fixtureHostIo } from "../../support/fixture-host-io.ts";
import { isLong } from "../../support/long.ts";
import { needs } from "../../support/needs.ts";
import { findDialects, missingForDialects, whyNoDialect } from "./support/dialects.ts";
import { wholeFleet } from "./support/fleet.ts";
import { fakeSmi, fixtureMachine, writeMachine } from "./support/machine.ts";
import { runScripts } from "./support/run-scripts.ts";
import { cuda, gpuImage, image, lockOf } from "../../resolve/support/locks.ts";
import { captured, devices } from "../../host/amd/support/amd-host.ts";
import { machineIo } from "./support/machine-io.ts";

const hosts = fileURLToPath(new URL("../../fixtures/hosts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "imgmatch-sh-"));
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Machines where the script says less than NVML would. It refuses there, with exit code 4: docs/node.md names each. */
const refusals: Readonly<Record<string, string>> = {
  "docker-icelake-a100_one_of_four": "no nvidia-smi",
  "rhel8-icelake-a100_no_nvml": "no nvidia-smi",
  "ubuntu2204-zen3-titanv_rtx5880_cvd_pci_order":
    "no word of the container toolkit, which decides for one image",
};

const machines = readdirSync(hosts)
  .map((name) => ({ name, ...fixtureMachine(join(hosts, name)) }))
  .filter(({ platform }) => platform === "linux");

const bin = join(folder, "bin");
mkdirSync(bin);
writeFileSync(join(bin, "nvidia-smi"), fakeSmi, { mode: 0o755 });
for (const machine of machines) writeMachine(join(folder, machine.name), machine);

const fleets: Readonly<Record<string, { lock: Lock; cpuOnly?: boolean }>> = {
  whole: { lock: wholeFleet() },
  "no plain GPU images": {
    lock: {
      ...wholeFleet((cell) => /^(none|13.0c|12.2b|12.4r)_/.test(cell)),
      prefer: ["cuda=none", "toolkit"],
    },
  },
  "for JetPack 6": { lock: wholeFleet((cell) => cell.startsWith("12.6l_")) },
  "CPU only": { lock: wholeFleet((cell) => cell.startsWith("none_")) },
  "--cpu": { lock: wholeFleet(), cpuOnly: true },
  "with images for AMD": { lock: withAmd(wholeFleet()) },
};

/** Images that every processor of x86-64 runs. */
function withAmd(lock: Lock): Lock {
  const rocm = (tag: string, code: readonly string[]) => {
    const axes = { cuda: "none", march: "none" };
    const requires = { cpu: { march: "none", features: [] }, cuda: null, rocm: { release: "7.2", code } };
    return [tag, image({ axes, tag, requires })] as const;
  };
  const more = [
    rocm("exact", ["gfx942:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"]),
    rocm("plain", ["gfx900", "gfx906", "gfx942"]),
    rocm("spirv", ["amdgcnspirv"]),
  ];
  return { ...lock, images: { ...lock.images, ...Object.fromEntries(more) } };
}

async function expected(lock: Lock, cpuOnly: boolean): Promise<Readonly<Record<string, string>>> {
  const answers = machines.map(async ({ name }) => {
    const facts = await probeHost(fixtureHostIo(join(hosts, name)));
    const { match, rejected } = resolveImage(lock, facts, { cpuOnly });
    const broken = rejected.some(({ code }) => isOfHost(code));
    return [name, match !== null ? `0 ${match.reference}` : broken ? "4 " : "3 "] as const;
  });
  return Object.fromEntries(await Promise.all(answers));
}

describe.each(missingForDialects())("%s", (why) => {
  test("answers as resolve does", needs(why), () => {});
});

const dialects = findDialects(join(folder, "awks"));

describe.each(dialects.map((dialect, at) => ({ ...dialect, dialect, at })))("$name", ({ dialect, at }) => {
  // An answer that depends on a fleet does not depend on a shell.
  const asked = Object.entries(fleets).filter(
    ([title]) => title === "whole" || dialect.name === "dash, mawk",
  );
  // A driver that hangs costs the time limit each time: dash alone meets one. A busy machine does not reach the limit of the others.
  const smiSeconds = dialect.shell === "dash" ? 2 : 30;
  // dash meets every machine, each other shell a third of them, and all with IMGMATCH_LONG.
  const here = machines.filter(
    ({ name }, index) =>
      dialect.shell === "dash" || (!name.endsWith("_timeout") && (isLong || (index + at) % 3 === 0)),
  );
  test.each(asked)(
    "answers as resolve does on every machine, fleet: %s",
    async (title, { lock, cpuOnly = false }) => {
      const script = join(folder, `${title.replaceAll(" ", "_")}.sh`);
      writeFileSync(script, (await fleetScript(lock, { version: "1.0.0", cpuOnly, smiSeconds })).text);
      const out = mkdtempSync(join(folder, "out-"));
      const results = runScripts(
        out,
        dialect,
        here.map(({ name, env, smi, denied }) => ({
          script,
          root: join(folder, name),
          env,
          smi: smi === null ? null : bin,
          unprivileged: denied.length > 0,
        })),
      );
      const want = await expected(lock, cpuOnly);
      const got = Object.fromEntries(
        here.map(({ name }, index) => {
          const { status = -1, stdout = "", stderr = "" } = results[index] ?? {};
          return [name, [`${status} ${stdout.trim()}`, stderr.trim()] as const];
        }),
      );
      const wrong = here
        .filter(({ name }) => got[name]?.[0] !== want[name] && !(name in refusals && got[name]?.[0] === "4 "))
        .map(({ name }) => `${name}: ${want[name]}, not ${got[name]?.join(": ")}`);
      expect(wrong.join("\n")).toBe("");
    },
    120_000,
  );
});

describe("an Orin and code for sm_80", needs(whyNoDialect(dialects)), () => {
  const orin = fixtureMachine(join(hosts, "jetson-a78ae-orin"));
  const under = (driver: string) => {
    const put = (text: string) => text.replaceAll("540.4.0", driver);
    const files = new Map([...orin.files].map(([path, text]) => [path, put(text)]));
    const links = Object.fromEntries(Object.entries(orin.links).map(([path, to]) => [path, put(to)]));
    return { ...orin, files, links, smi: null };
  };
  const forArm = (code: readonly string[]) =>
    lockOf({ only: gpuImage(cuda("12.6.3", code), { platform: "linux/arm64", requires: needsOf(code) }) });
  const needsOf = (code: readonly string[]) => ({
    cpu: { march: "armv8-a", features: [] },
    cuda: cuda("12.6.3", code),
  });

  test.each([
    ["580.00", ["sm_80"], 4, "FACT_UNKNOWN"],
    ["580.00", ["sm_86"], 3, "NO_GPU_CODE"],
    ["580.00", ["sm_80", "sm_87"], 0, ""],
  ])("driver %s, %j: exit code %i %s, in script and resolve", async (driver, code, exit, reason) => {
    const lock = forArm(code);
    const machine = under(driver);
    const { match, rejected } = resolveImage(lock, await probeHost(machineIo(machine, null)));
    expect([match === null, rejected.map((each) => each.code)]).toEqual([
      exit !== 0,
      exit === 0 ? [] : [reason],
    ]);
    const root = mkdtempSync(join(folder, "orin-"));
    writeMachine(root, machine);
    const script = join(root, "fleet.sh");
    writeFileSync(script, (await fleetScript(lock, { version: "1.0.0" })).text);
    for (const dialect of dialects.slice(0, 2)) {
      const [got] = runScripts(mkdtempSync(join(folder, "out-")), dialect, [
        { script, root, env: machine.env, smi: null },
      ]);
      expect([got?.status, got?.stderr.includes(reason)], got?.stderr).toEqual([exit, true]);
    }
  });
});

const samples = fileURLToPath(new URL("../../../../shared/samples/amd/kfd", import.meta.url));
const topologies = [
  "topology-parsing/topology",
  "topo-mi210-xgmi-pcie",
  "topo-mi300-cpx/topology",
  "topology-parsing-mi308/topology",
];

describe("captured topologies of AMD (../shared/samples/amd/kfd)", () => {
  const why = existsSync(samples)
    ? whyNoDialect(dialects)
    : "no samples of AMD machines in ../shared/samples/amd, beside the checkout (they are not published)";
  const machinesOf = () =>
    topologies.map((name, index) => {
      const files = new Map(Object.entries(captured(join(samples, name))));
      files.set("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu lm\n");
      const env = index % 2 === 0 ? {} : { ROCR_VISIBLE_DEVICES: "1,0" };
      return { arch: "x64", env, files, nodes: devices(200), links: {}, denied: [], smi: null };
    });

  test("are answered as resolve does by every shell and awk", {
    ...needs(why),
    timeout: 120_000,
  }, async () => {
    const lock = withAmd(wholeFleet());
    const script = join(folder, "amd.sh");
    writeFileSync(script, (await fleetScript(lock, { version: "1.0.0" })).text);
    const machines = machinesOf();
    for (const [index, each] of machines.entries()) writeMachine(join(folder, `amd${index}`), each);
    const want = await Promise.all(
      machines.map(
        async (each) => resolveImage(lock, await probeHost(machineIo(each, null))).match?.reference,
      ),
    );
    expect(want.map((reference) => reference?.replace(/^.*:(.*)@.*$/, "$1"))).toEqual([
      "plain",
      "exact",
      "exact",
      "exact",
    ]);
    for (const dialect of dialects) {
      const out = mkdtempSync(join(folder, "out-"));
      const cases = machines.map(({ env }, index) => ({
        script,
        root: join(folder, `amd${index}`),
        env,
        smi: null,
      }));
      const got = runScripts(out, dialect, cases).map(({ stdout }) => stdout.trim());
      expect(got, dialect.name).toEqual(want);
    }
  });
});
