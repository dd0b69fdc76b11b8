/**
 * `npx tsx bench/tables.ts [FILE…]`: holds the hardware tables against what this machine has. A maintainer runs it when a toolkit comes out, adds the
 * rows that it names, and puts the day into `src/hardware/tables-date.ts`.
 *
 * Compilers on PATH (gcc, gcc-14, clang-22, aarch64-linux-gnu-gcc-12 …): which marches each accepts. Files: each `nvcc` (its targets, and the PTX
 * that the `ptxas` beside it takes), and each `pci.ids` (devices of a chip that the tables have). Exit 1 where a table differs, 2 where nothing
 * was there to compare.
 */

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { amdProducts } from "../src/hardware/amd-products.ts";
import { allMarches, marchCompiles } from "../src/hardware/cpu-marches.ts";
import { supportedTargets } from "../src/hardware/cuda-toolkits.ts";
import { pciRows } from "../src/hardware/gpu-pci-table.ts";
import { cudaOfPtx, ptxOfToolkit } from "../src/hardware/ptx-versions.ts";
import { tablesDate } from "../src/hardware/tables-date.ts";

type Run = (args: readonly string[], input?: string) => { readonly ok: boolean; readonly text: string };

function program(path: string): Run {
  return (args, input = "") => {
    const { status, stdout, stderr } = spawnSync(path, args, { encoding: "utf8", input });
    return { ok: status === 0, text: `${stdout}${stderr}` };
  };
}

/** The differences, and how much was compared. */
interface Comparison {
  readonly compared: number;
  readonly differences: readonly string[];
}

const compilerNames = /^(?:(aarch64|x86_64)-linux-gnu-)?(gcc|clang)(?:-\d+)?$/;

function compareCompiler(path: string): Comparison {
  const [, prefix, kind = ""] = compilerNames.exec(basename(path)) ?? [];
  const compiler = kind === "gcc" ? "gcc" : "clang";
  const run = program(path);
  const { ok, text } = run(compiler === "gcc" ? ["-dumpfullversion"] : ["--version"]);
  const version = /\d+\.\d+(?:\.\d+)?/.exec(text)?.[0];
  const native = /^x86_64|^amd64/.test(run(["-dumpmachine"]).text) ? "amd64" : "arm64";
  const own = prefix === undefined ? native : prefix === "aarch64" ? "arm64" : "amd64";
  if (!ok || version === undefined) return { compared: 0, differences: [] };
  const known = allMarches().filter(({ architecture }) => compiler === "clang" || architecture === own);
  const asked = known.filter(({ architecture }) => architecture === "amd64" || architecture === "arm64");
  const differences = asked.flatMap((march) => {
    const target = march.architecture === "amd64" ? "x86_64-linux-gnu" : "aarch64-linux-gnu";
    const of = compiler === "clang" ? [`--target=${target}`] : [];
    const taken = run([...of, `-${march.option}=${march.compilerName}`, "-E", "-x", "c", "-"]).ok;
    const told = marchCompiles(march, compiler, version);
    // "Unknown" is no claim, and a compiler that takes the name ends the doubt.
    if (told === null ? !taken : told === taken) return [];
    return [
      `${path} ${version} ${taken ? "takes" : "refuses"} ${march.name}, the tables say ${told ?? "unknown"}`,
    ];
  });
  return { compared: asked.length, differences };
}

