/** Checks the requirement of an image, wherever it stands: in the lock, in the index, in the image's label. */

import {
  anyText,
  checked,
  ifGiven,
  ifPresent,
  list,
  type Members,
  oneOf,
  orNull,
  record,
  shape,
  someText,
  variants,
} from "../io/checks.ts";
import {
  answerOfSide,
  type BySide,
  type CpuRequirement,
  type CudaRequirement,
  type DriverRequirement,
  onPaths,
  type Requirement,
  type RocmRequirement,
  sidesOf,
  variantsOf,
} from "./requirement.ts";
import { remember } from "../io/collections.ts";
import { readJson } from "../io/json.ts";
import { didYouMean, suggest } from "../io/suggest.ts";

export type ParsedRequirement =
  | { readonly ok: true; readonly requires: Requirement }
  /** The mistakes of the text, a line each. */
  | { readonly ok: false; readonly mistakes: readonly string[] };

/**
 * Reads the value of the label `dev.imgmatch.requires`.
 *
 * @example
 * parseRequirement('{"cpu":{"march":"x86-64","features":["sse2"]},"cuda":null}');
 */
export function parseRequirement(text: string): ParsedRequirement {
  const json = readJson(text);
  if (!json.ok) return { ok: false, mistakes: [`it is ${json.fault}`] };
  const reading = checked(json.value, requirement, "it");
  return reading.ok ? { ok: true, requires: reading.value } : reading;
}

/** No table has more entries, so a longer list is not imgmatch's. */
export const mostNames = 512;

const names = list(anyText, mostNames);

type DriverMode = DriverRequirement["mode"];
type OneCpu = Omit<CpuRequirement, "or">;
type OneCuda = Omit<CudaRequirement, "or">;
type OneRocm = Omit<RocmRequirement, "or">;

/** Ollama has four, llama.cpp has fourteen. Every CPU variant is judged with every GPU variant. */
const mostOthers = { cpu: 15, cuda: 7, rocm: 7 };

const oneCpu: Members<OneCpu> = { by: ifPresent(someText), march: someText, features: names };
const ofCpu: Members<CpuRequirement> = {
  ...oneCpu,
  or: ifPresent(list(shape<OneCpu>(oneCpu), mostOthers.cpu)),
};
const links = ifPresent(record(someText, mostNames));
const ofDriver: { readonly [Mode in DriverMode]: Members<DriverRequirement & { readonly mode: Mode }> } = {
  host: { mode: oneOf("host"), minimum: someText, l4t: ifPresent(someText), links },
  bundled: { mode: oneOf("bundled"), version: someText },
  compat: {
    mode: oneOf("compat"),
    package: someText,
    cuda: someText,
    branches: names,
    for: ifPresent(oneOf("jetson")),
    listed: ifPresent(names),
    onPath: ifPresent(oneOf(...onPaths)),
    links,
  },
};
const oneCuda: Members<OneCuda> = {
  by: ifPresent(someText),
  toolkit: someText,
  code: names,
  require: ifPresent(someText),
  driver: variants<DriverRequirement>("mode", {
    host: shape(ofDriver.host),
    bundled: shape(ofDriver.bundled),
    compat: shape(ofDriver.compat),
  }),
};
const ofCuda: Members<CudaRequirement> = {
  ...oneCuda,
  or: ifPresent(list(shape<OneCuda>(oneCuda), mostOthers.cuda)),
};
const oneRocm: Members<OneRocm> = { by: ifPresent(someText), release: someText, code: names };
const ofRocm: Members<RocmRequirement> = {
  ...oneRocm,
  or: ifPresent(list(shape<OneRocm>(oneRocm), mostOthers.rocm)),
};
const ofImage: Members<Requirement> = {
  cpu: shape(ofCpu),
  kernel: ifPresent(someText),
  cuda: orNull(shape(ofCuda)),
  rocm: ifGiven(shape(ofRocm)),
  accelerator: ifGiven(someText),
};

export const requirement = shape<Requirement>(ofImage);

/**
 * The unknown keys of a requirement, such as `cpu.sme` or `xpu`, a line for each key. Such a key may ask for
 * anything, so no host meets it. A key with null asks for nothing.
 */
export function unknownNeeds(requires: Requirement): readonly string[] {
  // Every host asks it of every image.
  return remember(unknownOf, requires, () => findUnknown(requires));
}

const unknownOf = new WeakMap<Requirement, readonly string[]>();

function findUnknown(requires: Requirement): readonly string[] {
  const { cpu } = requires;
  return [
    ...strangers("", requires, ofImage),
    ...strangers("cpu.", cpu, ofCpu),
    ...(cpu.or ?? []).flatMap((other) => strangers("cpu.or.", other, oneCpu)),
    ...sidesOf(requires).flatMap((side) => answerOfSide(unknownOfSide, side)),
  ];
}

const unknownOfSide: BySide<readonly string[]> = {
  nvidia: (cuda) => [
    ...strangers("cuda.", cuda, ofCuda),
    ...(cuda.or ?? []).flatMap((other) => strangers("cuda.or.", other, oneCuda)),
    ...variantsOf(cuda).flatMap(({ driver }) => strangers("cuda.driver.", driver, ofDriver[driver.mode])),
  ],
  amd: (rocm) => [
    ...strangers("rocm.", rocm, ofRocm),
    ...(rocm.or ?? []).flatMap((other) => strangers("rocm.or.", other, oneRocm)),
  ],
};

function strangers(path: string, given: object, members: object): readonly string[] {
  const unknown = Object.keys(given).filter((key) => !Object.hasOwn(members, key));
  return unknown.flatMap((key) => {
    if (given[key as keyof typeof given] == null) return [];
    const near = didYouMean(suggest(key, Object.keys(members)));
    return [`${JSON.stringify(`${path}${key.slice(0, 60)}`)}${near === "" ? "" : ` (${near.trim()})`}`];
  });
}
