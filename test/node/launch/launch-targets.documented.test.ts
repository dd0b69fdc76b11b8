import { describe, expect, it } from "vitest";
import { problemsOf, readOptions } from "./support/documented.ts";

describe("the check of documented fields", () => {
  const shape = { a: "text", b: [{ c: "whole" }], d: ["text", "number"], e: { "*": "yes or no" } } as const;

  it("passes what is documented", () => {
    expect(problemsOf({ a: "x", b: [{ c: 1 }, { c: 2 }], d: ["y", 0.5], e: { any: true } }, shape)).toEqual(
      [],
    );
  });

  it("names what is not", () => {
    expect(problemsOf({ A: "x", b: [{ c: 0.5 }, { d: 2 }], d: ["y"], e: [] }, shape)).toEqual([
      ".A: no such field",
      ".b[0].c: 0.5 is no whole",
      ".b[1].d: no such field",
      ".d: not 2 long",
      ".e: no object",
    ]);
  });
});

describe("the check of documented options", () => {
  const options = { "--rm": false, "--env": true };

  it("reads both forms of a value, and stops at the first word that is no option", () => {
    expect(readOptions(["--rm", "--env", "A=--b", "--env=C=d", "image", "--e"], options)).toEqual({
      found: [
        { name: "--rm", value: null },
        { name: "--env", value: "A=--b" },
        { name: "--env", value: "C=d" },
      ],
      rest: ["image", "--e"],
    });
  });

  it("knows no other", () => {
    expect(() => readOptions(["--environment=A=b"], options)).toThrow("there is no option --environment");
    expect(() => readOptions(["--rm=2"], options)).toThrow("--rm takes no value");
  });
});
