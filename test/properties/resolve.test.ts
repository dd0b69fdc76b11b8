import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HostFacts } from "../../src/facts/facts.ts";
import type { Lock } from "../../src/lock/lock.ts";
import type { ResolveImageOptions } from "../../src/resolve/resolve-options.ts";
import { checkFit } from "../../src/resolve/check-fit.ts";
import { amdGpusOf } from "../../src/resolve/amd-view.ts";
import {
  parseRequire,
  type RequireCondition,
  requireOperators,
} from "../../src/resolve/rules/nvidia/parse-nvidia-require.ts";
import { rankImages, resolveImage } from "../../src/resolve/resolve-image.ts";
import { createResolver } from "../../src/resolve/resolver.ts";
import { efforts } from "../../src/resolve/verdict.ts";
import { image, lockOf } from "../resolve/support/locks.ts";
import { formatRequire } from "../resolve/support/format-require.ts";
import { askOracle } from "./oracle.ts";
import { eachOf } from "./oracle.ts";
import { anyHost, anyImage, anyLock } from "./support/machines.ts";
import { checkOptions, timeoutMs } from "./support/runs.ts";

const anyOptions: fc.Arbitrary<ResolveImageOptions> = fc.constantFrom(
  {},
  {},
  { cpuOnly: true },
  { requireGpu: true },
  { prefer: ["toolkit"] },
  { pins: { cuda: "12.*" } },
  { pins: { cuda: "none" } },
);

/** A change that makes a host no worse: what fitted before fits after. */
function neverHurts<T>(
  change: fc.Arbitrary<T>,
  apply: (host: HostFacts, change: T) => HostFacts | null,
): void {
  let fitted = 0;
  fc.assert(
    fc.property(
      anyHost,
      fc.array(anyImage, { minLength: 3, maxLength: 6 }),
      change,
      (host, images, value) => {
        const better = apply(host, value);
        if (better === null) return;
        for (const image of images) {
          // A driver of the image wants its own version, and a package before the host's an older one: for these, newer is not better.
          const own = eachOf(image).some(
            ({ requires: { cuda } }) => cuda !== null && cuda.driver.mode !== "host",
          );
          if (own && better.nvidia?.driver !== host.nvidia?.driver) continue;
          if (!checkFit(image, host).ok) continue;
          fitted++;
          expect(checkFit(image, better)).toMatchObject({ ok: true });
        }
      },
    ),
    checkOptions,
  );
  expect(fitted).toBeGreaterThan(checkOptions.numRuns / 20);
}

describe("a better host", () => {
  it("has one more CPU feature", { timeout: timeoutMs }, () => {
    neverHurts(fc.constantFrom("avx512f", "avx_ifma", "amx_tile", "pni"), (host, feature) =>
      host.cpu.features === null
        ? null
        : { ...host, cpu: { ...host.cpu, features: [...new Set([...host.cpu.features, feature])].sort() } },
    );
  });

  it("has a newer driver of the same branch", { timeout: timeoutMs }, () => {
    neverHurts(fc.integer({ min: 0, max: 300 }), (host, step) => {
      const { nvidia } = host;
      if (nvidia == null || nvidia.driver === null) return null;
      const [branch, minor = "0", patch = "0"] = nvidia.driver.split(".");
      const driver =
        step === 0 ? `${branch}.${minor}.${Number(patch) + 1}` : `${branch}.${Number(minor) + step}.01`;
      return { ...host, nvidia: { ...nvidia, driver, library: driver } };
    });
  });

  it("has one GPU less, as long as one is left", { timeout: timeoutMs }, () => {
    neverHurts(fc.nat(), (host, pick) => {
      const { nvidia } = host;
      if (nvidia == null || nvidia.gpus.length < 2) return null;
      const gpus = nvidia.gpus.filter((_, index) => index !== pick % nvidia.gpus.length);
      return { ...host, nvidia: { ...nvidia, gpus } };
    });
  });
});

describe("the answer does not depend on", () => {
  it("the order of images, GPUs, features, code and JSON keys", { timeout: timeoutMs }, () => {
    fc.assert(
      fc.property(anyHost, anyLock, fc.integer(), (host, lock, seed) => {
        const other = rankImages(shuffle(lock, seed), shuffle(host, seed));
        const answer = rankImages(lock, host);
        expect(other.ranked.map(({ cell, fit }) => [cell, fit.tier])).toEqual(
          answer.ranked.map(({ cell, fit }) => [cell, fit.tier]),
        );
        expect(other.rejected.map(({ cell, code }) => [cell, code])).toEqual(
          answer.rejected.map(({ cell, code }) => [cell, code]),
        );
      }),
      checkOptions,
    );
  });

  it("whether it is asked twice", { timeout: timeoutMs }, () => {
    fc.assert(
      fc.property(anyHost, anyLock, (host, lock) => {
        expect(resolveImage(lock, JSON.parse(JSON.stringify(host)))).toEqual(resolveImage(lock, host));
      }),
      checkOptions,
    );
  });
});

