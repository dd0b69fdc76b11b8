/** A world of one seed: three publishers, eighteen nodes and two mirrors over one registry, and the faults that they meet. */

import { createHash } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ImgmatchError, InternalError } from "../../../src/errors.ts";
import type { Digest } from "../../../src/oci/digest.ts";
import { resolveImage } from "../../../src/resolve/resolve-image.ts";
import { cellsOf, hosts, matrixOf, repository } from "./fleet.ts";
import { createLaws, type Laws } from "./laws.ts";
import { type Choose, resolver, throughMirror } from "./node.ts";
import { build, type Desk, moveChannel, promote } from "./publisher.ts";
import { createWorldRegistry, faults, type Weather } from "./registry.ts";
import { type Program, Simulation, takeOver } from "./simulation.ts";

export interface Outcome {
  readonly broken: readonly string[];
  readonly seen: ReadonlyMap<string, number>;
  readonly trace: readonly string[];
  /** Of the trace. */
  readonly hash: string;
}

/** @param folder for checkouts and caches; removed at the end */
export async function runWorld(seed: number, folder: string): Promise<Outcome> {
  const simulation = new Simulation(seed);
  const { begin, end, ask, laws } = createWorld(simulation, folder);
  const giveBack = takeOver(ask);
  try {
    begin();
    await simulation.run();
    end();
  } catch (error) {
    laws.violate(String(error));
  } finally {
    giveBack();
    rmSync(folder, { recursive: true, force: true });
  }
  const { trace, seen } = simulation;
  const hash = createHash("sha256").update(trace.join("\n")).digest("hex");
  return { broken: laws.broken, seen, trace, hash };
}

interface Task {
  readonly name: string;
  readonly run: (desk: Desk, who: string) => Promise<string>;
}

/** Tasks by which a publisher's day is drawn; `laws` are told what each says. */
function tasksOf(simulation: Simulation, laws: Laws) {
  const building = (only: readonly string[], { replace = false, version = "1.0" } = {}): Task => ({
    name: `build --index of ${version} ${replace ? "--replace-index " : ""}${only.join(",")}`,
    async run(given, who) {
      const content = (cell: string) => (version === "1.0" ? given.content(cell) : `later ${cell}`);
      const desk = { ...given, content, release: { ...given.release, version } };
      if (replace) for (const cell of only) laws.toldToReplace(version, cell);
      const { results, index } = await build(desk, only, { replace });
      const built = results.flatMap((each) => (each.status === "built" ? [each] : []));
      for (const { how } of built) simulation.see(`an image was ${how}`);
      if (index?.how === "replaced") simulation.see("an index was replaced");
      const [failed] = results.flatMap((each) => (each.status === "failed" ? each.problems : []));
      const isWhole = failed === undefined && index?.missing.length === 0;
      laws.published(desk, isWhole ? only : built.map(({ cell }) => cell), who);
      if (failed !== undefined) throw new ImgmatchError(failed);
      return `${built.length} built, index ${index?.how} ${short(index?.digest)}`;
    },
  });
  const moving = (channel: string, replace: boolean): Task => ({
    name: `promote --channel ${channel}${replace ? " --replace-index" : ""}`,
    async run(desk, who) {
      const [event] = await moveChannel(desk, channel, { replace });
      if (event === undefined) throw new InternalError("no channel");
      const { how, digest, from } = event;
      simulation.see(`a channel was ${how}`);
      if (how !== "unchanged")
        laws.moved(desk, { channel, digest: digest as Digest, from: from as Digest | null }, who);
      return `${how} ${short(digest)}`;
    },
  });
  const promoting = (to: string): Task => ({
    name: `promote 1.0 ${to}`,
    async run(desk) {
      const { published } = await promote(desk, "1.0", to);
      simulation.see("a version was promoted");
      return `${published.how} ${short(published.digest)}`;
    },
  });
  return { building, moving, promoting };
}

const short = (digest = "") => digest.slice(7, 15);

