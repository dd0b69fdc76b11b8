import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { named } from "../../../src/cover/image-use.ts";
import { type HostClass, classifyHosts } from "../../../src/resolve/host-classes.ts";
import { coverReport } from "../../../src/cover/cover-report.ts";
import { checkHostFacts } from "../../../src/facts/parse-facts.ts";
import { answersOf } from "../../../src/cover/page/answers.ts";
import { optionsOf, type PageData, pageData } from "../../../src/cover/page/page-data.ts";
import { pack, unpack } from "../../../src/cover/page/packed.ts";
import { changeFleet, changeHost, parseChanges } from "../../../src/cover/what-if.ts";
import { remember } from "../../../src/io/collections.ts";
import { compilePins } from "../../../src/resolve/pins.ts";
import { rankImages } from "../../../src/resolve/resolve-image.ts";
import type { ResolveImageOptions } from "../../../src/resolve/resolve-options.ts";
import { whyNotImage } from "../../../src/resolve/why-not-image.ts";
import { anyHost, anyLock } from "../../properties/support/machines.ts";
import { runs, timeoutMs } from "../../properties/support/runs.ts";
import { teamFleet } from "./support/fleets.ts";
import { demo } from "../support/demo.ts";
import { fixtureHosts } from "../support/machines.ts";

const team = teamFleet().fleet;
const captured = fixtureHosts();

/** As the page reads it. */
function told(...question: Parameters<typeof pageData>): PageData {
  return unpack(pack(pageData(...question))) as PageData;
}

/** Every answer about every class and image, beside that of the facts and the lock themselves, by name; of why-not, one in `step`. */
function expectAnswers(
  data: PageData,
  { lock }: typeof demo,
  classes: readonly Pick<HostClass, "facts" | "names">[],
  options: ResolveImageOptions,
  step = 1,
): void {
  const { imagesFor, whyNot: ask, against } = answersOf(data.now, classes, optionsOf(data.question));
  const refused = new Map<string, string[]>();
  for (const [place, { facts: host, names }] of classes.entries()) {
    const [name = ""] = names;
    const { ranked, rejected } = rankImages(lock, host, options);
    const { fits, rejected: groups } = imagesFor(place);
    expect(fits.map(({ cell }) => cell)).toEqual(ranked.map(({ cell }) => cell));
    const shown = groups.flatMap(({ code, message, cells }) =>
      cells.map((cell) => `${cell} ${code} ${message}`),
    );
    expect(shown.sort()).toEqual(
      rejected.map(({ cell, code, message }) => `${cell} ${code} ${named(message, name)}`).sort(),
    );
    for (const { cell, code } of rejected) remember(refused, cell, () => []).push(`${code} ${place}`);
    for (const [index, cell] of Object.keys(lock.images).entries())
      if ((index + place) % step === 0) {
        const answer = whyNotImage(lock, cell, host, options);
        const reasons = answer.reasons.map(({ code, message, fix }) => ({
          code,
          message: named(message, name, cell),
          fix: named(fix, name, cell),
        }));
        expect(ask(place, cell)).toEqual({ ...answer, reasons });
      }
  }
  for (const cell of Object.keys(lock.images)) {
    const found = [...against(cell)].flatMap(([code, places]) => places.map((place) => `${code} ${place}`));
    expect(found.sort()).toEqual((refused.get(cell) ?? []).sort());
  }
}

