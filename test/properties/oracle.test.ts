import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HostFacts } from "../../src/facts/facts.ts";
import type { LockedImage } from "../../src/lock/lock.ts";
import { viewHost } from "../../src/resolve/host-view.ts";
import { findMisfits, checkFit } from "../../src/resolve/check-fit.ts";
import { rankImages } from "../../src/resolve/resolve-image.ts";
import { efforts } from "../../src/resolve/verdict.ts";
import { askOracle, askOracleForBest, eachOf } from "./oracle.ts";
import { amdGpu, amdHost } from "../resolve/support/hosts.ts";
import { image, lockOf, rocm } from "../resolve/support/locks.ts";
import { anyHost, anyImage, anyLock } from "./support/machines.ts";
import { oracleRuns as runs, timeoutMs } from "./support/runs.ts";

describe("the oracle", () => {
  it("knows nothing of the code that it judges", () => {
    const source = readFileSync(new URL("./oracle.ts", import.meta.url), "utf8");
    for (const line of source.split("\n").filter((text) => text.startsWith("import")))
      expect(line).toMatch(/^import type /);
  });

  it(`agrees on ${runs} random hosts and images`, { timeout: timeoutMs }, () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(anyHost, anyImage, (host, image) => {
        const verdict = checkFit(image, host);
        const answers = eachOf(image).map((one) => askOracle(one, host));
        const outcome = verdict.ok ? `fits ${verdict.tier}` : verdict.code;
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
        if (verdict.ok) {
          const answer = askOracle({ ...image, requires: verdict.as ?? image.requires }, host);
          expect([...answer.reasons]).toEqual([]);
          expect(verdict.code.map(({ target }) => target)).toEqual(answer.runs);
          if (image.requires.cuda !== null) expect(verdict.tier).toBe(answer.tier);
        } else {
          expect(answers.filter(({ reasons }) => reasons.size === 0)).toEqual([]);
          expect(answers.flatMap(({ reasons }) => [...reasons])).toContain(verdict.code);
          // The choice of the nearest among several is a matter of taste.
          if (isComparable(image, host))
            expect(answers.map(({ reasons }) => withoutPtxDoubt(reasons))).toContainEqual(
              allCodes(image, host),
            );
        }
      }),
      { numRuns: runs },
    );
    // The comparison is worth something only when every outcome occurs: pins and --no-deprecated apart, which need a user, and keys of a newer imgmatch.
    const outcomes = [
      "fits native",
      "fits minor",
      "fits forward",
      ...Object.keys(efforts).filter(
        (code) => !["PIN_MISMATCH", "DEPRECATED", "REQUIREMENT_UNKNOWN"].includes(code),
      ),
    ];
    if (runs < 10_000) return;
    expect(outcomes.filter((outcome) => !seen.has(outcome))).toEqual([]);
    expect((seen.get("fits native") ?? 0) + (seen.get("fits minor") ?? 0)).toBeGreaterThan(runs / 50);
  });

  it(`picks the same winner of ${runs} random locks`, { timeout: timeoutMs }, () => {
    let won = 0;
    fc.assert(
      fc.property(anyHost, anyLock, (host, lock) => {
        const [winner] = rankImages(lock, host).ranked;
        expect(winner?.cell ?? null).toBe(askOracleForBest(lock, host));
        if (winner !== undefined) won++;
      }),
      { numRuns: runs },
    );
    expect(won).toBeGreaterThan(runs / 20);
  });

  it("picks the same winner where AMD supports some releases on some kernels alone", () => {
    const code = fc.constantFrom(["gfx1151"], ["gfx11-generic"], ["amdgcnspirv"]);
    const release = fc.constantFrom("6.4.4", "7.0", "7.1", "7.2", "7.2.1", "7.9", "7.10", "7.11");
    const images = fc.array(fc.tuple(release, code), { minLength: 2, maxLength: 4 });
    const kernel = fc.constantFrom("6.8.0", "6.18.3", "6.18.4", "7.0", null);
    let late = 0;
    fc.assert(
      fc.property(kernel, images, (kernel, found) => {
        const host = amdHost([amdGpu({ target: "gfx1151", sramecc: false, integrated: true })], null, {
          kernel,
        });
        const cells = found.map(([of, targets], index) => [
          `cell-${index}`,
          image({ requires: { ...image().requires, rocm: rocm(of, targets) } }),
        ]);
        const lock = lockOf(Object.fromEntries(cells));
        const [winner] = rankImages(lock, host).ranked;
        expect(winner?.cell).toBe(askOracleForBest(lock, host));
        if (winner?.fit.code[0]?.unsupported !== true && kernel === "7.0") late++;
      }),
    );
    expect(late).toBeGreaterThan(0);
  });
});

/** Without a driver or a GPU, what the rules after that would say is a matter of taste. */
function isComparable({ requires }: LockedImage, { nvidia, amd }: HostFacts): boolean {
  if (requires.rocm !== undefined && (amd == null || amd.unknown !== undefined || amd.gpus.length === 0))
    return false;
  return (
    requires.cuda === null ||
    (nvidia != null && nvidia.unknown === undefined && nvidia.driver !== null && nvidia.gpus.length > 0)
  );
}

function allCodes(image: LockedImage, host: HostFacts): readonly string[] {
  return withoutPtxDoubt(new Set(findMisfits(image, viewHost(host)).map(({ code }) => code)));
}

/** Drops two reasons that another hides: PTX where the driver does not serve the toolkit, and a second GPU without code. */
function withoutPtxDoubt(codes: ReadonlySet<string>): readonly string[] {
  const hides = ["DRIVER_TOO_OLD", "DRIVER_NOT_EXACT", "COMPAT_NOT_SUPPORTED", "FACT_UNKNOWN", "NO_GPU_CODE"];
  const doubtful = hides.some((code) => codes.has(code));
  return [...codes].filter((code) => !(doubtful && code === "PTX_TOO_NEW")).sort();
}