/** Another try says the same, unless somebody else does something about it. */
const forGood = [
  "TAG_CONFLICT",
  "INDEX_CONFLICT",
  "INDEX_INCOMPLETE",
  "LOCK_NOT_FOUND",
  "INDEX_NOT_FOUND",
  "SELECTION_EMPTY",
];
const tags = ["1.0", "1.1", "latest", "cpu", "1.0-final", "stolen"];

function createWorld(simulation: Simulation, folder: string) {
  const chance = (part: number) => simulation.chance(part);
  const upTo = (most: number) => simulation.upTo(most);
  const pick = <Item>(...items: readonly [Item, ...Item[]]) => simulation.pick(...items);
  const stormMs = 15_000 + upTo(20_000);
  const outage = chance(0.3) ? upTo(stormMs) : stormMs;
  const weather: Weather = {
    badness: pick(0, 0.02, 0.06, 0.15),
    slow: pick(0, 0.02, 0.1),
    faults: faults.filter(() => chance(0.7)),
    outage: [outage, Math.min(stormMs, outage + upTo(20_000))],
  };
  const registry = createWorldRegistry(simulation, weather, chance(0.5));
  const laws = createLaws(simulation, registry);
  const { building, moving, promoting } = tasksOf(simulation, laws);
  const release = { version: "1.0", hasInputs: chance(0.7) };
  const format = pick("tag", "tag", "bundle", "both");
  const cells = cellsOf(matrixOf(release)).map(({ cell }) => cell.id);
  const some = () => cells.filter(() => chance(0.55));
  /** Cells that the second checkout has other inputs for. */
  const otherInputs = new Set(cells.filter(() => chance(0.15)));
  let publishing = 3;
  let isWhole = true;

  function newProgram(name: string): Program {
    const skewMs = chance(0.5) ? (upTo(2) - 1) * 400 * 86_400_000 : 0;
    if (skewMs !== 0) simulation.see("a skewed clock");
    return { name, skewMs, rate: 1 + (upTo(2) - 1) / 2000, isAlive: true };
  }
  function folderOf(name: string): string {
    mkdirSync(join(folder, name), { recursive: true });
    return join(folder, name);
  }

  /** Does the tasks one after the other, each until it is done or refused for good. */
  async function publish(
    desk: Desk,
    { name }: Program,
    tasks: readonly Task[],
    state: { at: number },
  ): Promise<void> {
    for (; state.at < tasks.length; state.at++) {
      const task = tasks[state.at];
      for (let tries = 0; task !== undefined; tries++) {
        try {
          simulation.note(`${name} begins ${task.name}`);
          simulation.note(`${name} ended ${task.name}: ${await task.run(desk, `${name}, ${task.name}`)}`);
          break;
        } catch (error) {
          if (!(error instanceof ImgmatchError) || error instanceof InternalError || tries > 40) {
            laws.violate(`${name}, ${task.name}: ${error instanceof Error ? error.stack : String(error)}`);
            break;
          }
          simulation.note(`${name} was told ${error.message}`);
          simulation.see(`told ${error.code}`);
          if (forGood.includes(error.code) && (simulation.now > stormMs || tries > 1)) break;
          await simulation.sleep(1000 + upTo(8000));
        }
      }
    }
    publishing--;
  }

  function startPublisher(number: number): void {
    // Two publishers have one checkout: the same inputs, one lock. One of them may go on to the next version, with inputs of its own.
    const isOther = number === 2;
    const content = (cell: string) => (isOther && otherInputs.has(cell) ? `other than ${cell}` : cell);
    const desk: Desk = {
      simulation,
      release,
      format,
      content,
      folder: folderOf(isOther ? "checkout-2" : "checkout"),
    };
    const replace = release.hasInputs && chance(0.5);
    const later = () =>
      pick(
        moving("latest", chance(0.2)),
        moving("cpu", chance(0.2)),
        promoting(pick("1.0-final", "2.0")),
        building(some(), { version: number > 0 ? "1.1" : "1.0" }),
        building(cells.slice(Math.floor(upTo(cells.length))).slice(0, 1), { replace }),
      );
    const drawn = [building(some()), ...[0.8, 0.4].flatMap((part) => (chance(part) ? [later()] : []))];
    const next = [
      building(cells.slice(0, 2)),
      moving("cpu", false),
      building(cells.slice(0, 2), { version: "1.1" }),
    ];
    const tasks = isOther && chance(0.3) ? [...next, moving("cpu", chance(0.2))] : drawn;
    const state = { at: 0 };
    const start = (name: string): void => {
      const program = newProgram(name);
      simulation.after(upTo(5000), () => void publish(desk, program, tasks, state), program);
      if (chance(0.25)) simulation.after(upTo(stormMs), () => kill(program), null);
    };
    const kill = (program: Program): void => {
      if (state.at === tasks.length) return;
      program.isAlive = false;
      isWhole = false;
      simulation.see("a publisher was killed");
      simulation.note(`${program.name} is killed`);
      simulation.after(upTo(10_000), () => start(`${program.name}'`), null);
    };
    start(`publisher ${number}`);
  }

  function startNode(number: number): void {
    const isMirror = number < 2;
    const host = pick(...hosts);
    const program = newProgram(`${isMirror ? "mirror" : "node"} ${number}`);
    const cache = folderOf(`cache-${number}`);
    const isForward = chance(0.3);
    const own = pick("1.0", "1.0", "1.0", "latest", "cpu");
    const ask = async (choose: Choose, tag: string): Promise<string | null> => {
      const said = await choose(tag).catch((error: unknown) => {
        if (!(error instanceof ImgmatchError)) throw error;
        simulation.see(`${isMirror ? "a mirror" : "a node"} was told ${error.code}`);
        return error.code;
      });
      if (said?.startsWith("sha256:")) laws.started(program.name, tag, said);
      simulation.note(`${program.name} asked for ${tag}: ${said}`);
      return said;
    };
    const live = async (): Promise<void> => {
      const choose = isMirror
        ? await throughMirror(simulation, host, cache)
        : resolver(simulation, host, cache, isForward);
      while (publishing > 0 || simulation.now < stormMs) {
        await simulation.sleep(2000 + upTo(25_000));
        if (chance(0.1)) {
          program.skewMs += (upTo(2) - 1) * 86_400_000;
          simulation.see("a clock was set");
        }
        await ask(choose, chance(0.7) ? own : pick("1.0", ...tags));
      }
      // A mirror's answer may be ten seconds old. Then all that is there is right, and all nodes say the same.
      await simulation.sleep(12_000);
      const tag = chance(0.8) ? own : pick("1.0", ...tags);
      const fleet = tag === "stolen" ? null : laws.fleetOf(tag);
      const wanted =
        fleet === null ? null : (resolveImage(fleet, host).match?.reference.replace(/.*@/, "") ?? null);
      const said = await ask(choose, tag);
      const isRefused = fleet === null && said !== null && !said.startsWith("sha256:");
      // A node that goes no way back stays where a lost race, a replaced index or a moved channel would take it back.
      const isBack = isForward && said === "INDEX_DOWNGRADE" && (laws.hasGoneBack(tag) || !/^\d/.test(tag));
      if (said !== wanted && !isRefused && !isBack)
        laws.violate(`${program.name} at last: ${tag} is ${said}, and ${wanted} is right`);
    };
    const failed = (error: Error) => laws.violate(`${program.name}: ${error.stack}`);
    simulation.after(upTo(3000), () => void live().catch(failed), program);
  }

  /** Somebody copies what is signed for one tag to another. */
  function steal(): void {
    const [from, to] = ["1.0", "stolen"].map((tag) => `${repository.repository}:${tag}`);
    const digest = registry.store.tags.get(from ?? "");
    if (digest !== undefined && to !== undefined) registry.store.tags.set(to, digest);
  }

  return {
    laws,
    ask: registry.ask,
    begin() {
      for (const number of [0, 1, 2]) startPublisher(number);
      for (let number = 0; number < 20; number++) startNode(number);
      simulation.after(upTo(stormMs), steal, null);
      simulation.after(stormMs, () => Object.assign(weather, { badness: 0, slow: 0 }), null);
    },
    end() {
      if (publishing > 0) laws.violate(`${publishing} publishers have not ended`);
      laws.ended(folder, isWhole);
    },
  };
}
