import { expect, test } from "vitest";
import { type BrokenState, brokenStates } from "../../../src/facts/broken-states.ts";
import { stateChecks } from "../../../src/node/sh/state-checks.ts";

test("a script asks all states that keep CUDA from starting, but one of which nvidia-smi and the device nodes tell nothing", () => {
  expect(stateChecks().unasked.map(({ docs: [state] }) => state)).toEqual([
    "confidential computing is on, and the GPUs are not ready",
    "a vGPU has no licence",
    "under WSL2 the container toolkit is older than the Windows driver",
    "a CDI specification names another driver's libraries",
  ]);
});

test("a row is a line, and a row that is gone is none", () => {
  const count = (states: readonly BrokenState[]) => {
    const { gpustates, allstates, driverstates } = stateChecks(states);
    return [gpustates, allstates, driverstates].join("\n").match(/broken\(/g)?.length ?? 0;
  };
  expect(count(brokenStates)).toBe(brokenStates.length - stateChecks().unasked.length);
  for (const state of brokenStates) {
    const others = brokenStates.filter((each) => each !== state);
    expect(count(others)).toBe(others.length - stateChecks(others).unasked.length);
  }
});

const made = (when: BrokenState["when"], brief = "GPU {gpu}: {value}"): BrokenState => ({
  ...{ code: "HOST_GPU_NOT_READY", when, message: "", fix: "", brief },
  docs: ["", "", "", ""],
});

test("several facts of driver and GPU hold together", () => {
  const both = made([
    { of: "driver", fact: "uvm", is: [false] },
    { of: "gpu", fact: "computeMode", is: ["exclusive", "prohibited"] },
  ]);
  expect(stateChecks([both])).toEqual({
    gpustates:
      'if (uvmfact() == "false" && cell[i, "compute_mode"] ~ /^Exclusive|^Prohibited$/) broken("GPU_NOT_READY", "GPU " idx[i] ": " cell[i, "compute_mode"])',
    ...{ allstates: "", driverstates: "", unasked: [] },
  });
});

test("a row without a reader, without a brief text, or of one GPU beside all is not asked", () => {
  const rows = [
    made([{ of: "gpu", fact: "class", is: ["geforce"] }]),
    made([{ of: "driver", fact: "module", is: ["open"] }]),
    made([
      { of: "gpu", fact: "remapFailed", is: [true] },
      { of: "every gpu", fact: "computeMode", is: ["prohibited"] },
    ]),
    (({ brief: _, ...row }) => row)(made([{ of: "gpu", fact: "mig", is: ["empty"] }])),
  ];
  expect(stateChecks(rows)).toEqual({ gpustates: "", allstates: "", driverstates: "", unasked: rows });
});
