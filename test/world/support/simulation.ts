/**
 * One scheduler, one random generator, one clock for many programs in one process: the same seed is the same run. While it runs, what a program
 * of a simulation reaches of time, luck, network and files is the simulation's; what anybody else reaches is the system's.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import crypto from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { Writable } from "node:stream";
import timers from "node:timers/promises";
import { numbers } from "../../fleet/publish/support/race.ts";

/** A program on a machine of its own. */
export interface Program {
  readonly name: string;
  /** Of the wall clock before the true time, in milliseconds. It may be set while the program runs. */
  skewMs: number;
  /** Seconds of its clock in a true second. */
  readonly rate: number;
  /** What a killed program waits for never comes. */
  isAlive: boolean;
}

type Ask = (url: URL, options: http.RequestOptions) => http.ClientRequest;

interface Event {
  readonly at: number;
  readonly number: number;
  readonly program: Program | null;
  readonly run: () => void;
  isOff: boolean;
}

const current = new AsyncLocalStorage<{ readonly simulation: Simulation; readonly program: Program }>();
const began = Date.UTC(2026, 0, 1);
const turn = setImmediate;
/** A tenth of them is usual. */
const mostEvents = 60_000;

export class Simulation {
  now = 0;
  /** A line for each thing that happened, in order. */
  readonly trace: string[] = [];
  /** How often each thing happened. */
  readonly seen = new Map<string, number>();
  readonly random: () => number;
  readonly #events: Event[] = [];
  readonly #held = new Set<Promise<unknown>>();
  #number = 0;

  constructor(seed: number) {
    this.random = numbers(seed);
  }

  upTo(most: number): number {
    return this.random() * most;
  }

  chance(part: number): boolean {
    return this.random() < part;
  }

  pick<Item>(...items: readonly [Item, ...Item[]]): Item {
    return items[Math.floor(this.upTo(items.length))] ?? items[0];
  }

  /** Who runs now. */
  program(): Program {
    const own = current.getStore();
    if (own?.simulation !== this) throw new Error("outside of this simulation");
    return own.program;
  }

  note(line: string): void {
    this.trace.push(`${this.now.toFixed(1).padStart(9)} ${line}`);
  }

  see(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }

