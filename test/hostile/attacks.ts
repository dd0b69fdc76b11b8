/** The attacks: a damaged input, and the code that must cope with it. An attack ends, or throws one of our own errors. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { resolve as resolvePath } from "node:path";
import type { HostFacts } from "../../src/facts/facts.ts";
import { describeHostFacts } from "../../src/cli/probe-lines.ts";
import { formatHostFacts } from "../../src/facts/format-facts.ts";
import type { CommandResult, HostIo } from "../../src/host/host-io.ts";
import { parseHostFacts } from "../../src/facts/parse-facts.ts";
import { probeHost } from "../../src/host/probe-host.ts";
import { readHost } from "../support/read-hosts.ts";
import { parseLock } from "../../src/lock/parse-lock.ts";
import { explainResolution } from "../../src/node/explain.ts";
import { fixtureHostIo } from "../support/fixture-host-io.ts";
import { mutateJson, mutateText, pick, type Random } from "./mutate.ts";
import type { ReadingName } from "./names.ts";
import { nodeTexts } from "./nodes.ts";

const path = (name: string) => resolvePath(name);
const hosts = path("test/fixtures/hosts");
const names = readdirSync(hosts);
const machines = names.map((name) => remembered(fixtureHostIo(`${hosts}/${name}`)));
const withCpuinfo = machines.filter((io) => io.platform === "linux" && io.readText("/proc/cpuinfo") !== null);
const talking = names
  .filter((name) => existsSync(`${hosts}/${name}/nvidia-smi.json`))
  .map((name) => remembered(fixtureHostIo(`${hosts}/${name}`)));

const factsTexts = names.map((name) => readFileSync(`${hosts}/${name}/expected.json`, "utf8"));
const facts = factsTexts.map((text) => parseHostFacts(text, "expected.json"));
const lockTexts = ["docs/examples/vision/images/imgmatch.lock.json", "test/fixtures/locks/v2.json"].map(
  (name) => readFileSync(path(name), "utf8"),
);
const locks = lockTexts.map((text) => parseLock(text, "imgmatch.lock.json"));

export type Attack = (random: Random) => Promise<void>;

export const attacks = {
  cpuinfo: async (random) => {
    const io = pick(random, withCpuinfo);
    const cpuinfo = mutateText(String(io.readText("/proc/cpuinfo")), random);
    await probed({ ...io, readText: (file) => (file === "/proc/cpuinfo" ? cpuinfo : io.readText(file)) });
  },
  /** Every file and every link of a machine at once. */
  files: async (random) => {
    const io = pick(random, machines);
    await probed({
      ...io,
      readText: (file) => {
        const text = io.readText(file);
        return typeof text === "string" && random(2) === 0 ? mutateText(text, random) : text;
      },
      readLink: (file) => {
        const target = io.readLink(file);
        return target === null ? null : mutateText(target, random);
      },
    });
  },
  smiQuery: (random) => smi(random, (args) => args.some((arg) => arg.startsWith("--query-gpu"))),
  smiList: (random) => smi(random, (args) => args.includes("-L")),
  smiTable: (random) => smi(random, (args) => args.length === 0),
  facts: async (random) => {
    const host = await readHost(mutateJson(pick(random, factsTexts), random), "facts.json");
    expectLossless(host);
    expectPrintable(explainResolution(pick(random, locks), host));
  },
  lock: async (random) => {
    const lock = parseLock(mutateJson(pick(random, lockTexts), random), "imgmatch.lock.json");
    expectPrintable(explainResolution(lock, pick(random, facts)));
  },
  kubernetesNode: async (random) => {
    const host = await readHost(mutateJson(pick(random, nodeTexts), random), "node.json");
    expectLossless(host);
    expectPrintable(explainResolution(pick(random, locks), host));
  },
} as const satisfies Record<ReadingName, Attack>;

/** The machine is read, its facts are facts, and none of them moves a terminal's cursor. */
async function probed(io: HostIo): Promise<void> {
  const found = await probeHost(io);
  expectLossless(found);
  expectPrintable(describeHostFacts(found));
}

function expectPrintable(lines: readonly string[]): void {
  if (/\p{Cc}/u.test(lines.join(""))) throw new Error("a control character on its way to the terminal");
}

function expectLossless(found: HostFacts): void {
  const text = formatHostFacts(found);
  if (formatHostFacts(readBack(text)) !== text) throw new Error("the facts do not survive a file");
}

/** The probe must read what it writes: a refusal is a fault here. */
function readBack(text: string): HostFacts {
  try {
    return parseHostFacts(text, "facts.json");
  } catch (error) {
    throw new Error(`the probe's own facts are refused: ${error}`);
  }
}

async function smi(random: Random, hits: (args: readonly string[]) => boolean): Promise<void> {
  const io = pick(random, talking);
  const damage = (answer: CommandResult) =>
    random(4) === 0
      ? { ...answer, stderr: mutateText(answer.stdout, random), status: random(256) }
      : { ...answer, stdout: mutateText(answer.stdout, random) };
  await probed({
    ...io,
    run: async (command, args, limits) => {
      const answer = await io.run(command, args, limits);
      return answer !== null && hits(args) ? damage(answer) : answer;
    },
  });
}

/** A machine whose files are read from the disk once. */
function remembered(io: HostIo): HostIo {
  const once = <T>(read: (file: string) => T): ((file: string) => T) => {
    const known = new Map<string, T>();
    return (file) => {
      if (!known.has(file)) known.set(file, read(file));
      return known.get(file) as T;
    };
  };
  return {
    ...io,
    readText: once(io.readText),
    list: once(io.list),
    exists: once(io.exists),
    readLink: once(io.readLink),
    run: withAnswers(io),
    readNvml: withNvml(io),
  };
}

function withAnswers(io: HostIo): HostIo["run"] {
  const known = new Map<string, Promise<CommandResult | null>>();
  return (command, args, limits) => {
    const key = [command, ...args].join(" ");
    const answer = known.get(key) ?? io.run(command, args, limits);
    known.set(key, answer);
    return answer;
  };
}

function withNvml(io: HostIo): HostIo["readNvml"] {
  let known: ReturnType<HostIo["readNvml"]> | null = null;
  return (libraries) => {
    known ??= io.readNvml(libraries);
    return known;
  };
}
