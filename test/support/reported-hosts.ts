/** Hosts of public reports: faked roots and node objects beside the checkout, each with the images that it asks for. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findMarch } from "../../src/hardware/cpu-marches.ts";
import type { HostFacts } from "../../src/facts/facts.ts";
import type { NvmlReading } from "../../src/host/nvidia/nvml-reading.ts";
import { probeHost } from "../../src/host/probe-host.ts";
import { readHost } from "./read-hosts.ts";
import type { Lock } from "../../src/lock/lock.ts";
import type { DriverRequirement } from "../../src/lock/requirement.ts";
import { cuda, image, lockOf, rocm } from "../resolve/support/locks.ts";
import { fixtureHostIo } from "./fixture-host-io.ts";

export const samples = fileURLToPath(new URL("../../../shared/samples/hosts", import.meta.url));
export const whyNoSamples = existsSync(samples)
  ? null
  : "no reported hosts in ../shared/samples/hosts, beside the checkout (they are not published)";

/** An image of a sample's spec.json. */
export interface Wanted extends Partial<Extract<DriverRequirement, { mode: "compat" }>> {
  readonly pkgCuda?: string;
  readonly platform?: string;
  readonly march?: string;
  readonly features?: readonly string[];
  readonly toolkit?: string;
  readonly code?: readonly string[];
  readonly rocm?: string;
  readonly rocmCode?: readonly string[];
  readonly require?: string;
}

export function lockFor(name: string, change: Partial<Wanted> = {}): Lock {
  const { images } = JSON.parse(readFileSync(join(samples, name, "spec.json"), "utf8"));
  return lockOf(
    Object.fromEntries(
      Object.entries(images as Record<string, Wanted>).map(([cell, wanted]) => {
        const { march = "any", features = findMarch(march)?.features ?? [], ...given } = wanted;
        const {
          toolkit,
          code,
          rocm: release,
          rocmCode = [],
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
        const amd = release === undefined ? {} : { rocm: rocm(release, rocmCode) };
        const requires = { cpu: { march, features }, cuda: side, ...amd };
        return [cell, { ...image(), platform: wanted.platform ?? "linux/amd64", requires }];
      }),
    ),
  );
}

function own({ onPath, for: jetson }: Wanted) {
  return { ...(onPath && { onPath }), ...(jetson && { for: jetson }) };
}

/** The samples have an empty list for MIG that is off. */
export function withoutMig(nvml: NvmlReading): NvmlReading {
  return { ...nvml, devices: nvml.devices.map((each) => ({ ...each, mig: { value: null } })) };
}

export async function hostOf(name: string, change = withoutMig): Promise<HostFacts> {
  const node = join(samples, name, "node.json");
  if (existsSync(node)) return readHost(readFileSync(node, "utf8"), "node.json");
  const io = fixtureHostIo(join(samples, name));
  const readNvml = async (paths: readonly string[]) => {
    const nvml = await io.readNvml(paths);
    return nvml && change(nvml);
  };
  return probeHost({ ...io, readNvml });
}
