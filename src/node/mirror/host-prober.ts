/** Probes this host in another process: a driver that hangs blocks that process and not the mirror. */

import { ImgmatchError } from "../../errors.ts";
import type { HostFacts } from "../../facts/facts.ts";
import { parseHostFacts } from "../../facts/parse-facts.ts";
import { isRecord, parseJson } from "../../io/json.ts";
import { type LineProgram, startLineProgram } from "../../io/line-program.ts";
import { late, within } from "../../io/within.ts";

export type Probed =
  | { readonly ok: true; readonly facts: HostFacts }
  /** The host cannot be read now. */
  | { readonly ok: false; readonly reason: string };

export interface HostProber {
  /** The host as it is now. Callers share a probe under way. Answers within `patienceMs`, by default `waitMs`, and never rejects. */
  readonly ask: (patienceMs?: number) => Promise<Probed>;
  /** The number of killed processes that are still there. */
  readonly stuck: () => number;
  readonly stop: () => void;
}

export interface HostProberOptions {
  /** A program that answers each line with a line of facts: `imgmatch probe --each-line`. */
  readonly command: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Gets a warning if a process hangs. */
  readonly tell: (message: string) => void;
  /** The time limit of an answer, in milliseconds. Default: 1000. */
  readonly waitMs?: number;
  /** A longer probe counts as stuck. Default: 20,000, as nvidia-smi has 15,000. */
  readonly stuckMs?: number;
  /** For tests: what starts the process. */
  readonly start?: typeof startLineProgram;
}

/** With so many stuck processes no other is started. */
const mostStuck = 2;
/** A slow host (GPUs without persistence mode) is probed at intervals, so that its facts are at hand. */
const slowAgainMs = 15_000;
/** For so long the last answer stands for one that comes late. */
const keptMs = 45_000;

export function createHostProber(options: HostProberOptions): HostProber {
  const { command, env, tell, waitMs = 1000, stuckMs = 20_000, start = startLineProgram } = options;
  const stuck = new Set<LineProgram>();
  const read = createReader();
  let child: LineProgram | null = null;
  let underWay: Promise<Probed> | null = null;
  let last: { readonly probed: Probed; readonly at: number; readonly isSlow: boolean } | null = null;
  let again: NodeJS.Timeout | undefined;
  let isStopped = false;

  function abandon(hanging: LineProgram): void {
    child = null;
    stuck.add(hanging);
    hanging.kill();
    void hanging.gone.then(() => stuck.delete(hanging));
  }

  async function probe(): Promise<Probed> {
    if (isStopped) return unknown("the mirror is ending");
    if (stuck.size >= mostStuck)
      return unknown(`${stuck.size} processes that asked for them hang inside the kernel`);
    child ??= start(command, env);
    const prober = child;
    const started = performance.now();
    const line = await within(stuckMs, prober.ask());
    if (line === late) {
      abandon(prober);
      tell(`a probe of this host gave no answer in ${stuckMs} ms and was killed`);
      return unknown(`were not read within ${stuckMs} ms`);
    }
    if (line === null) {
      child = null;
      prober.kill();
      return unknown("were not read: the process that asked for them ended");
    }
    const probed = read(line);
    const isSlow = performance.now() - started > waitMs;
    last = { probed, at: performance.now(), isSlow };
    clearTimeout(again);
    if (isSlow) again = setTimeout(() => void share(), slowAgainMs).unref();
    return probed;
  }

  function share(): Promise<Probed> {
    underWay ??= probe().finally(() => {
      underWay = null;
    });
    return underWay;
  }

  return {
    ask: async (patienceMs = waitMs) => {
      const kept = () => (last !== null && performance.now() - last.at < keptMs ? last : null);
      const known = kept();
      if (known?.isSlow) return known.probed;
      const probed = await within(patienceMs, share());
      if (probed !== late) return probed;
      // The processor may be busy for a second: the host was known shortly before.
      return kept()?.probed ?? unknown(`were not read within ${patienceMs} ms: a driver may hang`);
    },
    stuck: () => stuck.size,
    stop: () => {
      isStopped = true;
      clearTimeout(again);
      child?.kill();
    },
  };
}

function unknown(why: string): Probed {
  const fix = "imgmatch doctor, nvidia-smi and the kernel's log say more";
  return { ok: false, reason: `HOST_UNREADABLE: this host's facts ${why}; fix: ${fix}` };
}

/** Parses a line only if it differs from the last one: equal facts stay the same object. */
function createReader(): (line: string) => Probed {
  let last: { readonly line: string; readonly probed: Probed } | null = null;
  return (line) => {
    if (last?.line !== line) last = { line, probed: parse(line) };
    return last.probed;
  };
}

function parse(line: string): Probed {
  const refusal = refusalOf(line);
  if (refusal !== null) return { ok: false, reason: refusal };
  try {
    return { ok: true, facts: parseHostFacts(line, "imgmatch probe") };
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    return { ok: false, reason: `${error.code}: ${error.problems[0].message}` };
  }
}

/** `{"errors":[{"code":"SELECTION_INVALID","message":"…"}]}`; null for facts. */
function refusalOf(line: string): string | null {
  const answer = parseJson(line);
  const [first] = isRecord(answer) && Array.isArray(answer.errors) ? (answer.errors as unknown[]) : [];
  return isRecord(first) ? `${String(first.code)}: ${String(first.message)}` : null;
}
