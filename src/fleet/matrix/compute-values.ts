/** Values of the axis `compute`: compute capabilities of NVIDIA and targets of AMD. */

import type { Place, Problem } from "../../errors.ts";
import type { YamlPath } from "../../io/yaml/yaml-places.ts";
import { type GpuVendor, gpuVendors, vendorNames } from "../../hardware/gpu-vendors.ts";
import { gpuAxes } from "./gpu-axes.ts";
import type { Case, ComputeValue } from "./matrix.ts";
import { type Parsed, refused, valueProblem } from "./matrix-problems.ts";
import type { ValueInput } from "./value-schemas.ts";
import { broughtBy, listOf, parseMatch } from "./settings.ts";

/** @param below the place of a path inside the entry */
export function parseComputeValue(
  input: ValueInput<"compute">,
  at: Place,
  below: (path: YamlPath) => Place = () => at,
): Parsed<ComputeValue> {
  if (typeof input === "string" || Array.isArray(input)) return parseTargets(input, at);
  const { value, cases, label } = input;
  const brought = broughtBy(input, "compute", at);
  if (value !== undefined && cases === undefined) {
    const parsed = parseTargets(value, at);
    return "problems" in parsed
      ? parsed
      : { value: { ...parsed.value, ...brought, label: label ?? parsed.value.label } };
  }
  if (cases === undefined || value !== undefined || label === undefined) {
    const fix =
      'write { value: ["8.0", "9.0"] }, or { label: all, cases: [{ when: …, value: … }, { value: … }] }';
    return refused("a mapping of compute has either value, or label and cases", fix, at);
  }
  const problems: Problem[] = [];
  const parsed = cases.flatMap(({ when, value: chosen }, index): Case<ComputeValue>[] => {
    const place = below(["cases", index]);
    const targets = parseTargets(chosen, place);
    if ("value" in targets)
      return [{ at: place, when: parseMatch(when), chosen: { ...targets.value, ...brought, label } }];
    problems.push(...targets.problems);
    return [];
  });
  const values = parsed.map(({ chosen }) => chosen);
  const vendor = values[0]?.vendor;
  problems.push(...severalVendors(values, `the cases of ${JSON.stringify(label)}`, at));
  return problems.length > 0 || vendor === undefined
    ? { problems }
    : { value: { kind: "compute", label, ...brought, vendor, targets: [], cases: parsed } };
}

function severalVendors(
  values: readonly { readonly vendor: GpuVendor }[],
  what: string,
  at: Place,
): readonly Problem[] {
  const vendors = gpuVendors.filter((vendor) => values.some((value) => value.vendor === vendor));
  const names = vendors.map((vendor) => vendorNames[vendor]);
  if (names.length < 2) return [];
  const fix = "write a value for each vendor: each meets the accelerators of its own";
  return [valueProblem(`${what} are for GPUs of ${names.join(" and of ")}`, fix, at)];
}

/** The value of a row whose images have no GPU code of their own: `compute: none`, or a matrix without the axis. */
export function withoutCode(vendor: GpuVendor, at: Place): ComputeValue {
  return { kind: "compute", label: "none", at, settings: {}, data: {}, vendor, targets: [], cases: [] };
}

function parseTargets(value: string | readonly string[], at: Place): Parsed<ComputeValue> {
  const texts = listOf(value);
  const codeless = gpuVendors.find((vendor) => gpuAxes[vendor].goesWithoutCode);
  if (texts.length === 1 && texts[0] === "none" && codeless !== undefined)
    return { value: withoutCode(codeless, at) };
  const read = gpuVendors.map((vendor) => readAs(vendor, texts, at));
  const problems = texts.flatMap((text, index): readonly Problem[] => {
    const parsed = read.map(({ each }) => each[index]).find((one) => one != null);
    if (parsed == null) return [unreadable(text, at)];
    return "problems" in parsed ? parsed.problems : [];
  });
  const names = read.flatMap(({ code }) => code);
  for (const twin of new Set(names.filter((name, index) => names.indexOf(name) < index))) {
    const problem = valueProblem(`${twin} stands twice in ${JSON.stringify(texts)}`, "name it once", at);
    problems.push({ ...problem, code: "MATRIX_DUPLICATE" });
  }
  const found = read.filter(({ targets }) => targets.length > 0);
  problems.push(...severalVendors(found, texts.join(", "), at), ...read.flatMap(({ clashes }) => clashes));
  const [one] = found;
  if (problems.length > 0 || one === undefined) return { problems };
  const { vendor, targets } = one;
  return { value: { ...withoutCode(vendor, at), label: texts.join("+"), targets } };
}

/** The targets of a vendor among the texts. */
function readAs<Vendor extends GpuVendor>(vendor: Vendor, texts: readonly string[], at: Place) {
  const { parseTarget, codeOf, clashes } = gpuAxes[vendor];
  const each = texts.map((text) => parseTarget(text, at));
  const targets = each.flatMap((parsed) => (parsed !== null && "value" in parsed ? parsed.value : []));
  return { vendor, each, targets, code: codeOf(targets), clashes: clashes(targets, at) };
}

function unreadable(text: string, at: Place): Problem {
  if (text === "unknown") {
    const fix = 'write the targets that the images are compiled for, such as "8.0" and "9.0+ptx"';
    return valueProblem("the GPU targets are not known yet", fix, at);
  }
  const isName = /[a-z]/i.test(text) && !/^(?:sm|compute|gfx|\d)/i.test(text);
  const ofName = isName ? `; imgmatch hardware gpu ${JSON.stringify(text)} tells that of a GPU` : "";
  const fix = `write it as "8.0", "9.0a", "10.0f" or "9.0+ptx", in quotes; of AMD as gfx942${ofName}`;
  return valueProblem(`${JSON.stringify(text)} is not a compute capability`, fix, at);
}