describe("every answer", () => {
  it("holds each image once: ranked, or rejected with a code, a message and a fix", {
    timeout: timeoutMs,
  }, () => {
    fc.assert(
      fc.property(anyHost, anyLock, (host, lock) => {
        const { ranked, rejected } = rankImages(lock, host);
        const cells = [...ranked, ...rejected].map(({ cell }) => cell).sort();
        expect(cells).toEqual(Object.keys(lock.images).sort());
        for (const { code, message, fix } of rejected) {
          expect(Object.keys(efforts)).toContain(code);
          expect(message.trim()).not.toBe("");
          expect(fix.trim()).not.toBe("");
          expect(`${message} ${fix}`).not.toMatch(/undefined|NaN|\[object|null/);
        }
      }),
      checkOptions,
    );
  });

  it("is a match with code for every visible GPU", { timeout: timeoutMs }, () => {
    fc.assert(
      fc.property(anyHost, anyLock, (host, lock) => {
        const { match } = resolveImage(lock, host);
        const image = match === null ? undefined : lock.images[match.cell];
        if (match === null || image === undefined) return;
        expect(match.reference).toBe(`${lock.repository}:${image.tag}@${image.digest}`);
        expect(match.reasons.length).toBeGreaterThan(0);
        const verdict = checkFit(image, host);
        // One that carries several of a kind, or code for both vendors, serves with one of them.
        const served = (verdict.ok ? verdict.as : undefined) ?? image.requires;
        const { cuda, rocm } = served;
        const gpus =
          cuda !== null ? host.nvidia?.gpus : rocm == null ? [] : amdGpusOf(host.amd ?? { gpus: [] }).judged;
        const code = cuda?.code ?? rocm?.code ?? [];
        // An image without code of its own runs none.
        expect(verdict.ok && verdict.code.length).toBe(code.length === 0 ? 0 : gpus?.length);
        expect(
          askOracle({ ...image, requires: served }, host).runs.every((target) => code.includes(target)),
        ).toBe(true);
      }),
      checkOptions,
    );
  });
});

describe("NVIDIA_REQUIRE expressions", () => {
  const condition: fc.Arbitrary<RequireCondition> = fc.oneof(
    fc.record({
      property: fc.constantFrom("cuda", "driver", "arch"),
      operator: fc.constantFrom(...requireOperators),
      value: fc.tuple(fc.nat(999), fc.nat(99)).map((parts) => parts.join(".")),
    }),
    fc.record({
      property: fc.constant("brand"),
      operator: fc.constantFrom("=" as const, "!=" as const),
      value: fc.constantFrom("tesla", "nvidia", "geforce"),
    }),
    fc.record({
      property: fc.constantFrom("CUDA", "vgpu"),
      operator: fc.constantFrom(...requireOperators),
      value: fc.stringMatching(/^[a-z0-9.]{1,6}$/),
    }),
  );

  it("are parsed to what was formatted", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(condition, { minLength: 1, maxLength: 4 }), { maxLength: 4 }),
        (alternatives) => {
          expect(parseRequire(formatRequire({ alternatives }))).toEqual({ alternatives });
        },
      ),
      checkOptions,
    );
  });

  it("are read or refused, never thrown at", () => {
    const noise = fc.string({ unit: fc.constantFrom(..."cudarivebn =!<>,.019\t"), maxLength: 40 });
    fc.assert(
      fc.property(noise, (text) => {
        const expression = parseRequire(text);
        if (expression !== null) expect(parseRequire(formatRequire(expression))).toEqual(expression);
      }),
      checkOptions,
    );
  });
});

/** The same value with keys, and the elements of lists whose order means nothing, in another order. */
function shuffle<T extends Lock | HostFacts>(value: T, seed: number): T {
  let state = seed >>> 0;
  const next = (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const mix = <E>(list: readonly E[]): E[] => {
    const mixed = [...list];
    for (let index = mixed.length - 1; index > 0; index--) {
      const other = next(index + 1);
      [mixed[index], mixed[other]] = [mixed[other] as E, mixed[index] as E];
    }
    return mixed;
  };
  const walk = (part: unknown): unknown => {
    if (Array.isArray(part)) return mix(part.map(walk));
    if (part === null || typeof part !== "object") return part;
    return Object.fromEntries(mix(Object.entries(part)).map(([key, inner]) => [key, walk(inner)]));
  };
  return walk(value) as T;
}

describe("many hosts asked of one resolver", () => {
  it("get what each gets alone, to the last word", { timeout: timeoutMs }, () => {
    let kept = 0;
    // Two to eight hosts, each twice and by two ways, in every one.
    const options = { numRuns: Math.ceil(checkOptions.numRuns / 5) };
    fc.assert(
      fc.property(
        fc.array(anyHost, { minLength: 2, maxLength: 8 }),
        anyLock,
        anyOptions,
        (hosts, lock, asked) => {
          const resolver = createResolver(lock, asked);
          // Each twice, so that the second is answered by what was kept.
          for (const host of [...hosts, ...hosts]) {
            const alone = resolveImage(lock, host, asked);
            if (alone.rejected.some(({ code }) => code === "CPU_FEATURES_MISSING" || code === "NO_GPU_CODE"))
              kept++;
            expect(resolver.resolve(host)).toEqual(alone);
            const { ranked } = rankImages(lock, host, asked);
            expect(resolver.rank(host).ranked).toEqual(ranked);
          }
        },
      ),
      options,
    );
    expect(kept).toBeGreaterThan(options.numRuns / 4);
  });

  it("are refused what each is refused alone", () => {
    const lock = lockOf({ a: image() });
    expect(() => createResolver(lock, { pins: { nope: "1" } })).toThrow("no image has the axis nope");
    expect(() => createResolver(lock, { cpuOnly: true, requireGpu: true })).toThrow("--cpu asks");
  });
});
