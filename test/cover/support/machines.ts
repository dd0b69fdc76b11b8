/** Machines whose facts are known: the captured ones of the tests, and those that lie beside the checkout. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { readCpu } from "../../../src/host/cpu/cpu-facts.ts";
import type { HostFacts } from "../../../src/facts/facts.ts";
import type { NamedHost } from "../../../src/facts/named-host.ts";
import { cpuHost } from "../../resolve/support/hosts.ts";

const samples = new URL("../../../../shared/samples/", import.meta.url);

export const whyNoSamples: string | null = existsSync(samples)
  ? null
  : "no samples of real machines in ../shared/samples, beside the checkout (they are not published)";

export function fixtureHosts(): readonly NamedHost[] {
  return readdirSync("test/fixtures/hosts").map((name) => ({
    name,
    facts: JSON.parse(readFileSync(`test/fixtures/hosts/${name}/expected.json`, "utf8")) as HostFacts,
  }));
}

/** Each `/proc/cpuinfo` of the samples as a host without a GPU. */
export function sampleHosts(): readonly NamedHost[] {
  return readdirSync(samples)
    .filter((name) => name.startsWith("cpuinfo_"))
    .map((name) => {
      const text = readFileSync(new URL(name, samples), "utf8");
      const architecture = /^flags/m.test(text)
        ? "amd64"
        : /^CPU implementer/m.test(text)
          ? "arm64"
          : "ppc64le";
      const { facts } = readCpu({ readText: () => text }, architecture);
      return { name, facts: cpuHost({ platform: `linux/${architecture}`, cpu: facts }) };
    });
}
