/** Parses the output of `nvidia-smi`. */

import {
  type ComputeMode,
  type FabricState,
  type GpuFacts,
  type HostProblem,
  type MigInstance,
  type RecoveryAction,
  recoveryActions,
} from "../../facts/facts.ts";
import * as problem from "../../facts/host-problems.ts";
import { formatBus, formatPciId } from "../pci.ts";

/** The columns of the query, the oldest first. Older programs lack the last ones. */
export const queryFields = [
  "index",
  "uuid",
  "name",
  "driver_version",
  "pci.bus_id",
  "pci.device_id",
  "memory.total",
  "memory.used",
  "compute_mode",
  "mig.mode.current",
  "compute_cap",
  "fabric.state",
  "fabric.status",
] as const;

/** Columns for drivers from this branch on: seen in what nvidia-smi 590.48.01, 595.80 and 610.57.04 printed. */
export const newFields = ["gpu_recovery_action", "remapped_rows.failure"] as const;
export const newBranch = 590;

type Words<Fact> = readonly (readonly [RegExp, Fact])[];

function inColumn<Fact>(column: (typeof queryFields | typeof newFields)[number], words: Words<Fact>) {
  return { column, words };
}

/** The facts of a GPU that the words of one column tell. The first pattern that matches holds. A script reads them by the same words. */
export const stateColumns = {
  computeMode: inColumn<ComputeMode>("compute_mode", [
    [/^Default$/, "default"],
    [/^Exclusive/, "exclusive"],
    [/^Prohibited$/, "prohibited"],
  ]),
  /** `Drain and Reset` is `drain-and-reset`. */
  recovery: inColumn<RecoveryAction>("gpu_recovery_action", [
    ...recoveryActions.map(
      (action) => [new RegExp(`^${action.replaceAll("-", "[ -]")}$`, "i"), action] as const,
    ),
    [/./, "other"],
  ]),
  remapFailed: inColumn<boolean>("remapped_rows.failure", [
    [/^Yes$/, true],
    [/^No$/, false],
  ]),
} as const satisfies { readonly [Fact in keyof GpuFacts]?: { readonly words: Words<GpuFacts[Fact]> } };

/** null where the column does not tell. */
type SmiStates = {
  readonly [Fact in keyof typeof stateColumns]: (typeof stateColumns)[Fact]["words"][number][1] | null;
};

export interface SmiGpu
  extends Pick<GpuFacts, "uuid" | "name" | "compute" | "pci" | "bus" | "memoryMiB">,
    SmiStates {
  readonly index: number | null;
  readonly driver: string | null;
  readonly usedMiB: number | null;
  readonly mig: boolean | null;
  readonly fabric: FabricState | null;
  /** Columns with an error of the GPU in place of a value: `[Unknown Error]`, `[GPU is lost]`, `ERR!`. */
  readonly broken: readonly string[];
}

export interface SmiTable {
  readonly gpus: readonly SmiGpu[];
  /** Lines after the header that are no rows: cut output, or a complaint. */
  readonly strays: readonly string[];
}

/** Reads `--query-gpu=… --format=csv` with its header line; null when there is no such header. */
export function parseSmiCsv(text: string): SmiTable | null {
  const lines = text.split("\n").map((line) => line.trim());
  const start = lines.findIndex((line) => isHeader(line));
  if (start < 0) return null;
  const columns = cells(lines[start] ?? "").map((column) => withoutUnit(column));
  const rows = lines.slice(start + 1).filter((line) => line !== "");
  const isRow = (line: string) => cells(line).length === columns.length;
  return {
    gpus: rows.filter(isRow).map((line) => smiGpu(columns, cells(line))),
    strays: rows.filter((line) => !isRow(line)),
  };
}

function isHeader(line: string): boolean {
  const columns = cells(line).map((column) => withoutUnit(column));
  return (
    columns.length > 1 && columns.every((column) => /^[a-z][\w.]*$/i.test(column)) && columns.includes("name")
  );
}

/** `memory.total [MiB]` → `memory.total`. A regular expression would take minutes for a long line of `[`. */
function withoutUnit(column: string): string {
  const at = column.endsWith("]") ? column.indexOf("[") : -1;
  return at < 0 ? column : column.slice(0, at).trimEnd();
}

function cells(line: string): readonly string[] {
  return line.split(",").map((cell) => cell.trim());
}

