import { describe, expect, it } from "vitest";
import { readCpu } from "../../../src/host/cpu/cpu-facts.ts";

describe("features that a kernel does not print", () => {
  const riscv = (isa: string, kernel: string | null) =>
    readCpu({ readText: () => `isa : ${isa}\n` }, "riscv64", kernel).facts.features;

  it("are told by i on RISC-V, before Linux 6.5", () => {
    const all = ["a", "c", "d", "f", "i", "m", "zicntr", "zicsr", "zifencei", "zihpm"];
    expect(riscv("rv64imafdc", "6.1.0")).toEqual(all);
    expect(riscv("rv64gc", "6.4.16")).toEqual(all);
    expect(riscv("rv64imafdc", "6.5.0")).toEqual(["a", "c", "d", "f", "i", "m"]);
    expect(riscv("rv64imafdc", null)).toEqual(["a", "c", "d", "f", "i", "m"]);
  });
});
