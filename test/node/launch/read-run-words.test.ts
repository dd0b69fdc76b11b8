import { execFileSync } from "node:child_process";
import { describe, expect, it, test } from "vitest";
import { readRunWords } from "../../../src/node/launch/read-run-words.ts";
import { needs } from "../../support/needs.ts";
import { whyNot } from "../../support/programs.ts";

const reference = "registry.example.com/team/app:1.0";

describe("the words of run", () => {
  test.each([
    ["", undefined, ""],
    [reference, reference, ""],
    [`-v /data:/data ${reference}`, reference, "-v /data:/data"],
    [`${reference} -v /data:/data`, reference, "-v /data:/data"],
    [`-it ${reference}`, reference, "-it"],
    [`-itv /a:/b ${reference}`, reference, "-itv /a:/b"],
    [`-p8080:80 -eA=b ${reference}`, reference, "-p8080:80 -eA=b"],
    [`--name=x --init ${reference}`, reference, "--name=x --init"],
    [`--init=false --network host`, undefined, "--init=false --network host"],
    [`-e -x ${reference}`, reference, "-e -x"],
  ])("%s", (line, expected, options) => {
    const words = readRunWords(line.split(" ").filter(Boolean));
    expect([words.reference, words.options.join(" ")]).toEqual([expected, options]);
  });

  test.each([
    ["--pinn cuda=12", "--pinn is an option neither of imgmatch run nor"],
    ["-X 1", "-X is an option neither"],
    ["--cidfile /tmp/id", "--cidfile is an option neither"],
    ["-v", "-v has no value"],
    ["a:1 b:2", "a:1 and b:2: run takes one reference"],
  ])("refuses %s", (line, message) => {
    expect(() => readRunWords(line.split(" "))).toThrowError(
      expect.objectContaining({ code: "USAGE", message: expect.stringContaining(message) }),
    );
  });
});

const whyNoDocker = whyNot("docker", ["run", "--help"], { install: "apt-get install docker.io" });

describe("the options that docker itself names", needs(whyNoDocker), () => {
  it("are read as docker reads them", () => {
    const own = new Set(["help", "gpus", "cidfile"]);
    const lines = execFileSync("docker", ["run", "--help"], { encoding: "utf8" }).matchAll(
      /^ +(?:(-\w), | {4})--([\w-]+)( \S+)? {2}/gm,
    );
    const options = [...lines].filter(([, , name]) => !own.has(name ?? ""));
    expect(options.length).toBeGreaterThan(80);
    for (const [, letter, name, value] of options) {
      for (const word of [`--${name}`, ...(letter === undefined ? [] : [letter])]) {
        const rest = value === undefined ? [] : ["value"];
        expect([word, readRunWords([word, ...rest, reference]).options]).toEqual([word, [word, ...rest]]);
      }
    }
  });
});
