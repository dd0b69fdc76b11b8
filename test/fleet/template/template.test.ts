import { describe, expect, test } from "vitest";
import { formatProblem, ImgmatchError } from "../../../src/errors.ts";
import { compileTemplate } from "../../../src/fleet/template/template.ts";
import type { TemplateView } from "../../../src/fleet/template/view.ts";

const view: TemplateView = {
  name: "app",
  version: "1.0",
  repository: "registry.example.com/team/app",
  cell: "12.8.1_9.0-ptx_x86-64-v3",
  platform: "linux/amd64",
  architecture: "amd64",
  base: { build: "gcc:14", run: "debian:12" },
  accel: { name: "cuda", short: "cu128" },
  rocm: null,
  cuda: {
    toolkit: "12.8.1",
    major: "12",
    minor: "12.8",
    short: "cu128",
    driver: { mode: "host", version: null },
  },
  gpu: {
    targets: ["sm_90", "compute_90"],
    gencode: "'-gencode=arch=compute_90,code=[sm_90,compute_90]'",
    cmake: "90",
    torch: "9.0+PTX",
  },
  march: { name: "x86-64-v3", flags: "-march=x86-64-v3", without: [] },
  axes: { march: "x86-64-v3" },
  args: {},
  tensorflow: "1.12",
};
const cpuView: TemplateView = { ...view, cuda: null, gpu: null };

const render = (text: string, given = view) => compileTemplate(text, "app.hbs").render(given);

function report(text: string, given = view): string {
  try {
    return `rendered ${JSON.stringify(render(text, given))}`;
  } catch (error) {
    if (error instanceof ImgmatchError) return error.problems.map(formatProblem).join("\n");
    throw error;
  }
}