describe("what the page is told", () => {
  it("lets it answer as why-not and resolve do, for machines of every state", () => {
    for (const fleet of [demo, team]) {
      const classes = classifyHosts(captured, [fleet.lock]);
      expectAnswers(told(fleet, captured, coverReport(fleet, captured), {}), fleet, classes, {}, 50);
    }
  });

  it("and for random hosts, fleets and questions", { timeout: timeoutMs }, () => {
    fc.assert(
      fc.property(anyHost, anyLock, fc.boolean(), fc.boolean(), (facts, lock, cpuOnly, prefer) => {
        const fleet = { from: "lock", lock } as const;
        const hosts = [{ name: "one", facts }];
        const options = { cpuOnly, ...(prefer ? { prefer: ["toolkit"] } : {}) };
        const data = told(fleet, hosts, coverReport(fleet, hosts, options), options);
        expectAnswers(data, fleet, [{ facts, names: ["one"] }], options, 3);
      }),
      { numRuns: Math.ceil(runs / 20) },
    );
  });

  it("and with pins, ranges among them", async () => {
    const options = { pins: await compilePins({ cuda: ">=12.4 <13" }) };
    const hosts = captured.slice(0, 3);
    const classes = classifyHosts(hosts, [demo.lock]);
    const data = told(demo, hosts, coverReport(demo, hosts, options), options);
    expectAnswers(data, demo, classes, options, 20);
  });

  it("holds no number of a single card", () => {
    const amd = { driver: "6.14.14", gpus: [{ index: 0, uuid: "GPU-675bce773a2403eb" }] };
    const hosts = captured.map(({ name, facts }) => ({
      name,
      facts: checkHostFacts({ ...facts, amd }, { file: name }),
    }));
    const text = JSON.stringify(told(demo, hosts, coverReport(demo, hosts), {}));
    expect(text).toContain("GeForce");
    expect(text).not.toContain("675bce773a2403eb");
  });

  it("answers about a host and a cell by name", () => {
    const hosts = captured.map((each) => ({ ...each, name: `$&-${each.name}` }));
    const classes = classifyHosts(hosts, [demo.lock]);
    const data = told(demo, hosts, coverReport(demo, hosts), {});
    const { imagesFor, whyNot: ask } = answersOf(data.now, classes, optionsOf(data.question));
    const texts = classes.flatMap((_, place) =>
      imagesFor(place).rejected.flatMap(({ message, cells: [cell = ""] }) => [
        message,
        ...ask(place, cell).reasons.flatMap((reason) => [reason.message, reason.fix]),
      ]),
    );
    expect(texts.join("\n")).not.toMatch(/this host|the image's cell/);
    expect(texts.join("\n")).toMatch(/ to cell \S+/);
    expect(texts.join("\n")).toContain("$&-");
  });

  it("is the report, and the changed hosts and fleet with it", () => {
    const { fleet, hosts } = teamFleet();
    const texts = ["driver=580.95.05", "drop:cuda=12.4.1"];
    const report = coverReport(fleet, hosts, { whatIf: texts, check: ["every host served"] });
    const data = told(fleet, hosts, report, {});
    const without = (classes: typeof report.classes) => classes.map(({ others: _, ...each }) => each);
    const { whatIf, ...now } = report;
    if (whatIf === undefined || data.after === null) throw new Error("nothing was changed");
    expect(data.report).toEqual({
      ...now,
      classes: without(now.classes),
      whatIf: { ...whatIf, after: { ...whatIf.after, classes: without(whatIf.after.classes) } },
    });
    const { imagesFor } = answersOf(data.after, whatIf.after.classes, optionsOf(data.question));
    const changes = parseChanges(texts);
    const changed = changeFleet(fleet.lock, changes);
    for (const [place, { names, match }] of whatIf.after.classes.entries()) {
      const host = hosts.find(({ name }) => name === names[0]);
      if (host === undefined) throw new Error(`no ${names[0]}`);
      const [first] = imagesFor(place).fits;
      expect(first?.cell ?? null).toBe(match?.cell ?? null);
      expect(first?.cell).toBe(rankImages(changed, changeHost(host.facts, changes)).ranked[0]?.cell);
    }
  });

  it("holds no serial number and nothing of how images were built", () => {
    const { fleet, hosts } = teamFleet();
    const text = pack(pageData(fleet, hosts, coverReport(fleet, hosts), {}));
    expect(JSON.stringify(hosts)).toContain("GPU-secret-0");
    expect(text).not.toContain("GPU-secret");
    expect(text).not.toContain("00000000:17");
  });
});
