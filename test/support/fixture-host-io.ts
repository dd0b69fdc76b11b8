/** A machine from a folder of `test/fixtures/hosts/`: the files that the probe would read there, and what else it would meet. */

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { CommandResult, HostIo, Inventory } from "../../src/host/host-io.ts";
import { denied } from "../../src/host/host-io.ts";
import type { NvmlReading } from "../../src/host/nvidia/nvml-reading.ts";

/** `host.json`: what files cannot say. All of it optional. */
interface HostFile {
  readonly platform?: string;
  readonly arch?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Paths that exist beside the files, such as device nodes. */
  readonly nodes?: readonly string[];
  /** Paths that this user may neither read nor open. */
  readonly denied?: readonly string[];
  readonly links?: Readonly<Record<string, string>>;
  /** How many processes the probe may start; 0 unless told. */
  readonly spawns?: number;
}

/** `nvidia-smi.json`: the program's answers. The query is answered as the program does it, field by field. */
export interface SmiFile {
  /** Field → its value for each GPU; other fields are refused, as by a program that does not know them. */
  readonly fields?: Readonly<Record<string, readonly string[]>>;
  readonly table?: string;
  readonly list?: string;
  /** What `-q` prints. */
  readonly whole?: string;
  /** Every call ends like this instead. */
  readonly always?: Partial<CommandResult>;
}

const units: Readonly<Record<string, string>> = { "memory.total": " [MiB]", "memory.used": " [MiB]" };

export interface FixtureHostIo extends HostIo {
  readonly spawned: readonly string[];
  readonly allowedSpawns: number;
}

export function fixtureHostIo(folder: string): FixtureHostIo {
  const host = readJson<HostFile>(join(folder, "host.json")) ?? {};
  const smi = readJson<SmiFile>(join(folder, "nvidia-smi.json"));
  const spawned: string[] = [];
  const nodes = new Set([...(host.nodes ?? []), ...Object.keys(host.links ?? {})]);
  const isDenied = (path: string) => host.denied?.includes(path) ?? false;
  // A colon cannot be in a file name on every system, so the folders have %3A in its place.
  const real = (path: string) => join(folder, "root", path.replaceAll(":", "%3A"));
  return {
    platform: host.platform ?? "linux",
    arch: host.arch ?? "x64",
    endianness: "LE",
    env: host.env ?? {},
    readText: (path) => {
      if (isDenied(path)) return denied;
      const file = real(path);
      return existsSync(file) && statSync(file).isFile() ? readFileSync(file, "utf8") : null;
    },
    list: (path) => {
      const file = real(path);
      if (isDenied(path) || !existsSync(file) || !statSync(file).isDirectory()) return [];
      return readdirSync(file)
        .map((name) => name.replaceAll("%3A", ":"))
        .sort();
    },
    exists: (path) => nodes.has(path) || existsSync(real(path)),
    mayOpen: (path) => nodes.has(path) && !isDenied(path),
    readLink: (path) => host.links?.[path] ?? null,
    run: async (command, args) => {
      if (smi === null) return null;
      spawned.push([command, ...args].join(" "));
      return smiAnswer(smi, args);
    },
    readNvml: async () => readJson<NvmlReading>(join(folder, "nvml.json")),
    readInventory: async () => readJson<Inventory>(join(folder, "inventory.json")),
    spawned,
    allowedSpawns: host.spawns ?? 0,
  };
}

export function smiAnswer(
  { fields, table, list, whole, always }: SmiFile,
  args: readonly string[],
): CommandResult {
  const result = { status: 0, stdout: "", stderr: "", timedOut: false };
  if (always !== undefined) return { ...result, ...always };
  if (args.includes("-L")) return { ...result, stdout: list ?? "" };
  if (args.includes("-q")) return { ...result, stdout: whole ?? "" };
  const query = args.find((arg) => arg.startsWith("--query-gpu="))?.slice("--query-gpu=".length);
  if (query === undefined) return { ...result, stdout: table ?? "" };
  const asked = query.split(",");
  const unknown = asked.find((field) => !Object.hasOwn(fields ?? {}, field));
  if (unknown !== undefined) {
    return { ...result, status: 2, stdout: `Field "${unknown}" is not a valid field to query.\n\n` };
  }
  const columns = asked.map((field) => fields?.[field] ?? []);
  const rows = (columns[0] ?? []).map((_, gpu) => columns.map((column) => column[gpu] ?? "").join(", "));
  const header = asked.map((field) => `${field}${units[field] ?? ""}`).join(", ");
  return { ...result, stdout: `${[header, ...rows].join("\n")}\n` };
}

function readJson<T>(path: string): T | null {
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as T) : null;
}