function compareNvcc(path: string): Comparison {
  const run = program(path);
  const minor = /release (\d+\.\d+)/.exec(run(["--version"]).text)?.[1];
  if (minor === undefined) return { compared: 0, differences: [`${path} tells no release`] };
  const listed = run(["--list-gpu-code"]).text.match(/(?<=sm_)\d+(?!\w)/g) ?? [];
  const row = supportedTargets(minor);
  const targets = [...new Set(listed.map(Number))].sort((a, b) => a - b).join(" ");
  const differences =
    row?.sm.join(" ") === targets
      ? []
      : [`CUDA ${minor} compiles for ${targets}, the tables say ${row?.sm.join(" ") ?? "nothing"}`];
  const ptxas = program(join(dirname(path), "ptxas"));
  const takes = (isa: string) => {
    const text = `.version ${isa}\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n`;
    return ptxas(["-arch=sm_90", "-o", "/dev/null", "-"], text).ok;
  };
  const isa = ptxOfToolkit(minor);
  const [major = 0, last = 0] = (isa ?? "0.0").split(".").map(Number);
  const isNewest =
    isa !== null && takes(isa) && !takes(`${major}.${last + 1}`) && cudaOfPtx(isa, minor) === minor;
  return {
    compared: listed.length + 1,
    differences: [
      ...differences,
      ...(isNewest ? [] : [`PTX ${isa ?? "of no row"} is not the newest that ptxas of CUDA ${minor} takes`]),
    ],
  };
}

/** Devices whose chip has one target in the tables, and which the tables lack; of NVIDIA, devices whose chip is another. */
function comparePciIds(path: string): Comparison {
  const text = readFileSync(path, "latin1");
  const of = (vendor: string) => {
    const [, block = ""] = text.split(new RegExp(`^${vendor}  .*$`, "m"));
    return [...(block.split(/^(?=\w)/m)[0] ?? "").matchAll(/^\t([0-9a-f]{4}) {2}(\S+(?: \d+)?)(.*)$/gm)];
  };
  const targets = new Map<string, Set<string>>();
  const known = new Map(amdProducts.map((row) => [row.id.slice("1002:".length), row.target]));
  const amd = of("1002").filter(([, , , rest = ""]) => !/audio|usb|bridge|hdmi|switch|pci/i.test(rest));
  for (const [, id = "", chip = ""] of amd) {
    const target = known.get(id);
    if (target !== undefined) targets.set(chip, (targets.get(chip) ?? new Set()).add(target));
  }
  const lacking = amd.flatMap(([, id = "", chip = "", name = ""]) =>
    known.has(id) || targets.get(chip)?.size !== 1
      ? []
      : [`1002:${id} ${chip}${name}: ${[...(targets.get(chip) ?? [])].join()}`],
  );
  const chips = new Map(pciRows().map((row) => [row.id.slice("10de:".length), row.chip]));
  const cards = of("10de").filter(([, id = ""]) => chips.has(id));
  const other = cards.flatMap(([, id = "", chip = ""]) => {
    const own = chips.get(id) ?? "";
    return /^G(?!N)[A-Z]?\d/.test(chip) && !chip.startsWith(own.replace(/[BS]$/, ""))
      ? [`10de:${id} is ${chip}, the tables say ${own}`]
      : [];
  });
  return { compared: amd.length + cards.length, differences: [...lacking, ...other] };
}

const folders = [
  ...new Set(
    (process.env.PATH ?? "")
      .split(":")
      .filter(existsSync)
      .map((each) => realpathSync(each)),
  ),
];
const compilers = folders.flatMap((folder) =>
  readdirSync(folder).flatMap((name) => (compilerNames.test(name) ? [join(folder, name)] : [])),
);
const files = process.argv.slice(2);
let [compared, differing] = [0, 0];
for (const [path, compare] of [
  ...compilers.map((each) => [each, compareCompiler] as const),
  ...files.map((each) => [each, basename(each) === "nvcc" ? compareNvcc : comparePciIds] as const),
]) {
  const found = compare(path);
  compared += found.compared;
  differing += found.differences.length;
  process.stdout.write(`${path}: ${found.compared} compared, ${found.differences.length} differ\n`);
  for (const line of found.differences) process.stdout.write(`  ${line}\n`);
}
process.stdout.write(`tables of ${tablesDate}: ${compared} compared, ${differing} differ\n`);
process.exitCode = compared === 0 ? 2 : differing > 0 ? 1 : 0;