function smiGpu(columns: readonly string[], row: readonly string[]): SmiGpu {
  const raw = (column: string) => row[columns.indexOf(column)] ?? null;
  const value = (column: string) => present(raw(column));
  const id = /^0x([0-9a-f]{8})$/i.exec(value("pci.device_id") ?? "")?.[1];
  const mig = value("mig.mode.current")?.toLowerCase();
  return {
    index: digits(value("index")),
    uuid: /^GPU-[0-9a-f-]+$/i.exec(value("uuid") ?? "")?.[0] ?? null,
    name: usableName(value("name")),
    driver: versionOf(value("driver_version") ?? value("kmd_version")),
    bus: formatBus(value("pci.bus_id") ?? ""),
    pci: id === undefined ? null : formatPciId(Number.parseInt(id, 16)),
    memoryMiB: digits(value("memory.total")?.replace(/(?<!\s)\s*MiB$/, "") ?? null),
    usedMiB: digits(value("memory.used")?.replace(/(?<!\s)\s*MiB$/, "") ?? null),
    compute: /^\d{1,2}\.\d$/.exec(value("compute_cap") ?? "")?.[0] ?? null,
    mig: mig === "enabled" ? true : mig === "disabled" ? false : null,
    fabric: fabricOf(raw("fabric.state"), raw("fabric.status")),
    ...statesOf(value),
    broken: columns.filter((column) => isBroken(column, raw(column) ?? "")),
  };
}

/** GB200 prints `state  Completed`. */
function fabricOf(state: string | null, status: string | null): FabricState | null {
  const found = wordOf(fabricWords, state);
  return found === "completed" && status !== null && !/success$|n\/a\]?$/i.test(status) ? "failed" : found;
}

function statesOf(value: (column: string) => string | null): SmiStates {
  const told = Object.entries(stateColumns).map(([fact, { column, words }]) => [
    fact,
    wordOf<unknown>(words, value(column)),
  ]);
  return Object.fromEntries(told) as SmiStates;
}

/** The facts that the columns of states tell of a GPU. */
export function toldStates(gpu: SmiGpu): Pick<GpuFacts, "fabric" | keyof SmiStates> {
  const facts = ["fabric", ...Object.keys(stateColumns)] as const satisfies readonly string[];
  return Object.fromEntries(
    Object.entries(gpu).filter(([fact, value]) => facts.includes(fact) && value !== null),
  );
}

function wordOf<Fact>(words: Words<Fact>, text: string | null): Fact | null {
  return words.find(([pattern]) => pattern.test(text ?? ""))?.[1] ?? null;
}

const fabricWords: Words<FabricState> = [
  [/completed$/i, "completed"],
  [/in progress$/i, "in-progress"],
  [/not started$/i, "not-started"],
  [/^\[?(?:n\/a|not supported)\]?$/i, "none"],
];

/** `[N/A]`, `N/A`, `[Not Supported]`, `[Requested functionality has been deprecated]`, `ERR!`: no value. */
function present(cell: string | null): string | null {
  if (cell === null || cell === "" || /^\[.*\]$/.test(cell)) return null;
  return /^(?:n\/a|err!|not supported|unknown error)$/i.test(cell) ? null : cell;
}

/** Columns in which an error is one of the GPU, as in NVML's answers. */
export const vitalFields = [
  "uuid",
  "compute_cap",
  "memory.total",
] as const satisfies (typeof queryFields)[number][];

function isBroken(column: string, cell: string): boolean {
  // An error is a value of the fabric's status.
  if (column !== "fabric.status" && /^\[?(?:gpu is lost|gpu requires reset)\]?$/i.test(cell)) return true;
  return vitalFields.some((each) => each === column) && /^\[?(?:unknown error|err!)\]?$/i.test(cell);
}

/** null for a name that says nothing: the driver did not know the card, or the table cut the name. */
export function usableName(name: string | null): string | null {
  if (name === null || name === "Graphics Device" || name === "NVIDIA Graphics Device") return null;
  return name.endsWith("...") ? null : name;
}

function digits(text: string | null): number | null {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}

/** The version at the start of a text. R610 adds remarks: `610.57.04 [Deprecated; will be removed …]`. */
function versionOf(text: string | null | undefined): string | null {
  return /^\d+(?:\.\d+){1,3}(?![\w.])/.exec(text?.trim() ?? "")?.[0] ?? null;
}

/** The field that this program does not know, from its complaint; null for another complaint. */
export function unknownField(output: string): string | null {
  return /Field "([\w.]{1,64})" is not a valid field to query/.exec(output)?.[1] ?? null;
}

