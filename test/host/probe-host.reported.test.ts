/** Hosts of public reports, as faked roots and node objects: each with the answer that its report asks for. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { expandMatrix } from "../../src/fleet/cells/expand.ts";
import { parseMatrix } from "../../src/fleet/matrix/parse-matrix.ts";
import { findMarch } from "../../src/hardware/cpu-marches.ts";
import type { HostFacts } from "../../src/host/facts.ts";
import { formatHostFacts } from "../../src/host/format-facts.ts";
import { parseHostFacts } from "../../src/host/parse-facts.ts";
import { probeHost } from "../../src/host/probe-host.ts";
import { readHost } from "../../src/host/read-host.ts";
import type { Lock } from "../../src/lock/lock.ts";
import type { DriverRequirement } from "../../src/lock/requirement.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import { cuda, image, lockOf } from "../resolve/support/locks.ts";
import { fixtureHostIo } from "../support/fixture-host-io.ts";
import { needs } from "../support/needs.ts";

const samples = fileURLToPath(new URL("../../../shared/samples/hosts", import.meta.url));
const whyNoSamples = existsSync(samples)
  ? null
  : "no reported hosts in ../shared/samples/hosts, beside the checkout (they are not published)";

/** An image of a sample's spec.json. */
interface Wanted extends Partial<Extract<DriverRequirement, { mode: "compat" }>> {
  readonly pkgCuda?: string;
  readonly platform?: string;
  readonly march?: string;
  readonly features?: readonly string[];
  readonly toolkit?: string;
  readonly code?: readonly string[];
  readonly require?: string;
}

function lockFor(name: string, change: Partial<Wanted> = {}): Lock {
  const { images } = JSON.parse(readFileSync(join(samples, name, "spec.json"), "utf8"));
  return lockOf(
    Object.fromEntries(
      Object.entries(images as Record<string, Wanted>).map(([cell, wanted]) => {
        const { march = "any", features = findMarch(march)?.features ?? [], ...given } = wanted;
        const {
          toolkit,
          code,
          require,
          mode,
          package: version = "",
          pkgCuda = "",
          branches = [],
          ...rest
        } = {
          ...given,
          ...change,
        };
        const driver = mode && { mode, package: version, cuda: pkgCuda, branches, ...own(rest) };
        const side =
          toolkit === undefined
            ? null
            : cuda(toolkit, code ?? [], { ...(require && { require }), ...(driver && { driver }) });
        const requires = { cpu: { march, features }, cuda: side };
        return [cell, { ...image(), platform: wanted.platform ?? "linux/amd64", requires }];
      }),
    ),
  );
}

function own({ onPath, for: jetson }: Wanted) {
  return { ...(onPath && { onPath }), ...(jetson && { for: jetson }) };
}

async function hostOf(name: string): Promise<HostFacts> {
  const node = join(samples, name, "node.json");
  if (existsSync(node)) return readHost(readFileSync(node, "utf8"), "node.json");
  const io = fixtureHostIo(join(samples, name));
  const readNvml = async (paths: readonly string[]) => {
    const nvml = await io.readNvml(paths);
    // The samples have an empty list for MIG that is off.
    return nvml && { ...nvml, devices: nvml.devices.map((each) => ({ ...each, mig: { value: null } })) };
  };
  return probeHost({ ...io, readNvml });
}

/** The winner, and each refusal as its code, message and cure. */
function answer(name: string, host: HostFacts, change?: Partial<Wanted>) {
  const { match, rejected } = resolveImage(lockFor(name, change), host);
  const why = rejected.map(({ cell, code, message, fix }) => `${cell} ${code} ${message} → ${fix}`);
  return { cell: match?.cell ?? null, tier: match?.tier, why: why.join("\n") };
}

describe("hosts of public reports (../shared/samples/hosts)", needs(whyNoSamples), () => {
  it.each([
    ["01-gb10-proprietary-module", null, /HOST_BROKEN.*does not drive Blackwell.*→ install the open flavor/],
    ["01c-p4-open-module", null, /HOST_BROKEN.*does not drive Pascal.*→ install the proprietary flavor/],
    ["10-azure-milan-no-pku", "zen3", /^$/],
    ["14-m4-vm-sve2-without-sve", "m1", /only-sve2 CPU_FEATURES_MISSING needs sve2/],
    ["17b-lxc-no-uvm", null, /HOST_BROKEN HOST_NO_UVM/],
    ["18-nova-core", "cpu", /NovaCore holds 1 NVIDIA GPU.*→ blacklist nova_core/],
    ["21-pascal-plus-blackwell", "cu130", /^$/],
    ["22-r590-pascal", "cpu", /driver 590.48.01 no longer drives Pascal.*→ install a driver of branch 580$/],
    ["24-milan-old-nfd011", "zen3", /^$/],
    ["26-wsl-551-cuda128", "cpu", /NVIDIA_REQUIRE_UNSATISFIED .*cannot be proved.*CUDA 12.4 here/],
  ])("%s: %s", async (name, cell, why) => {
    const host = await hostOf(name);
    const read = parseHostFacts(formatHostFacts(host), "facts.json");
    for (const each of [host, read]) {
      const said = answer(name, each);
      expect(said.cell, said.why).toBe(cell);
      expect(said.why).toMatch(why);
      expect(said.why).not.toMatch(/power-cycle|modprobe nvidia\b/);
    }
  });

  it("05: an Orin takes the package for Jetson, and none for servers", async () => {
    const host = await hostOf("05-orin-jp6-cuda129-compat");
    const servers = answer("05-orin-jp6-cuda129-compat", host);
    expect(servers.cell).toBeNull();
    expect(servers.why).toMatch(
      /cu129-compat COMPAT_NOT_SUPPORTED .* is one for servers, and this host is a Jetson/,
    );
    expect(servers.why).not.toMatch(/driver: 575|→ 575/);
    const jetson = { for: "jetson", package: "12.9", branches: ["540"] } as const;
    const fits = answer("05-orin-jp6-cuda129-compat", host, jetson);
    expect(fits).toMatchObject({ cell: "cu129-compat", tier: "forward", why: "" });
  });

  it("05m: a plan names the cell that no machine runs", () => {
    const text = readFileSync(join(samples, "05m-orin-matrix/matrix.yaml"), "utf8");
    const reasons = (matrix: string) =>
      expandMatrix(parseMatrix(matrix, "matrix.yaml")).map(({ skipped }) => skipped?.reason ?? null);
    expect(reasons(text)).toEqual([null, expect.stringContaining("driver: { mode: compat, for: jetson }")]);
    expect(reasons(text.replace("mode: compat", "mode: compat, for: jetson"))).toEqual([null, null]);
  });

  it("21: no cure loses the card that works", async () => {
    const { problems } = await hostOf("21-pascal-plus-blackwell");
    expect(problems.map(({ code }) => code)).toEqual(["HOST_GPU_UNSUPPORTED_BY_DRIVER"]);
    expect(problems[0]?.fix).toMatch(
      /^no flavor of the driver drives this GPU and GPU 0 \(NVIDIA GeForce RTX 5090/,
    );
  });

  it("10: a kernel that prints no rdpid is named where the CPU is not known", async () => {
    const host = await hostOf("10-azure-milan-no-pku");
    const features = host.cpu.features?.filter((feature) => feature !== "rdpid") ?? [];
    const { why } = answer("10-azure-milan-no-pku", { ...host, cpu: { ...host.cpu, features } });
    expect(why).toContain("needs rdpid (znver3), of which this host's kernel, 3.10.0, prints nothing");
  });
});