describe("what a template may say", () => {
  test.each([
    ["{{name}} {{march.flags}} {{base.run}}", "app -march=x86-64-v3 debian:12"],
    ["{{#if gpu}}gpu{{else}}cpu{{/if}}", "gpu"],
    ["{{#unless gpu}}cpu{{/unless}}", ""],
    ['{{#if (eq march.name "x86-64-v3")}}v3{{/if}}', "v3"],
    ['{{#if (ne march.name "x86-64-v3")}}other{{else}}v3{{/if}}', "v3"],
    ['{{#if (and gpu (not (eq cuda.major "11")))}}new{{/if}}', "new"],
    ['{{#if (or (eq cuda.major "11") (includes gpu.targets "sm_90"))}}yes{{/if}}', "yes"],
    ['{{#if (includes gpu.targets "sm_9")}}x{{else}}whole names only{{/if}}', "whole names only"],
    ['{{#if (includes march.name "-v3")}}part of a text{{/if}}', "part of a text"],
    ["{{not gpu}} {{and name version}}", "false true"],
    ['{{join (dotted gpu.targets) " "}} {{join (dotted (sm gpu.targets)) " "}}', "9.0+PTX 9.0"],
    ['{{join (cmake gpu.targets) ";"}} {{join (cmake (sm gpu.targets)) ";"}}', "90 90-real"],
    [
      '{{join (gencode gpu.targets) " "}}',
      "-gencode=arch=compute_90,code=sm_90 -gencode=arch=compute_90,code=compute_90",
    ],
    ['{{sm gpu.targets}} {{join march.without ";"}} {{join name ";"}}', "sm_90  app"],
    ["{{#each (sm gpu.targets)}}<{{this}}>{{/each}}", "<sm_90>"],
    ['{{#if (includes (sm gpu.targets) "sm_90")}}yes{{/if}}', "yes"],
    ['{{join (sm "9.0a+PTX") ";"}}', "sm_90a"],
    ['{{#if (eq cuda.major "11")}}11{{else if (eq cuda.major "12")}}12{{/if}}', "12"],
    ["{{#each gpu.targets}}{{#unless @first}}+{{/unless}}{{this}}{{/each}}", "sm_90+compute_90"],
    ["{{#each axes}}{{@key}}={{this}}{{/each}}", "march=x86-64-v3"],
    ["{{#each march.without}}{{this}}{{else}}nothing{{/each}}", "nothing"],
    [
      "{{#with cuda}}{{toolkit}} on {{../march.name}} of {{@root.name}}{{/with}}",
      "12.8.1 on x86-64-v3 of app",
    ],
    ["{{#each gpu.targets as |target index|}}{{index}}{{target}} {{/each}}", "0sm_90 1compute_90 "],
    ["{{#each axes as |v k|}}{{k}}={{v}}{{/each}}", "march=x86-64-v3"],
    ["{{#with cuda as |c|}}{{c.driver.mode}}{{/with}}", "host"],
    ["{{#each gpu.targets as |name|}}{{name}}{{../name}} {{/each}}", "sm_90app compute_90app "],
    [
      "{{#each gpu.targets}}{{#each ../axes}}{{@../index}}{{@key}}{{this}} {{/each}}{{/each}}",
      "0marchx86-64-v3 1marchx86-64-v3 ",
    ],
    ["{{#each gpu.targets}}{{#if (eq @index 0)}}first{{/if}}{{/each}}", "first"],
    ["{{#each args as |v|}}{{v.label}}{{/each}}", ""],
    ["{{^if gpu}}cpu{{else}}gpu{{/if}}", "gpu"],
    ["{{eq name 'app'}}", "true"],
    ["{{!-- a comment --}}\n{{cuda.driver.mode}}{{#if cuda.driver.version}}!{{/if}}\n", "host\n"],
    ["\\{{name}}", "{{name}}"],
    ["a\r\n{{name}}\r\n", "a\napp\n"],
  ])("%s", (text, expected) => expect(render(text)).toBe(expected));

  test("what a cell does not have cannot be printed", () => {
    const cpuRow = { ...view, cell: "none_x86-64-v3", cuda: null, base: null };
    expect(render("{{#if cuda}}CUDA{{else}}CPU{{/if}}", cpuRow)).toBe("CPU");
    expect(render('{{#if (and cuda (eq cuda.major "12"))}}12{{else}}CPU{{/if}}', cpuRow)).toBe("CPU");
    expect(render('{{#if (or (not cuda) (eq cuda.major "12"))}}yes{{/if}}', cpuRow)).toBe("yes");
    expect(() => render("FROM {{base}}\n", cpuRow)).toThrow(
      /:1:\d+: TEMPLATE_UNKNOWN_NAME: the template prints "base", which cell none_x86-64-v3 does not have/,
    );
    expect(() => render("FROM x\nRUN {{cuda}}\n", cpuRow)).toThrow(
      /:2:\d+: .*\n.*\n.*\n {2}fix: put it into {{#if cuda}}/,
    );
  });

  test("nothing is escaped for HTML", () => {
    expect(
      render("{{gpu.gencode}} {{{name}}} {{tensorflow}}", { ...view, tensorflow: `<a & "b" 'c' =>` }),
    ).toBe(`'-gencode=arch=compute_90,code=[sm_90,compute_90]' app <a & "b" 'c' =>`);
  });
});

describe("an unknown name is an error with its place", () => {
  test.each([
    ["{{nam}}", "nam"],
    ["FROM a\nRUN {{march.flgs}}", "march.flgs"],
    ["{{#if missing}}x{{/if}}", "missing"],
    ["{{#unless missing}}x{{/unless}}", "missing"],
    ["{{#each missing}}x{{/each}}", "missing"],
    ["{{#with missing}}x{{/with}}", "missing"],
    ["{{#if march.nam}}x{{/if}}", "march.nam"],
    ["{{#if (eq tensrflow 1)}}x{{/if}}", "tensrflow"],
    ["{{#with march}}{{name}}{{flaks}}{{/with}}", "flaks"],
    ["{{#each gpu.targets}}{{name}}{{/each}}", "name"],
    ["{{tensorflow.version}}", "tensorflow.version"],
    ["{{#if tensorflow.version}}x{{/if}}", "tensorflow.version"],
    ["{{gpu.targets.[7]}}", "gpu.targets.7"],
    ["{{@foo}}", "@foo"],
    ["{{#if @foo}}x{{/if}}", "@foo"],
    ["{{constructor}}", "constructor"],
    ["{{#each axes as |v|}}{{v.label}}{{/each}}", "v.label"],
    ["{{#each axes as |v|}}{{#if v.label}}x{{/if}}{{/each}}", "v.label"],
    ["{{#each axes as |v k|}}{{k.x}}{{/each}}", "k.x"],
    ["{{#with cuda as |c|}}{{c.tolkit}}{{/with}}", "c.tolkit"],
    ["{{#with cuda as |c|}}{{#with driver}}{{c.driver.mood}}{{/with}}{{/with}}", "c.driver.mood"],
    ["{{#each axes as |v|}}x{{/each}}{{v}}", "v"],
    ["{{#each axes as |v|}}{{this.v}}{{/each}}", "v"],
    ["{{#each axes as |v|}}{{v.constructor}}{{/each}}", "v.constructor"],
    ["{{#each gpu.targets}}{{this.foo}}{{/each}}", "foo"],
    ["{{#each gpu.targets}}{{../nam}}{{/each}}", "../nam"],
    ["{{../name}}", "../name"],
    ["{{#if ../name}}x{{/if}}", "../name"],
    ["{{@root.nam}}", "@root.nam"],
    ["{{#if @root.nam}}x{{/if}}", "@root.nam"],
    ["{{@root.constructor}}", "@root.constructor"],
    ["{{@index}}", "@index"],
    ["{{#if @index}}x{{/if}}", "@index"],
    ["{{#with cuda}}{{@key}}{{/with}}", "@key"],
    ["{{#each axes}}{{@index.foo}}{{/each}}", "@index.foo"],
    ["{{#each axes}}{{@../index}}{{/each}}", "@../index"],
    ["{{#each gpu.targets.foo}}x{{/each}}", "gpu.targets.foo"],
    ["{{this.nam}}", "nam"],
    ["{{./nam}}", "nam"],
    ["{{axes.__proto__}}", "axes.__proto__"],
    ["{{#with axes}}{{constructor.name}}{{/with}}", "constructor"],
    ["{{args.foo}}", "args.foo"],
    ["{{#if (eq axes.foo 'x')}}x{{/if}}", "axes.foo"],
    ["{{#if length}}x{{/if}}", "length"],
    ["{{__proto__}}", "__proto__"],
    ["{{toString}}", "toString"],
    ["{{axes.hasOwnProperty}}", "axes.hasOwnProperty"],
  ])("%s", (text, name) => {
    expect(report(text)).toMatch(/^app\.hbs:\d+:\d+: TEMPLATE_UNKNOWN_NAME: /);
    expect(report(text)).toContain(`the template names "${name}", which does not exist`);
  });

  test("the report shows the line, and what there is", () => {
    expect(report("FROM {{base.run}}\nRUN make {{march.flgs}}\n")).toBe(
      [
        'app.hbs:2:12: TEMPLATE_UNKNOWN_NAME: the template names "march.flgs", which does not exist',
        "  RUN make {{march.flgs}}",
        "             ^",
        "  fix: did you mean flags? here are name, flags, without",
      ].join("\n"),
    );
  });

  test("what a CPU-only row does not have must be asked for first", () => {
    expect(report("{{#if cuda}}{{cuda.toolkit}}{{/if}}", cpuView)).toBe('rendered ""');
    for (const text of ["{{cuda.toolkit}}", "{{#if cuda.toolkit}}{{/if}}"]) {
      expect(report(text, cpuView)).toContain(
        "fix: cell 12.8.1_9.0-ptx_x86-64-v3 has no cuda: put it into {{#if cuda}}…{{/if}}",
      );
    }
  });
});

describe("what is no template is an error with its place", () => {
  test.each<[string, string]>([
    ["FROM a\n{{#if gpu}}\nRUN b\n", "app.hbs:4: TEMPLATE_SYNTAX: the template ends inside a block"],
    ["FROM a\n{{name", "app.hbs:2: TEMPLATE_SYNTAX: no template: a {{…}} cannot be read here"],
    ["{{#if gpu}}x{{/each}}", "app.hbs:1:4: TEMPLATE_SYNTAX: {{#if}} ends with {{/each}}"],
    ["a\n  {{> part}}", "app.hbs:2:3: TEMPLATE_SYNTAX: partials are not available here"],
    ['{{lookup axes "march"}}', 'app.hbs:1:1: TEMPLATE_SYNTAX: unknown helper "lookup"'],
    ["{{log name}}", 'app.hbs:1:1: TEMPLATE_SYNTAX: unknown helper "log"'],
    ["{{#name}}x{{/name}}", 'app.hbs:1:1: TEMPLATE_SYNTAX: unknown helper "name"'],
    ["{{* deco}}", "app.hbs:1:1: TEMPLATE_SYNTAX: blocks of partials and decorators are not available"],
    [
      "{{#> part}}x{{/part}}",
      "app.hbs:1:1: TEMPLATE_SYNTAX: blocks of partials and decorators are not available",
    ],
    [
      "{{#* inline 'x'}}y{{/inline}}",
      "app.hbs:1:1: TEMPLATE_SYNTAX: blocks of partials and decorators are not available",
    ],
    ["{{#if (lookup axes 'x')}}x{{/if}}", 'app.hbs:1:7: TEMPLATE_SYNTAX: unknown helper "lookup"'],
    [
      "{{#if name includeZero=true}}x{{/if}}",
      "app.hbs:1:12: TEMPLATE_SYNTAX: options as in name=value are not available",
    ],
    [
      "{{#each name}}x{{/each}}",
      "app.hbs:1:9: TEMPLATE_SYNTAX: each needs a list or a mapping, name is a text",
    ],
    [
      "{{#if (eq cuda 'x')}}x{{/if}}",
      'app.hbs:1:11: TEMPLATE_SYNTAX: the template compares "cuda", which is no text',
    ],
    [
      "{{#if (eq cuda.major 12)}}x{{/if}}",
      'app.hbs:1:22: TEMPLATE_SYNTAX: eq compares the text "12" with the number 12, which are never equal',
    ],
    ["{{eq name}}", "app.hbs:1:1: TEMPLATE_SYNTAX: eq takes two, here are 1"],
    ["{{join gpu.targets}}", "app.hbs:1:1: TEMPLATE_SYNTAX: join takes two, here are 1"],
    [
      "{{sm name}}",
      'app.hbs:1:6: TEMPLATE_SYNTAX: "app" in name is no GPU target of NVIDIA for cell 12.8.1_9.0-ptx_x86-64-v3',
    ],
    ['{{join cuda ","}}', "app.hbs:1:8: TEMPLATE_SYNTAX: cuda is a mapping, and no list"],
    ["{{#if (not gpu cuda)}}x{{/if}}", "app.hbs:1:7: TEMPLATE_SYNTAX: not takes one, here are 2"],
    ["{{#if (and gpu)}}x{{/if}}", "app.hbs:1:7: TEMPLATE_SYNTAX: and takes 2 or more, here are 1"],
    [
      "{{#if (includes cuda 'x')}}x{{/if}}",
      "app.hbs:1:17: TEMPLATE_SYNTAX: includes needs a list or a text, cuda is a mapping",
    ],
    [
      "{{#if (and gpu (eq march.flag 'x'))}}x{{/if}}",
      'app.hbs:1:20: TEMPLATE_UNKNOWN_NAME: the template names "march.flag", which does not exist',
    ],
    ["{{'text'}}", "app.hbs:1:1: TEMPLATE_SYNTAX: a {{…}} that names nothing"],
    ["{{#if}}x{{/if}}", "app.hbs:1:4: TEMPLATE_SYNTAX: if needs exactly one name"],
    ["FROM {{base}}", 'app.hbs:1:8: TEMPLATE_SYNTAX: the template prints "base", which is no text'],
    ["{{this}}", 'app.hbs:1:3: TEMPLATE_SYNTAX: the template prints "this", which is no text'],
  ])("%s", (text, expected) => {
    expect(report(text).split("\n")[0]).toBe(expected);
    expect(report(text)).toContain("  fix: ");
  });

  test("helpers that do not exist are all reported at once", () => {
    expect(report("{{a b}}\n{{c d}}").match(/unknown helper/g)).toHaveLength(2);
  });

  test.each([
    ['{{#if eq name "b"}}x{{/if}}', '{{#if (eq name "b")}}'],
    ['{{#unless eq name "b"}}x{{/unless}}', '{{#unless (eq name "b")}}'],
    ['{{#if gpu}}{{else if eq name "b"}}x{{/if}}', '{{#if (eq name "b")}}'],
    ['{{#if name == "b"}}x{{/if}}', '{{#if (eq name "b")}}'],
    ["{{#if name = 'b'}}x{{/if}}", "{{#if (eq name 'b')}}"],
    ['{{#if gpu}}{{else if name == "b"}}x{{/if}}', '{{else if (eq name "b")}}'],
    ['{{#if name "b"}}x{{/if}}', '{{#if (eq name "b")}}'],
    ["{{#if not gpu}}x{{/if}}", "{{#if (not gpu)}}"],
    ['{{#if ne name "b"}}x{{/if}}', '{{#if (ne name "b")}}'],
  ])("%s is answered with the right form", (text, right) => {
    expect(report(text)).toContain(right);
  });
});

describe("an advice ends the mistake", () => {
  test("a key of args", () => {
    expect(report("{{args.foo}}")).toContain("fix: the matrix has no args: add args: { foo: … } to it");
    expect(report("{{args.foo}}", { ...view, args: { bar: "1" } })).toContain("fix: here are bar");
    expect(report("{{#if name.x}}x{{/if}}")).toContain("fix: name is a text");
  });

  test("a key of a base that is one text, and of no base", () => {
    expect(report("FROM {{base.image}}", { ...view, base: "debian:12" })).toContain(
      "fix: base is a text in cell 12.8.1_9.0-ptx_x86-64-v3: write {{base}}, or give every stage its own base in the matrix: base: { image: … }",
    );
    for (const text of ["FROM {{base.image}}", "FROM {{base}}"])
      expect(report(text, { ...view, base: null })).toContain(
        "fix: add base: to the matrix, or to the values of an axis",
      );
  });
});

describe("a template has limits", () => {
  const nested = (depth: number) => `${"{{#if gpu}}".repeat(depth)}x${"{{/if}}".repeat(depth)}`;
  const chained = (length: number) =>
    `{{#if cuda.driver.version}}${"{{else if cuda.driver.version}}".repeat(length)}{{/if}}`;
  const loops = "{{#each gpu.targets}}".replace("gpu", "@root.gpu");

  test.each([
    ["blocks in blocks", nested(201), "app.hbs:1: INPUT_TOO_LARGE: blocks are nested deeper than 200"],
    ["many more", nested(20_000), "app.hbs:1: INPUT_TOO_LARGE: blocks are nested deeper than 200"],
    ["a chain of choices", chained(200), "app.hbs:1: INPUT_TOO_LARGE: blocks are nested deeper than 200"],
    ["its length", "x".repeat(1024 * 1024 + 1), "INPUT_TOO_LARGE: the template has 1048577 bytes"],
    [
      "loops in loops",
      `${loops.repeat(60)}${"{{/each}}".repeat(60)}`,
      "more than 1000000 statements for cell",
    ],
    [
      "its text",
      `${loops.repeat(12)}${"x".repeat(2000)}${"{{/each}}".repeat(12)}`,
      "more than 4194304 characters",
    ],
  ])("%s", (_, text, expected) => expect(report(text)).toContain(expected));

  test("up to them it renders", () => {
    expect(render(nested(200))).toBe("x");
    expect(render(chained(199))).toBe("");
    expect(render("{{#if gpu}}x{{/if}}".repeat(20_000))).toBe("x".repeat(20_000));
  });
});
