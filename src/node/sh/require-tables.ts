/** Tables of `NVIDIA_REQUIRE_CUDA` expressions, by container runtime, brand of the GPU and compute capability. */

import { remember } from "../../io/collections.ts";
import { compareVersionTexts, parseVersion, type VersionParts } from "../../hardware/driver-version.ts";
import { type GpuClass, gpuClasses } from "../../hardware/gpu-class.ts";
import type { DriverScale } from "../../facts/facts.ts";
import type { CudaRequirement } from "../../lock/requirement.ts";
import { brandOf, brandsByName } from "../../resolve/nvidia-view.ts";
import { parseRequire } from "../../resolve/rules/nvidia/parse-nvidia-require.ts";
import { checkNvidiaRequire, requireThresholds } from "../../resolve/rules/nvidia/nvidia-require.ts";
import type { RuleThresholds } from "../../resolve/rules/rule.ts";
import { runtimes, sampleHost, sampleNvidia } from "../sample-hosts.ts";

/** Gives each text a number, by which the rows of a script name it. */
export interface Interner {
  readonly numberOf: (text: string) => number;
  /** In the order of their numbers. The first number is 1. */
  readonly texts: () => readonly string[];
}

export function createInterner(): Interner {
  const numbers = new Map<string, number>();
  return {
    numberOf: (text) => remember(numbers, text, () => numbers.size + 1),
    texts: () => [...numbers.keys()],
  };
}

/** The number of a table for each runtime, 0 where the expression always holds: `0,3,0,3`. */
export function requireTables(
  requirement: CudaRequirement,
  scale: DriverScale,
  grids: Interner,
  tables: Interner,
): string {
  return runtimes
    .map((runtime) => {
      const table = requireTable(requirement, scale, runtime, grids);
      return table === "" ? 0 : tables.numberOf(table);
    })
    .join(",");
}

/** `nvidia:0=5/75=6,titan:0=7`: for each brand, the grids from compute capabilities on. Empty if the expression always holds. */
function requireTable(
  requirement: CudaRequirement,
  scale: DriverScale,
  runtime: (typeof runtimes)[number],
  grids: Interner,
): string {
  const conditions = parseRequire(requirement.require ?? "")?.alternatives.flat() ?? [];
  const archs = conditions.filter(({ property }) => property === "arch").map(({ value }) => value);
  const thresholds = requireThresholds(requirement);
  const answers = brands.map((brand) => {
    let before = "";
    const parts: string[] = [];
    for (const number of [0, ...computeSteps(archs)]) {
      const compute = number === 0 ? null : { major: Math.floor(number / 10), minor: number % 10 };
      const grid = tabulate((driver, cuda) => {
        const view = sampleNvidia(driver, cuda, { scale, brand, compute });
        return checkNvidiaRequire(requirement, sampleHost(view, runtime)) === null ? "+" : "-";
      }, thresholds);
      if (grid !== before) parts.push(`${number}=${grid}`);
      before = grid;
    }
    return { brand: brand ?? "-", parts };
  });
  if (answers.every(({ parts }) => parts.join() === "0=0:+")) return "";
  return answers
    .map(({ brand, parts }) => `${brand}:${parts.map((part) => numbered(part, grids)).join("/")}`)
    .join(",");
}

function numbered(part: string, grids: Interner): string {
  const at = part.indexOf("=");
  return `${part.slice(0, at)}=${grids.numberOf(part.slice(at + 1))}`;
}

/** The compute capabilities at which an answer may change. 10 is the lowest that exists; 0 is an unknown one. */
function computeSteps(values: readonly string[]): readonly number[] {
  const numbers = values.flatMap((value) => {
    const [major = 0, minor = 0] = parseVersion(value) ?? [];
    return [10 * major + minor, 10 * major + minor + 1];
  });
  const inside = [10, ...numbers].filter((number) => number >= 10 && number < 1000);
  return [...new Set(inside)].sort((a, b) => a - b);
}

/** Every brand that a GPU can have. null is unknown. */
const brands: readonly (string | null)[] = [
  null,
  ...new Set([...brandsByName.map(([, brand]) => brand), ...brandSteps().map(({ brand }) => brand)]),
].filter((brand, index, all) => all.indexOf(brand) === index);

/** Brands that a class of GPU has by its driver's branch alone, where the name does not tell: `datacenter` from 515 on is `nvidia`. */
export function brandSteps(): readonly {
  readonly class: GpuClass;
  readonly branch: number;
  readonly brand: string | null;
}[] {
  return gpuClasses.flatMap((gpuClass) => {
    const steps: { class: GpuClass; branch: number; brand: string | null }[] = [];
    let before: string | null = null;
    for (let branch = 0; branch < 1000; branch++) {
      const brand = brandOf({ name: null, class: gpuClass }, { text: String(branch), parts: [branch] });
      if (brand !== before) steps.push({ class: gpuClass, branch, brand });
      before = brand;
    }
    return steps;
  });
}

/** null is an unknown version. */
type GridRule = (driver: string, cuda: string | null) => string;

/**
 * Asks a rule once for each range between the steps, and writes down where the answer changes.
 *
 * `0:o;525.60.13:2,12.8=1`: below driver 525.60.13 the answer is `o`. From there on it is `2` while CUDA is unknown or below 12.8,
 * else `1`. Versions are those of drivers, up to four parts, and of CUDA, major and minor.
 */
export function tabulate(
  rule: GridRule,
  { drivers, cudas }: Pick<RuleThresholds, "drivers" | "cudas">,
): string {
  const columns = cudaSteps(cudas);
  const rows = driversAround(drivers).map((driver) => ({ driver, cells: rowOf(rule, driver, columns) }));
  return rows
    .filter(({ cells }, index) => cells !== rows[index - 1]?.cells)
    .map(({ driver, cells }) => `${driver}:${cells}`)
    .join(";");
}

function rowOf(rule: GridRule, driver: string, cudas: readonly string[]): string {
  let before = rule(driver, null);
  const cells = [before];
  for (const cuda of cudas) {
    const answer = rule(driver, cuda);
    if (answer !== before) cells.push(`${cuda}=${answer}`);
    before = answer;
  }
  return cells.join(",");
}

/** Each version and the next one, as a rule may compare by `=` or `>`. */
function driversAround(versions: readonly string[]): readonly string[] {
  return distinct(["0", ...versions], (parts) => [trimmed(parts), trimmed(next(parts, 4))]);
}

function cudaSteps(versions: readonly string[]): readonly string[] {
  // A driver names a major and a minor only: to it 12.8.1 lies between 12.8 and 12.9.
  return distinct(["0.0", ...versions], ([major = 0, minor = 0]) => [
    `${major}.${minor}`,
    `${major}.${minor + 1}`,
  ]);
}

function distinct(
  versions: readonly string[],
  expand: (parts: VersionParts) => readonly string[],
): readonly string[] {
  const all = versions.flatMap((text) => {
    const parts = parseVersion(text);
    return parts === null ? [] : expand(parts);
  });
  return [...new Set(all)].sort(compareVersionTexts);
}

function next(parts: VersionParts, length: number): VersionParts {
  return Array.from({ length }, (_, index) => (parts[index] ?? 0) + (index === length - 1 ? 1 : 0));
}

function trimmed(parts: VersionParts): string {
  const end = parts.findLastIndex((part) => part !== 0);
  return parts.slice(0, Math.max(1, end + 1)).join(".");
}
