/** AMD's code for a card: what is certain, what is in doubt, and the words for each. */

import { describe, expect, it } from "vitest";
import { checkFit, findMisfits } from "../../../../src/resolve/check-fit.ts";
import { checkAmdCode, checkAmdPresence } from "../../../../src/resolve/rules/amd/amd-gpus.ts";
import { viewHost } from "../../../../src/resolve/host-view.ts";
import { plainPins } from "../../../../src/resolve/pins.ts";
import { amdGpu, amdHost, mi210, mi300x, rx7900 } from "../../support/hosts.ts";
import { rocmImage } from "../../support/locks.ts";

const unknown = { ...mi210, sramecc: null };
const refused = (code: readonly string[], gpus: Parameters<typeof amdHost>[0], compute = code.join(",")) => {
  const view = viewHost(amdHost(gpus)).amd;
  const found = checkAmdCode({ code, compute, xnack: false }, view?.gpus ?? []);
  if (!("ok" in found)) throw new Error(`it runs ${JSON.stringify(found)}`);
  return [found.code, found.message, ...found.cures.map(({ text, remedy }) => [text, remedy])];
};
const cell = (target: string) => [
  `add compute=${target} to the image's cell`,
  { kind: "cell", axes: { compute: target } },
];

describe("no code", () => {
  it("names the first card, and what to add for all that have none", () => {
    expect(refused([], [rx7900])).toEqual([
      "NO_GPU_CODE",
      "has no GPU code, none of which runs on GPU 0 (AMD Radeon RX 7900 XTX), gfx1100",
      cell("gfx1100"),
    ]);
    expect(refused(["gfx906"], [rx7900, mi300x, rx7900]).slice(2)).toEqual([
      ["add compute=[gfx1100, gfx942] to the image's cell", null],
    ]);
    expect(refused(["gfx1100"], [rx7900, mi300x, mi300x]).slice(2)).toEqual([
      cell("gfx942"),
      ["hide these GPUs", null],
    ]);
    expect(refused(["gfx906"], [{ ...rx7900, target: null }]).slice(0, 2)).toEqual([
      "NO_GPU_CODE",
      "has gfx906, the target of GPU 0 (AMD Radeon RX 7900 XTX) is unknown",
    ]);
    expect(refused(["gfx906"], [{ ...rx7900, target: null }, mi300x])[1]).toMatch(/the target of GPU 0 /);
  });

  it("names the state that the nearest code is for, whatever the order of the code", () => {
    for (const code of [
      ["gfx90a:sramecc-", "gfx90a:xnack+"],
      ["gfx90a:xnack+", "gfx90a:sramecc-"],
    ])
      expect(refused(code, [mi210])[1]).toMatch(/; gfx90a:sramecc- is for cards with sramecc off$/);
    expect(refused(["gfx90a:glow+"], [mi210])[1]).toMatch(/is for a state that this imgmatch does not know$/);
    expect(refused(["gfx90a:xnack-", "gfx90a:sramecc-"], [mi300x])[1]).not.toContain(" is for ");
    expect(refused(["gfx1250:xnack-"], [amdGpu({ target: "gfx1250" })])[1]).toMatch(
      /; gfx1250:xnack- is for processes with xnack off$/,
    );
  });

  it("may be code that a pin asks for", () => {
    const pinned = [
      "pin compute=gfx90a:xnack+ where its programs run with HSA_XNACK=1",
      { kind: "pins", set: { compute: "gfx90a:xnack+" }, drop: [] },
    ];
    expect(refused(["gfx90a:xnack+"], [mi210]).slice(2)).toEqual([pinned, cell("gfx90a")]);
    // The axis does not say it, or it would not be enough.
    expect(refused(["gfx90a:xnack+"], [mi210], "gfx90a").slice(2)).toEqual([cell("gfx90a")]);
    expect(refused(["gfx90a:xnack+:sramecc-"], [mi210]).slice(2)).toEqual([cell("gfx90a")]);
    const pins = plainPins({ compute: "gfx90a:sramecc-:xnack+" });
    const asked = checkFit(rocmImage(["gfx90a:sramecc-:xnack+"]), amdHost([mi210]), { pins });
    expect(asked).toMatchObject({ ok: false, code: "NO_GPU_CODE" });
    expect(asked.ok ? "" : asked.fix).not.toContain("HSA_XNACK");
  });
});

describe("a doubt", () => {
  const doubt = [
    "FACT_UNKNOWN",
    "needs to know amd.gpus[].sramecc of GPU 0 (AMD Instinct MI210) for its gfx90a:sramecc+: the facts do not have it",
    ["add amd.gpus[].sramecc of GPU 0 (AMD Instinct MI210) to the facts of the host", null],
    cell("gfx90a"),
  ];

  it("is told as one, also beside code that is for another state", () => {
    expect(refused(["gfx90a:sramecc+"], [unknown])).toEqual(doubt);
    expect(refused(["gfx90a:sramecc+", "gfx90a:xnack+"], [unknown])).toEqual(doubt);
  });

  it("is none where the code is for another state of xnack, too", () => {
    for (const code of ["gfx90a:sramecc+:xnack+", "gfx90a:xnack+:sramecc+"])
      expect(refused([code], [unknown]).slice(0, 2)).toEqual([
        "NO_GPU_CODE",
        `has ${code}, none of which runs on GPU 0 (AMD Instinct MI210), gfx90a; ${code} is for processes with xnack on`,
      ]);
  });

  it("comes after a certain no of another card", () => {
    expect(refused(["gfx90a:sramecc+"], [unknown, rx7900])[1]).toBe(
      "has gfx90a:sramecc+, none of which runs on GPU 1 (AMD Radeon RX 7900 XTX), gfx1100",
    );
    expect(refused(["gfx90a:sramecc+", "gfx942:xnack+"], [unknown, mi300x])[1]).toMatch(
      /runs on GPU 1 \(AMD Instinct MI300X\), gfx942; gfx942:xnack\+ is for processes with xnack on$/,
    );
    expect(refused(["gfx90a:sramecc+"], [rx7900, unknown])[1]).toMatch(
      /runs on GPU 0 \(AMD Radeon RX 7900 XTX\), gfx1100$/,
    );
  });
});

it("says nothing of code where the target of a card is not known", () => {
  const found = findMisfits(rocmImage(["gfx906"]), viewHost(amdHost([{ ...rx7900, target: null }])));
  expect(found.map(({ code }) => code)).toEqual(["FACT_UNKNOWN"]);
});

it.each<readonly [kernel: string | null, release: string, unsupported: boolean]>([
  ["6.18.4", "7.1", true],
  // A distribution may have put the fixes into an older kernel.
  ["6.8.0", "7.2.0", false],
  ["6.8.0", "7.1", false],
  ["6.18.4", "7.2.0", false],
  [null, "7.1", false],
])("knows whether AMD says no to the card under Linux %s with ROCm %s", (kernel, release, unsupported) => {
  const host = amdHost([amdGpu({ target: "gfx1151" })], null, { kernel });
  const verdict = checkFit(rocmImage(["gfx1151"], release), host);
  expect(verdict.ok && verdict.code.map((fit) => fit.unsupported ?? false)).toEqual([unsupported]);
});

it("needs a driver, and says so of a host whose cards nothing lists", () => {
  const found = checkAmdPresence({
    amd: { driver: null, hasDriver: false, gpus: [], besides: [] },
    broken: [],
    otherProblems: [],
  });
  expect(found).toMatchObject({
    code: "NO_AMD_DRIVER",
    message: "needs the amdgpu driver, this host has an AMD GPU without one",
  });
});
