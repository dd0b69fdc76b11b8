/** Reads `--devices 1xB300,2xH200,4xH100`: the container gets the first of these that are free. */

import { usageError } from "../../errors.ts";
import { amdArchitectures } from "../../hardware/amd-architectures.ts";
import { amdProducts } from "../../hardware/amd-products.ts";
import { searchGpus } from "../../hardware/gpu-products.ts";
import { knownComputes } from "./labels/vocabulary.ts";

export interface DeviceWish {
  /** As it was typed: `2xH200`. */
  readonly text: string;
  readonly count: number;
  /** The compute capabilities and gfx targets that match; null for any. */
  readonly kinds: ReadonlySet<string> | null;
  /** A pattern of the product's name, for JavaScript and for RE2. */
  readonly product: string | null;
  readonly migProfile: string | null;
  /** A minimum, in the GB of product names. */
  readonly memoryGb: number | null;
}

/** The limits of one request (resource.k8s.io/v1, FirstAvailableDeviceRequestMaxSize, AllocationResultsMaxSize). */
const [mostWishes, mostDevices] = [8, 32];

/** In the order of preference. Throws `USAGE`. */
export async function parseDevices(text: string): Promise<readonly DeviceWish[]> {
  const words = text.split(",").map((word) => word.trim());
  if (words.length > mostWishes)
    throw usageError(`--devices has ${words.length} alternatives: ${mostWishes} at most`, "leave some out");
  const wishes = await Promise.all(words.map(parseWish));
  const twice = words.find((word, index) => words.indexOf(word) < index);
  if (twice !== undefined) throw usageError(`--devices names ${twice} twice`, "name each alternative once");
  return wishes;
}

async function parseWish(text: string): Promise<DeviceWish> {
  const [, count = "", rest = ""] = /^([1-9]\d?)x(.+)$/i.exec(text) ?? [];
  const parts = rest.split(":").map((part) => part.trim());
  if (count === "" || Number(count) > mostDevices || parts.includes("")) throw unreadable(text);
  const empty = { kinds: null, product: null, migProfile: null, memoryGb: null };
  let wish: DeviceWish = { text, count: Number(count), ...empty };
  for (const part of parts) {
    const fields = await readPart(part);
    if (fields === null) throw unreadable(text, `names ${part}, which is no GPU that imgmatch knows`);
    if (Object.keys(fields).some((key) => wish[key as keyof DeviceWish] !== null)) throw unreadable(text);
    wish = { ...wish, ...fields };
  }
  return wish;
}

/** null for an unknown product: a misspelt one would leave pods pending for ever. */
async function readPart(part: string): Promise<Partial<DeviceWish> | null> {
  const memory = /^([1-9]\d{0,4})gb?$/i.exec(part)?.[1];
  if (memory !== undefined) return { memoryGb: Number(memory) };
  // MIG came with Ampere (NVIDIA, "MIG User Guide", Supported GPUs).
  if (/^\dg\.\d+gb(\+[a-z.]+)*$/.test(part))
    return {
      migProfile: part,
      kinds: new Set(knownComputes.flat().filter((compute) => Number(compute) >= 8)),
    };
  const kinds = [...knownComputes.flat(), ...amdArchitectures.map(({ name }) => name)];
  if (kinds.includes(part)) return { kinds: new Set([part]) };
  const words = part.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  // Drivers put blanks, hyphens or underscores between the words of a name.
  const product = `(?:^|[^A-Za-z0-9])${words.join("[^A-Za-z0-9]+")}(?:$|[^A-Za-z0-9])`;
  const isNamed = (name: string | null) => name !== null && new RegExp(product, "i").test(name);
  const named = [
    ...(await searchGpus(words[0] ?? "")).filter(({ name }) => isNamed(name)).map(({ compute }) => compute),
    ...amdProducts.filter(({ names }) => names.some(isNamed)).map(({ target }) => target),
  ];
  return named.length === 0 ? null : { product, kinds: new Set(named) };
}

function unreadable(text: string, why = "is no number of devices of one kind") {
  return usageError(
    `--devices ${text} ${why}`,
    "write COUNTxKIND, the best first: 1xB300,2xH200,4xH100; KIND is a product (imgmatch hardware lists them), a compute capability (9.0), a gfx target, a MIG profile (3g.40gb) or memory (80GB), or several with a colon: H100:80GB",
  );
}
