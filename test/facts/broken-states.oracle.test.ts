/** The rows and the oracle name the same states. */

import { expect, test } from "vitest";
import { type BrokenState, withBrokenStates } from "../../src/facts/broken-states.ts";
import {
  computeModes,
  fabricStates,
  type GpuFacts,
  type NvidiaFacts,
  recoveryActions,
} from "../../src/facts/facts.ts";
import { unknownGpu } from "../../src/facts/no-facts.ts";
import { askOracleForStates } from "../properties/oracle.ts";
import { gpuHost } from "../resolve/support/hosts.ts";

const hostOf = (gpus: readonly GpuFacts[], of: Partial<NvidiaFacts>) =>
  gpuHost([...gpus], "580.95.05", "13.0", { nvidiaChange: of });
/** A GPU without name and address is called by its index. */
const named = (gpus: readonly GpuFacts[], of: Partial<NvidiaFacts>) =>
  withBrokenStates(hostOf(gpus, of)).problems.map(
    ({ code, message }) => `${code} ${/GPU ([\d, ]*\d)/.exec(message)?.[1] ?? "all"}`,
  );

function* choices<T extends object>(of: { readonly [Key in keyof T]: readonly T[Key][] }): Generator<T> {
  const entries = Object.entries<readonly unknown[]>(of);
  const count = entries.reduce((product, [, values]) => product * values.length, 1);
  for (let index = 0; index < count; index++) {
    let left = index;
    yield Object.fromEntries(
      entries.flatMap(([key, values]) => {
        const value = values[left % values.length];
        left = Math.floor(left / values.length);
        return value === undefined ? [] : [[key, value]];
      }),
    ) as T;
  }
}

test("of each GPU, alone and beside others, and of each driver", () => {
  const states = {
    fabric: [undefined, ...fabricStates],
    mig: [undefined, null, [], [{ uuid: "MIG-1", profile: "3g.40gb" }]],
    computeMode: [undefined, ...computeModes],
    recovery: [undefined, ...recoveryActions],
    remapFailed: [undefined, true, false],
  };
  const drivers = [{}, { uvm: false }, { uvm: true, ready: false }, { ready: true }];
  const second: readonly Partial<GpuFacts>[] = [
    {},
    { computeMode: "prohibited", recovery: "reboot" },
    { fabric: "failed", mig: [], remapFailed: true },
  ];
  let count = 0;
  for (const change of choices<Partial<GpuFacts>>(states as never)) {
    const first = { ...unknownGpu(0), ...change };
    const of = drivers[count % drivers.length] ?? {};
    const beside = second[count++ % second.length];
    for (const gpus of [[first], [first, { ...unknownGpu(1), ...beside }]]) {
      const wanted = askOracleForStates({ ...hostOf(gpus, of).nvidia, ...of, gpus } as NvidiaFacts);
      expect(named(gpus, of), JSON.stringify([gpus, of])).toEqual(wanted);
    }
  }
  expect(count).toBe(6 * 4 * 4 * 7 * 3);
  for (const of of drivers) expect(named([], of)).toEqual([]);
});

test("a row may join facts of the driver with facts of a card, and its cure may depend on the value", () => {
  const row: BrokenState = {
    code: "HOST_GPU_NOT_READY",
    when: [
      { of: "gpu", fact: "computeMode", is: ["exclusive", "prohibited"] },
      { of: "gpu", fact: "remapFailed", is: [true] },
      { of: "driver", fact: "module", is: ["open"] },
    ],
    message: "{values} on {gpus}",
    fix: { prohibited: "first -i {indexes}", exclusive: "then {driver}" },
    docs: ["", "", "", ""],
  };
  const gpus = (["exclusive", "prohibited", "prohibited"] as const).map((computeMode, index) => ({
    ...unknownGpu(index),
    ...{ computeMode, remapFailed: true },
  }));
  const problems = (module: "open" | "proprietary", of = gpus) =>
    withBrokenStates(hostOf(of, { module }), [row]).problems;
  expect(problems("open")).toEqual([
    { code: "HOST_GPU_NOT_READY", message: "prohibited on 1, 2", fix: "first -i 1,2" },
    { code: "HOST_GPU_NOT_READY", message: "exclusive on 0", fix: "then , 580.95.05," },
  ]);
  expect(problems("proprietary")).toEqual([]);
  expect(
    problems(
      "open",
      gpus.map((gpu) => ({ ...gpu, remapFailed: false })),
    ),
  ).toEqual([]);
});