export interface SmiHeader {
  /** Build number of the program itself. On WSL2 the only Linux number there is. */
  readonly program: string | null;
  /** The kernel driver as NVML names it. On WSL2 the number of the Windows driver. */
  readonly driver: string | null;
  readonly cuda: string | null;
  /** It says that there is no CUDA version: NVML found no libcuda. */
  readonly lacksCuda: boolean;
}

/** Reads the head of what `nvidia-smi`, `nvidia-smi -q` or `nvidia-smi --version` prints; null without one. */
export function parseSmiHeader(text: string): SmiHeader | null {
  const head = text.slice(0, 4096);
  const program = /NVIDIA-SMI(?: version)?\s*:?\s+(\d[\d.]*)/i.exec(head)?.[1];
  const driver = labelled(head, "KMD Version") ?? labelled(head, "Driver Version");
  const cuda = labelled(head, "CUDA UMD Version") ?? labelled(head, "CUDA Version");
  const lacksCuda = /\bCUDA (?:UMD )?Version\s*:\s*N\/A\b/i.test(head);
  const found = { program: versionOf(program), driver: versionOf(driver), cuda: cudaOf(cuda), lacksCuda };
  return found.program === null && found.driver === null ? null : found;
}

/** Drivers always print major and minor. */
function cudaOf(text: string | null): string | null {
  return text !== null && /^\d{1,3}\.\d{1,2}$/.test(text) ? text : null;
}

function labelled(text: string, label: string): string | null {
  return new RegExp(`\\b${label}\\s*:\\s*(\\d[\\d.]*)`, "i").exec(text)?.[1] ?? null;
}

export interface SmiListEntry {
  readonly index: number;
  readonly uuid: string;
  readonly mig: readonly MigInstance[];
}

/** Reads `nvidia-smi -L`: GPUs with their MIG instances on indented lines. */
export function parseSmiList(text: string): readonly SmiListEntry[] {
  const entries: (SmiListEntry & { readonly mig: MigInstance[] })[] = [];
  for (const line of text.split("\n")) {
    const gpu = /^GPU (\d{1,4}): .{0,200}? \(UUID: (GPU-[\w-]{1,80})\)\s*$/.exec(line);
    if (gpu !== null) {
      entries.push({ index: Number(gpu[1]), uuid: gpu[2] ?? "", mig: [] });
      continue;
    }
    const mig = /^\s+MIG (\S{1,40})\s+Device\s+\d+: \(UUID: (MIG-[\w/-]{1,80})\)\s*$/.exec(line);
    if (mig !== null) entries.at(-1)?.mig.push({ uuid: mig[2] ?? "", profile: mig[1] ?? "" });
  }
  return entries;
}

/** The problem that the program reports in words instead of an answer; null when there is none. */
export function parseSmiComplaint(
  text: string,
  driver: string | null,
  container: boolean,
): HostProblem | null {
  const silent = problem.nvmlFailed("nvidia-smi cannot communicate with the driver", container);
  if (/Driver\/library version mismatch/i.test(text)) {
    // "580.178" of 580.178.04: the third part is cut in this message.
    const library = /NVML library version:\s*(\d+(?:\.\d+){1,3})/.exec(text)?.[1] ?? null;
    return problem.libraryMismatch(driver, library);
  }
  if (/couldn't communicate with the NVIDIA driver/i.test(text)) return silent;
  // The second run of blanks follows an address only: two runs in a row would take quadratic time.
  const handle = /device handle for GPU\s*(?:((?:[\da-f]+:){1,2}[\da-f]+\.\d)\s*)?:\s*([^\n.]{1,80})/i.exec(
    text,
  );
  if (handle !== null) return handleProblem(formatBus(handle[1] ?? ""), handle[2]?.trim() ?? "");
  if (/GPU is lost|fallen off the bus/i.test(text)) return problem.gpuLost(unnamed);
  if (/No devices (?:were )?found/i.test(text)) return problem.noDevices(driver, []);
  if (/Insufficient Permissions|No permission/i.test(text)) return problem.noPermission("NVML");
  const nvml = /Failed to initialize NVML:\s*([^\n[]{1,80})/.exec(text);
  if (nvml === null) return null;
  return /Driver Not Loaded/i.test(nvml[1] ?? "")
    ? silent
    : problem.nvmlFailed(nvml[1]?.trim() ?? "unknown", container);
}

const unnamed = "(nvidia-smi does not say which)";

function handleProblem(bus: string | null, reason: string): HostProblem {
  return /GPU is lost|fallen off/i.test(reason)
    ? problem.gpuLost(bus ?? unnamed)
    : problem.gpuUnreadable(bus ?? unnamed, reason);
}
