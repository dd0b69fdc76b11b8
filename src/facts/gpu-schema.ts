/** A line for each fact of a GPU: its check and what docs/data.md says of it. The order of the lines is that of the JSON. */

import { gpuClasses } from "../hardware/gpu-class.ts";
import {
  anyText,
  type Check,
  exactly,
  ifGiven,
  ifPresent,
  list,
  map,
  type Members,
  oneOf,
  optional,
  text,
  truth,
  wholeNumber,
} from "../io/checks.ts";
import { factGrammar, plainText } from "./fact-grammar.ts";
import {
  type AmdGpuFacts,
  computeModes,
  computePartitions,
  fabricStates,
  type GpuFacts,
  type MigInstance,
  recoveryActions,
} from "./facts.ts";
import { unknownUse } from "./no-facts.ts";

/** A text in the form of a fact. */
export function fact(name: keyof typeof factGrammar): Check<string> {
  return text(factGrammar[name], factGrammar[name].expected);
}

/** Control characters become escapes, as in the facts of the probe. */
export const forPeople = map(anyText, plainText);

interface Line<Value> {
  readonly check: Check<Value>;
  /** Absent for what its name tells. */
  readonly docs?: string;
}

type Schema<Facts> = { readonly [Name in keyof Facts]-?: Line<Exclude<Facts[Name], undefined>> };

function line<Value>(check: Check<Value>, docs?: string): Line<Value> {
  return { check, ...(docs !== undefined && { docs }) };
}

export function checkOf<Facts extends object>(schema: Schema<Facts>): Check<Facts> {
  const lines = Object.entries<Line<unknown>>(schema);
  return exactly(Object.fromEntries(lines.map(([name, { check }]) => [name, check])) as Members<Facts>);
}

const number = optional(wholeNumber);

const place = {
  numa: line(ifPresent(number), "the NUMA node of the PCI device; null where the kernel names none"),
  links: line(
    ifGiven(map(list(wholeNumber, 256), (links) => [...new Set(links)].sort((a, b) => a - b))),
    "the indexes of the GPUs that NVLink or XGMI joins to it",
  ),
};

export const gpuSchema: Schema<GpuFacts> = {
  index: line(wholeNumber),
  uuid: line(optional(fact("uuid"))),
  name: line(optional(forPeople)),
  compute: line(optional(fact("compute"))),
  pci: line(optional(fact("pci"))),
  bus: line(optional(fact("bus"))),
  memoryMiB: line(number),
  class: line(
    optional(oneOf(...gpuClasses), "unknown"),
    "`datacenter`, `workstation`, `geforce`, `tegra` or `unknown`",
  ),
  integrated: line(optional(truth)),
  fabric: line(
    ifGiven(oneOf(...fabricStates)),
    "the registration with the fabric of the NVSwitches: `none` (such as a PCIe card), `not-started`, `in-progress`, `completed`, `failed`",
  ),
  computeMode: line(
    ifGiven(oneOf(...computeModes)),
    "`default`, `exclusive` (one program at a time) or `prohibited`",
  ),
  recovery: line(
    ifGiven(oneOf(...recoveryActions)),
    "what the driver asks for after a fault: `none`, `reset`, `reboot`, `drain-p2p`, `drain-and-reset`, `other`",
  ),
  remapFailed: line(ifGiven(truth), "whether a row of the memory could ever not be remapped"),
  licensed: line(ifGiven(truth), "whether the vGPU of a virtual machine has its licence"),
  mig: line(
    ifPresent(optional(list(exactly<MigInstance>({ uuid: fact("uuid"), profile: fact("profile") })))),
    "null where MIG mode is off; the instances where it is on, an empty list where there is none",
  ),
  ...place,
  use: line(optional(exactly<GpuFacts["use"]>({ processes: number, memoryMiB: number }), unknownUse)),
};

export const amdGpuSchema: Schema<AmdGpuFacts> = {
  index: line(wholeNumber),
  uuid: line(optional(fact("uuid"))),
  name: line(optional(forPeople)),
  target: line(optional(fact("target")), "as the compiler names it: `gfx942`"),
  sramecc: line(optional(truth), "whether error correction of the chip's own memories is on"),
  pci: line(optional(fact("pci"))),
  bus: line(optional(fact("bus"))),
  render: line(optional(fact("render")), "the device node; containers also need `/dev/kfd`"),
  memoryMiB: line(number),
  partition: line(optional(oneOf(...computePartitions)), "`SPX`, `DPX`, `TPX`, `QPX` or `CPX`"),
  integrated: line(optional(truth)),
  ...place,
};
