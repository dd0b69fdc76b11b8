/** Launches for tests: one image in each way of getting a GPU, with everything that can be asked. */

import type { HostFacts } from "../../../../src/facts/facts.ts";
import type { LaunchRequest } from "../../../../src/node/launch/target.ts";
import { parseImmutableReference } from "../../../../src/oci/immutable-reference.ts";
import { a100, amdHost, cpuHost, gpuHost, mi300x } from "../../../resolve/support/hosts.ts";
import { cuda, digest, requirement, rocm } from "../../../resolve/support/locks.ts";

export const reference = parseImmutableReference(`registry.example.com/team/cv-tf:1.12.0-v3@${digest}`);

const forHost = requirement(cuda("12.8.1", ["sm_80"]));
const bundled = requirement(cuda("9.2.148", ["sm_80"], { driver: { mode: "bundled", version: "396.44" } }));
const forAmd = { ...requirement(null), rocm: rocm("7.2", ["gfx942"]) };
const cards = [
  { ...a100, uuid: "GPU-aaaaaaaa-0000-0000-0000-000000000000" },
  { ...a100, uuid: "GPU-bbbbbbbb-0000-0000-0000-000000000000" },
];
const sliced = [
  {
    ...a100,
    uuid: "GPU-aaaaaaaa-0000-0000-0000-000000000000",
    mig: [
      { uuid: "MIG-11111111-0000-0000-0000-000000000000", profile: "3g.20gb" },
      { uuid: "MIG-22222222-0000-0000-0000-000000000000", profile: "3g.20gb" },
    ],
  },
];
const under = (nvidia: HostFacts["runtime"]["nvidia"], gpus = cards) =>
  gpuHost(gpus, "570.124.06", "12.8", { runtime: { nvidia } });

/** By the way in which the container gets its GPUs. */
export const gpuModes = {
  "no GPU": { reference, requires: requirement(null), host: cpuHost() },
  CDI: { reference, requires: forHost, host: under("cdi") },
  "NVIDIA runtime": { reference, requires: forHost, host: under("legacy") },
  "no runtime": { reference, requires: forHost, host: under("none") },
  "bundled driver": {
    reference,
    requires: bundled,
    host: gpuHost(cards, "396.44", "9.2", { runtime: { nvidia: "none" } }),
  },
  MIG: { reference, requires: forHost, host: under("cdi", sliced) },
  AMD: {
    reference,
    requires: forAmd,
    host: amdHost([mi300x, mi300x]),
    access: { groups: [44, 109], user: 0 },
  },
  "AMD through CDI": {
    reference,
    requires: forAmd,
    host: amdHost([mi300x, mi300x], "6.14.14", { runtime: { nvidia: "none", amd: "cdi" } }),
  },
} as const satisfies Record<string, Pick<LaunchRequest, "reference" | "requires" | "host" | "access">>;

export const everything = {
  args: ["--steps", "10"],
  name: "night-run",
  env: { DATA: "/data", NOTE: "a 'b' $(c), \"d\"" },
  mounts: [
    { source: "/srv/data", target: "/data", readOnly: true },
    { source: "/scratch", target: "/out", readOnly: false },
  ],
  ports: [
    { host: 8888, container: 8888, protocol: "tcp" },
    { host: 5353, container: 5353, protocol: "udp" },
  ],
  cpus: 4,
  memoryMiB: 16384,
} as const satisfies Partial<LaunchRequest>;