  /** `program`: who waits for it, and whose context it runs in; null for the world's own. */
  after(ms: number, run: () => void, program: Program | null = current.getStore()?.program ?? null): Event {
    const event = { at: this.now + Math.max(0, ms), number: this.#number++, program, run, isOff: false };
    // Few are under way: a sorted list is as good as a heap.
    let index = this.#events.length;
    while (index > 0 && isBefore(event, this.#events[index - 1])) index--;
    this.#events.splice(index, 0, event);
    return event;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  /** Time stands still until this has ended: work of another thread, whose end no seed decides. */
  hold<Result>(work: () => Promise<Result>): Promise<Result> {
    const held = work();
    const noted = held.catch(() => {}).finally(() => this.#held.delete(noted));
    this.#held.add(noted);
    return held;
  }

  as<Result>(program: Program, work: () => Result): Result {
    return current.run({ simulation: this, program }, work);
  }

  /** Runs events until none is left, each when all that the one before has begun waits. */
  async run(): Promise<void> {
    for (let event = this.#events.shift(); event !== undefined; event = this.#events.shift()) {
      if (event.isOff || event.program?.isAlive === false) continue;
      if (this.#number > mostEvents) throw new Error(`more than ${mostEvents} events: it does not end`);
      this.now = event.at;
      if (event.program === null) event.run();
      else this.as(event.program, event.run);
      do {
        await new Promise((done) => turn(done));
        await Promise.all(this.#held);
      } while (this.#held.size > 0);
    }
  }
}

function isBefore(one: Event, other: Event | undefined): boolean {
  return other !== undefined && (one.at < other.at || (one.at === other.at && one.number < other.number));
}

const real = { Date, setTimeout, clearTimeout, now: performance.now, random: Math.random };

/** The program's clock: the true time, faster or slower, from another beginning. */
const clockOf = ({ simulation, program }: { readonly simulation: Simulation; readonly program: Program }) =>
  simulation.now * program.rate;
const wall = (): number => {
  const own = current.getStore();
  return own === undefined ? real.Date.now() : Math.floor(began + own.program.skewMs + clockOf(own));
};

class WorldDate extends real.Date {
  constructor(...given: readonly unknown[]) {
    super(...((given.length === 0 ? [wall()] : given) as [number]));
  }
  static override now = wall;
}

class Timer {
  readonly event: Event;
  constructor(event: Event) {
    this.event = event;
  }
  ref = () => this;
  unref = () => this;
}

const inSimulation = {
  setTimeout(run: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) {
    const own = current.getStore();
    if (own === undefined) return real.setTimeout(run, ms, ...given);
    return new Timer(own.simulation.after(Math.max(1, ms) / own.program.rate, () => run(...given)));
  },
  clearTimeout(timer: unknown) {
    if (timer instanceof Timer) timer.event.isOff = true;
    else real.clearTimeout(timer as NodeJS.Timeout);
  },
  sleep(ms = 0, value?: unknown, { signal }: { readonly signal?: AbortSignal } = {}) {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const timer = inSimulation.setTimeout(() => resolve(value), ms);
      signal?.addEventListener("abort", () => {
        inSimulation.clearTimeout(timer);
        reject(signal.reason);
      });
    });
  },
  randomBytes(size: number) {
    const own = current.getStore();
    if (own === undefined) return systemBytes(size);
    return Buffer.from(Array.from({ length: size }, () => Math.floor(own.simulation.upTo(256))));
  },
};
const systemBytes = crypto.randomBytes;

/** Each of the promised operations of files that the program uses ends when its turn comes, and is whole then. */
const operations = "chmod lstat mkdir open readdir rename rm rmdir stat unlink utimes writeFile".split(" ");

function fileOperation(name: string, system: (...given: unknown[]) => Promise<unknown>) {
  const perform = fs[`${name}Sync` as "statSync"] as (...given: readonly unknown[]) => unknown;
  return (...given: readonly unknown[]): Promise<unknown> => {
    const own = current.getStore();
    if (own === undefined) return system(...given);
    return inTurn(own.simulation, () => {
      const done = perform(...given);
      return name === "open" ? handleOf(own.simulation, done as number) : done;
    });
  };
}

function inTurn<Result>(simulation: Simulation, perform: () => Result): Promise<Result> {
  return new Promise((resolve, reject) => {
    simulation.after(0.05 + simulation.upTo(0.5), () => {
      try {
        resolve(perform());
      } catch (error) {
        reject(error);
      }
    });
  });
}

/** What the program asks of an open file. A disk that loses what was not synced is not simulated. */
function handleOf(simulation: Simulation, file: number) {
  return {
    writeFile: (text: string) => inTurn(simulation, () => fs.writeFileSync(file, text)),
    sync: () => inTurn(simulation, () => {}),
    close: () => inTurn(simulation, () => fs.closeSync(file)),
  };
}

/** A log that nobody reads. */
function createWriteStream(...given: Parameters<typeof fs.createWriteStream>): unknown {
  const own = current.getStore();
  if (own === undefined) return systemStream(...given);
  const stream = new Writable({ write: (_, __, done) => done() });
  own.simulation.after(0.1, () => stream.emit("open"));
  return stream;
}
const [systemStream, systemSync] = [fs.createWriteStream, fs.fsyncSync];

/** Puts a simulation's world in place of the system's, until the function that it answers is called. */
export function takeOver(ask: Ask): () => void {
  const systemRequest = http.request;
  const request = (...given: Parameters<Ask>) =>
    current.getStore() === undefined ? systemRequest(...given) : ask(...given);
  const now = () => {
    const own = current.getStore();
    return own === undefined ? real.now.call(performance) : clockOf(own);
  };
  const random = () => current.getStore()?.simulation.random() ?? real.random();
  const promised = fs.promises as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>;
  const places: readonly (readonly [object, Record<string, unknown>])[] = [
    [
      globalThis,
      { Date: WorldDate, setTimeout: inSimulation.setTimeout, clearTimeout: inSimulation.clearTimeout },
    ],
    [performance, { now }],
    [Math, { random }],
    [timers, { setTimeout: inSimulation.sleep }],
    [crypto, { randomBytes: inSimulation.randomBytes }],
    [http, { request }],
    [
      fs,
      {
        createWriteStream,
        fsyncSync: (file: number) => current.getStore() === undefined && systemSync(file),
      },
    ],
    [
      promised,
      Object.fromEntries(operations.map((name) => [name, fileOperation(name, promised[name] as never)])),
    ],
  ];
  const before = places.map(([place, names]) => {
    const kept = Object.keys(names).map(
      (name) => [name, Object.getOwnPropertyDescriptor(place, name)] as const,
    );
    for (const [name, value] of Object.entries(names))
      Object.defineProperty(place, name, { value, writable: true, configurable: true, enumerable: true });
    return [place, kept] as const;
  });
  syncBuiltinESMExports();
  return () => {
    for (const [place, kept] of before)
      for (const [name, was] of kept)
        if (was === undefined) Reflect.deleteProperty(place, name);
        else Object.defineProperty(place, name, was);
    syncBuiltinESMExports();
  };
}
