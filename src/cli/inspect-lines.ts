/** The report of `imgmatch inspect`: files that decide, files that could not be opened, and the image's requirement. */

import { formatPlace } from "../errors.ts";
import type { ExpectationAnswer, UnmetExpectation } from "../inspect/expect/expectation-rules.ts";
import { atLeast } from "../inspect/cpu/cpu-need.ts";
import { codeKeys, codesIn, type InspectedFile } from "../inspect/file-inspection.ts";
import type { ImageInspection } from "../inspect/inspection.ts";
import type { CompatPath } from "../inspect/loader/compat-path.ts";
import type { Style } from "./report/style.ts";
import { sum } from "../io/collections.ts";
import { count, formatTable, type TableShape } from "../io/table.ts";
import { type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";
import { amdLines } from "./inspect-amd-lines.ts";
import { bytesSections } from "./inspect-bytes-lines.ts";
import { nvidiaLines } from "./inspect-nvidia-lines.ts";
import { toldFeature } from "../hardware/cpu-features.ts";

interface InspectReport {
  /** Show every file. */
  readonly allFiles: boolean;
  readonly style: Style;
}

interface GpuLines {
  readonly code: (file: InspectedFile) => readonly string[];
  readonly targets: (inspection: ImageInspection) => readonly string[];
  /** The cards that its libraries serve, as rows of a table. */
  readonly cards: (inspection: ImageInspection) => readonly (readonly string[])[];
  /** The needs from a driver, as rows of a table. */
  readonly needs: (inspection: ImageInspection) => readonly (readonly string[])[];
}

/** The words of each vendor's GPU code. */
const gpuLines: Readonly<Record<GpuVendor, GpuLines>> = { nvidia: nvidiaLines, amd: amdLines };
const vendorLines = gpuVendors.map((vendor) => gpuLines[vendor]);

const mostFiles = 12;
const mostUnopened = 12;

export function inspectLines(
  inspection: ImageInspection,
  { allFiles, style }: InspectReport,
): readonly string[] {
  const { files, tests, bytes, unopened, unreadPackages, layers, vanished = 0 } = inspection;
  const deciding = files.filter((file) => gpuText(file) !== "" || needed(file).length > 0);
  const shown = allFiles ? files : [...deciding].sort((a, b) => weight(b) - weight(a)).slice(0, mostFiles);
  const size = layers.reduce((sum, layer) => sum + layer.size, 0);
  const hidden = files.length - shown.length;
  const table = (texts: Rows, heads = false) => tableIn(inspection.subject, texts, { ...style, heads });
  const section = (title: string, texts: Rows) => (texts.length === 0 ? [] : ["", title, ...table(texts)]);
  const facts = [
    inspection.digest,
    inspection.platform,
    `${count(layers.length, "layer")}, ${Math.round(size / 2 ** 20)} MiB`,
    count(files.length, "program"),
    ...(vanished > 0 ? [`${count(vanished, "file")} vanished meanwhile`] : []),
  ];
  return [
    style.strong(inspection.subject),
    ...table([[facts.filter(Boolean).join("  ")]]),
    "",
    ...(shown.length === 0
      ? table([[nothingDecides(inspection)]])
      : table(
          [["FILE", "CPU", "GPU"], ...shown.map((file) => [file.path, cpuText(file), gpuText(file)])],
          true,
        )),
    ...(hidden > 0 && !allFiles
      ? [style.dim(`  and ${count(hidden, "more file")} (--files shows all)`)]
      : []),
    ...section("Files of packages' own tests, which decide nothing", testRows(tests, allFiles)),
    ...section("Driver", driverRows(inspection)),
    ...section("Not opened", unopenedRows(unopened, allFiles)),
    ...section(
      "Packages not known, so that their files count as the image's own",
      unopenedRows(unreadPackages, allFiles),
    ),
    ...(bytes === undefined ? [] : bytesSections(bytes, allFiles)).flatMap(([title, rows]) =>
      section(title, rows),
    ),
    ...section("What this image needs of a host", needRows(inspection)),
  ];
}

type Rows = readonly (readonly string[])[];

/** Paths in a wheel or an archive begin there: its name, which can be long, stands once, above. */
function tableIn(subject: string, texts: Rows, { width, heads }: Required<TableShape>): readonly string[] {
  const archive = `/${subject.slice(subject.lastIndexOf("/") + 1)}!/`;
  const shown = texts.map((row) => row.map((text) => text.replaceAll(archive, "/")));
  return formatTable(shown, { width: width - 2, heads }).map((line) => `  ${line}`);
}

/** A line for each subject, and below it each expectation that fails. */
export function expectationLines(
  subjects: readonly ImageInspection[],
  { failures, unmatched }: ExpectationAnswer,
  style: Style,
): readonly string[] {
  const table = (subject: string, of: readonly UnmetExpectation[]) =>
    tableIn(
      subject,
      [
        ["EXPECTED", "FOUND", "FILE"],
        ...of.map(({ expected, found, file }) => [expected, found, file ?? ""]),
      ],
      { ...style, heads: true },
    );
  const lines = subjects.flatMap(({ subject, claims = [] }) => {
    const unmet = failures.filter((each) => each.subject === subject);
    if (unmet.length > 0) return [`${style.bad("not as expected")}: ${subject}`, ...table(subject, unmet)];
    if (unmatched.includes(subject)) return [`${style.warn("nothing expected")}: ${subject}`];
    const rows = claims.map(({ claim, by, verdict }) => [claim, by, verdict]);
    const told =
      rows.length === 0
        ? []
        : tableIn(subject, [["CLAIM", "BY", "VERDICT"], ...rows], { ...style, heads: true });
    return [`${style.good("as expected")}: ${subject}`, ...told];
  });
  const patterns = failures
    .filter(({ subject }) => subject === null)
    .map(({ expected, found, at }) => `${style.bad(formatPlace(at))}: ${expected}: ${found}`);
  return [...lines, ...patterns];
}

function nothingDecides(inspection: ImageInspection): string {
  return isUnread(inspection)
    ? "the code of its programs is not read"
    : "no file needs more than every host has";
}

/** True if imgmatch reads the code of none of its programs: then the CPU requirement is unknown. */
function isUnread({ cpu, files }: ImageInspection): boolean {
  return cpu.architecture === null && files.some(({ program }) => program !== null);
}

/** Files with the most GPU modules come first, then those with the most CPU features. */
function weight(file: InspectedFile): number {
  return sum(codesIn(file).map(({ modules }) => modules)) * 1000 + needed(file).length;
}

function needed({ answer }: InspectedFile): readonly string[] {
  const uses = answer?.features ?? {};
  return Object.keys(uses).filter((name) => atLeast(uses[name], "undecided"));
}

function cpuText(file: InspectedFile): string {
  if (file.answer === null) return file.program === null ? "" : file.program.machine;
  const names = needed(file);
  const others = Object.keys(file.answer.features).length - names.length;
  const asks = others > 0 && file.answer.asks.length > 0 ? `asks the CPU for ${others} more` : "";
  return [told(names), asks].filter(Boolean).join(", ") || "baseline";
}

function told(features: readonly string[]): string {
  return features.map(toldFeature).join(" ");
}

function gpuText(file: InspectedFile): string {
  return [
    ...vendorLines.flatMap(({ code }) => code(file)),
    ...Object.keys(file.sycl).map((kind) => `sycl:${kind}`),
  ].join(" ");
}

function driverRows({ driver }: ImageInspection): Rows {
  const line = (what: string) => (file: { library: string; version: string; path: string }) => [
    `${file.library} ${file.version}`,
    what,
    file.path,
  ];
  return [
    ...driver.bundled.map(line("bundled")),
    ...driver.compat.map(line("forward compatibility")),
    ...(driver.compatPath === null ? [] : [["", pathText(driver.compatPath)]]),
    ...driver.runtime.map(line("runtime")),
  ];
}

function pathText({ onPath, reason, isMountable }: CompatPath): string {
  const alone = onPath === "never" && !isMountable ? ", and no container toolkit looks there" : "";
  return `${pathWords[onPath ?? "null"]}: ${reason}${alone}`;
}

const pathWords = {
  always: "always loaded",
  cache: "first in ld.so.conf",
  never: "not on the loader's path",
  null: "not decided",
} as const;

function testRows(tests: readonly InspectedFile[], allFiles: boolean): Rows {
  const rows = tests.map((file) => [file.path, [cpuText(file), gpuText(file)].filter(Boolean).join(", ")]);
  return someRows(rows, allFiles);
}

function unopenedRows(unopened: ImageInspection["unopened"], allFiles: boolean): Rows {
  const rows = unopened.map(({ path, reason }) => [`${path}: ${reason}`]);
  return someRows(rows, allFiles);
}

function someRows(rows: Rows, allFiles: boolean): Rows {
  const rest = allFiles ? 0 : rows.length - mostUnopened;
  if (rest <= 0) return rows;
  return [...rows.slice(0, mostUnopened), [`and ${rest} more (--files shows all)`]];
}

function needRows(inspection: ImageInspection): Rows {
  const { requires, cpu } = inspection;
  const none = isUnread(inspection) ? "unknown" : "none beyond the baseline";
  const mayUse = Object.entries(cpu.features)
    .filter(([, use]) => use === "mayBeUsed")
    .map(([name]) => name);
  const { compiledFor, undecided } = requires.cpu;
  const open = [...compiledFor, ...undecided];
  const proved = requires.cpu.features.filter((name) => !open.includes(name));
  return [
    ["CPU", [cpu.architecture, requires.cpu.level].filter(Boolean).join(", ") || "unknown"],
    ["features", told(proved) || (open.length > 0 ? "" : none)],
    ...(compiledFor.length > 0 ? [["compiled for", told(compiledFor)]] : []),
    ...(undecided.length > 0 ? [["not proved", told(undecided)]] : []),
    ...(mayUse.length > 0 ? [["may be used", told(mayUse)]] : []),
    ...(cpu.hwcaps.length > 0 ? [["glibc-hwcaps", cpu.hwcaps.join(" ")]] : []),
    ...(requires.kernel === null ? [] : [["kernel", `Linux ${requires.kernel}`]]),
    ["GPU code", codeText(inspection)],
    ...vendorLines.flatMap(({ cards }) => cards(inspection)),
    ...vendorLines.flatMap(({ needs }) => needs(inspection)),
    ...requires.choices.cpu.map(({ by, features }) => [`by ${by}`, told(features) || "every CPU"]),
    ...requires.undecided.map((text) => ["not decided", text]),
  ];
}

function codeText(inspection: ImageInspection): string {
  const targets = vendorLines.flatMap((row) => row.targets(inspection));
  const sycl = [...new Set(inspection.files.flatMap((file) => Object.keys(file.sycl)))];
  const isThere = gpuVendors.some((vendor) => inspection[codeKeys[vendor]] !== null);
  return [...targets, ...sycl.map((kind) => `sycl:${kind}`)].join(" ") || (isThere ? "unknown" : "none");
}
