/**
 * Programs in Go that ask the CPU, and refuse or choose, on emulated CPUs: none that dies is told to run, and one that chooses runs. Needs Go,
 * qemu-x86_64 and qemu-aarch64 (Debian: golang, qemu-user), and the packages that `.ci/provide go-packages` fetches.
 */

import { execFileSync, spawnSync } from "node:child_process";
import { cpSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { imageVerdicts, openWild } from "../../bench/wild/compare.ts";
import { makeFolder } from "../support/folders.ts";
import { needs } from "../support/needs.ts";
import { whyNot, whyNoEmulator } from "../support/programs.ts";

const packages = process.env.IMGMATCH_GO_PACKAGES;
const missing =
  (packages === undefined
    ? "no Go packages (IMGMATCH_GO_PACKAGES=/folder, as .ci/provide go-packages fills it)"
    : null) ??
  whyNot("go", ["version"], { install: "apt-get install golang" }) ??
  whyNoEmulator("x86_64") ??
  whyNoEmulator("aarch64");

const fleets = {
  amd64: { platform: "linux/amd64", emulator: "qemu-x86_64", models: ["qemu64", "Nehalem", "Haswell"] },
  arm64: { platform: "linux/arm64", emulator: "qemu-aarch64", models: ["cortex-a72", "neoverse-n1", "max"] },
} as const;

const asked = {
  amd64: ["cpu.X86.HasAVX2", "cpu.X86.HasFMA"],
  arm64: ["cpu.ARM64.HasATOMICS", "cpu.ARM64.HasSVE"],
};

const needsFirst = `func main() {
	if !FIRST { fmt.Fprintln(os.Stderr, "this CPU is too old"); os.Exit(1) }
	fmt.Println(len(os.Args))
}`;
const refusing: readonly (readonly [string, string])[] = [
  ["in main", needsFirst],
  ["by a panic", needsFirst.replace(/fmt.Fprintln.*Exit\(1\)/, 'panic("too old")')],
  ["by log", needsFirst.replace(/fmt.Fprintln.*Exit\(1\)/, 'log.Fatalf("too old: %d", len(os.Args))')],
  [
    "in an init",
    `func init() {\n\tif !FIRST || !SECOND { os.Exit(1) }\n}\nfunc main() { fmt.Println(len(os.Args)) }`,
  ],
  ["by a variable", `var able = FIRST && SECOND\n${needsFirst.replace("FIRST", "able")}`],
  [
    "by an error",
    `type app struct { n int }
//go:noinline
func (a *app) check() error { if !FIRST { return fmt.Errorf("no FIRST: %d", a.n) }; return nil }
//go:noinline
func (a *app) run() error { if err := a.check(); err != nil { return fmt.Errorf("run: %w", err) }; fmt.Println(a.n); return nil }
func main() {
	a := &app{len(os.Args)}
	if err := a.run(); err != nil { log.Fatal(err) }
}`,
  ],
];
const pairs = `{"one", FIRST}, {"two", SECOND}`;
const looking = `{ if !each.ok { log.Fatalf("no %s", each.name) } }\n\tfmt.Println(len(os.Args))\n}`;
/** What is refused in ways that lead through lists, and whether the list is read row by row. */
const listing: readonly (readonly [string, string, boolean])[] = [
  [
    "a loop over a list",
    `func main() {\n\tfor _, each := range []struct { name string; ok bool }{${pairs}} ${looking}`,
    true,
  ],
  [
    "a loop over a variable of the package",
    `var list = []struct { name string; ok bool }{${pairs}}\nfunc main() {\n\tfor _, each := range list ${looking}`,
    true,
  ],
  [
    "a loop over the places of answers",
    `var list = []struct { name string; ok *bool }{${pairs.replaceAll(", ", ", &").replace("}, &{", "}, {")}}
func main() {\n\tfor _, each := range list ${looking.replace("each.ok", "*each.ok")}`,
    true,
  ],
  [
    "a map",
    `func main() {
	for name, ok := range map[string]bool{${pairs.replaceAll(/\{("\w+"), (\w+)\}/g, "$1: $2")}} { if !ok { log.Fatal(name) } }
	fmt.Println(len(os.Args))
}`,
    false,
  ],
  [
    "a goroutine",
    `func main() {
	done, need := make(chan bool), os.Getenv("NEED") == ""
	go func() { if need && !FIRST { log.Fatal("too old") }; done <- true }()
	<-done
	fmt.Println(len(os.Args))
}`,
    false,
  ],
  [
    "a goroutine that sends an error",
    `func main() {
	failed := make(chan error, 1)
	go func() { if !FIRST { failed <- errors.New("too old"); return }; failed <- nil }()
	if err := <-failed; err != nil { log.Fatal(err) }
	fmt.Println(len(os.Args))
}`,
    false,
  ],
  [
    "a function that runs once",
    `var once sync.Once
func main() {
	once.Do(func() { if !FIRST { log.Fatal("too old") } })
	fmt.Println(len(os.Args))
}`,
    false,
  ],
  [
    "a list of what is missing",
    `func missing() []string {
	var names []string
	for _, each := range []struct { name string; ok bool }{${pairs}} { if !each.ok { names = append(names, each.name) } }
	return names
}
func main() {
	if names := missing(); len(names) > 0 { fmt.Fprintln(os.Stderr, "missing:", names); os.Exit(1) }
	fmt.Println(len(os.Args))
}`,
    true,
  ],
  [
    "a long function, three calls deep",
    `type app struct { n int; name string }
//go:noinline
func able(n int) error {
	${[70, 71, 72, 73, 74, 75].map((n) => `if n == ${n} { return fmt.Errorf("%d is ${n}: %s", n, os.Args[0]) }`).join("\n\t")}
	if !FIRST { return fmt.Errorf("no FIRST: %d of %s", n, os.Args[0]) }
	if !SECOND { return fmt.Errorf("no SECOND: %d of %s", n, os.Args[0]) }
	return nil
}
//go:noinline
func (a *app) prepare() error { if err := able(a.n); err != nil { return fmt.Errorf("%s: %w", a.name, err) }; return nil }
//go:noinline
func run(args []string) error {
	a := &app{len(args), args[0]}
	if err := a.prepare(); err != nil { return err }
	file, err := os.Open("/dev/null")
	if err != nil { return err }
	fmt.Println(a.n)
	return file.Close()
}
func main() { if err := run(os.Args); err != nil { log.Print(err); os.Exit(1) } }`,
    true,
  ],
];
/** Other code may write over what decides. */
const written: readonly (readonly [string, string])[] = [
  [
    "that an option sets",
    `var able = FIRST
//go:noinline
func set(args []string) { if len(args) > 0 { able = true } }
func main() { set(os.Args); if !able { os.Exit(1) }; fmt.Println(len(os.Args)) }`,
  ],
  [
    "in a list that another function cuts",
    `var list = []struct { name string; ok *bool }{${pairs.replaceAll(", ", ", &").replace("}, &{", "}, {")}}
//go:noinline
func cut(args []string) { if len(args) > 0 { list = list[:0] } }
func main() { cut(os.Args); for _, each := range list ${looking.replace("each.ok", "*each.ok")}`,
  ],
  [
    "in a list whose rows another function writes",
    `var list = []struct { name string; ok bool }{${pairs}}
//go:noinline
func force(args []string) { for i := range list { if len(args) > 0 { list[i].ok = true } } }
func main() { force(os.Args); for _, each := range list ${looking}`,
  ],
];
const choosing: readonly (readonly [string, string])[] = [
  [
    "in a goroutine and once",
    `var once sync.Once
func main() {
	failed := make(chan error, 1)
	go func() { if FIRST { fmt.Println("fast") }; _, err := os.Stat("/"); failed <- err }()
	if err := <-failed; err != nil { log.Fatal(err) }
	once.Do(func() { if SECOND { fmt.Println("faster") } })
	fmt.Println(len(os.Args))
}`,
  ],
  [
    "in main",
    `//go:noinline
func fast(n int) int { return n * 3 }
func main() {
	if len(os.Args) == 9 { os.Exit(2) }
	if FIRST { fmt.Println(fast(len(os.Args))) } else { fmt.Println(len(os.Args) + len(os.Args) + len(os.Args)) }
}`,
  ],
  [
    "in a list",
    `var list = []struct { ok bool; f func(int) int }{{FIRST, func(n int) int { return n * 3 }}, {SECOND, func(n int) int { return n + n }}, {true, func(n int) int { return n }}}
func main() {
	var have []string
	if FIRST { have = append(have, "one") }
	fmt.Println("features:", have, SECOND)
	for _, each := range list { if each.ok { fmt.Println(each.f(len(os.Args))); break } }
	file, err := os.Open("/dev/null")
	if err != nil { log.Fatal(err) }
	if err := file.Close(); err != nil { log.Fatal(err) }
}`,
  ],
  [
    "in an init",
    `var work func(int) int
func init() { work = func(n int) int { return n + 1 }; if FIRST && SECOND { work = func(n int) int { return n * 3 } } }
func main() {
	if len(os.Args) == 9 { os.Exit(2) }
	fmt.Println(work(len(os.Args)))
}`,
  ],
];

type Architecture = keyof typeof fleets;

async function judge(architecture: Architecture, text: string, options: readonly string[]) {
  const { platform, emulator, models } = fleets[architecture];
  const [first = "", second = ""] = asked[architecture];
  const body = text.replaceAll("FIRST", first).replaceAll("SECOND", second);
  const imports = [
    "errors",
    "fmt",
    "log",
    "os",
    "sync",
    "golang.org/x/sys/cpu",
    "github.com/klauspost/cpuid/v2",
  ]
    .filter((path) => new RegExp(`\\b${/(\w+)(?:\/v2)?$/.exec(path)?.[1]}\\.`).test(body))
    .map((path) => `import "${path}"\n`);
  const source = makeFolder({ "main.go": `package main\n${imports.join("")}${body}\n` });
  const root = makeFolder({});
  cpSync(packages ?? "", source, { recursive: true });
  const env = {
    ...process.env,
    CGO_ENABLED: "0",
    GOARCH: architecture,
    GOFLAGS: "-mod=vendor -buildvcs=false",
  };
  execFileSync("go", ["build", "-o", `${root}/a`, ...options, "."], { cwd: source, env });
  const ran = (model: string) => spawnSync(emulator, ["-cpu", model, `${root}/a`]).status === 0;
  const outcomes = Object.fromEntries(models.map((model) => [model, ran(model) ? "ran" : "died"] as const));
  const verdicts = imageVerdicts(await openWild(root), platform, outcomes);
  return verdicts
    .filter(({ model }) => (models as readonly string[]).includes(model))
    .map(({ model, outcome, fits }) => ({ model, outcome, fits }));
}

/** A program for AArch64 that may be anywhere needs a loader, which this machine lacks. */
const waysOn = (architecture: Architecture): readonly (readonly string[])[] => [
  ["-ldflags=-s -w"],
  ["-gcflags=all=-N -l"],
  ...(architecture === "amd64" ? [["-buildmode=pie"]] : []),
];

describe("a program in Go that asks", { ...needs(missing), timeout: 600_000 }, () => {
  for (const architecture of ["amd64", "arm64"] as const) {
    it.each(refusing)(`is a no where it refuses ${architecture}: %s`, async (_, text) => {
      for (const options of waysOn(architecture)) {
        const verdicts = await judge(architecture, text, options);
        expect(verdicts.map(({ outcome }) => outcome)).toContain("died");
        const isWrong = ({ outcome, fits }: (typeof verdicts)[number]) => fits !== (outcome === "ran");
        expect(verdicts.filter(isWrong), options.join()).toEqual([]);
      }
    });

    it.each(listing)(`is told where it refuses on ${architecture} by %s`, async (_, text, isPlain) => {
      const verdicts = await judge(architecture, text, ["-ldflags=-s -w"]);
      expect(verdicts.map(({ outcome }) => outcome)).toContain("died");
      const told = verdicts.map(({ outcome }) => (outcome === "ran" ? true : isPlain ? false : null));
      expect(verdicts.map(({ fits }) => fits)).toEqual(told);
    });

    it.each(written)(`is no no where it runs on ${architecture} by an answer %s`, async (_, text) => {
      const verdicts = await judge(architecture, text, ["-ldflags=-s -w"]);
      expect(verdicts.filter(({ outcome }) => outcome === "ran")).toEqual(verdicts);
      expect(verdicts.filter(({ fits }) => fits === false)).toEqual([]);
    });

    it.each(choosing)(`is a yes where it chooses on ${architecture}: %s`, async (_, text) => {
      for (const options of waysOn(architecture)) {
        const verdicts = await judge(architecture, text, options);
        expect(
          verdicts.filter(({ outcome, fits }) => outcome !== "ran" || fits !== true),
          options.join(),
        ).toEqual([]);
      }
    });
  }

  it("is a no where it refuses by one of klauspost/cpuid's features", async () => {
    const verdicts = await judge("amd64", needsFirst.replace("FIRST", "cpuid.CPU.Has(cpuid.AVX2)"), []);
    expect(verdicts.map(({ fits }) => fits)).toEqual([false, false, true]);
  });

  it.each([
    ["amd64", "cpuid.AVX2, cpuid.FMA3"],
    ["arm64", "cpuid.ATOMICS, cpuid.ASIMDDP"],
  ] as const)(
    "is a no where it refuses by several of these, and names these alone: %s",
    async (architecture, features) => {
      const verdicts = await judge(
        architecture,
        needsFirst.replace("FIRST", `cpuid.CPU.Supports(${features})`),
        [],
      );
      expect(verdicts.filter(({ outcome, fits }) => fits !== (outcome === "ran"))).toEqual([]);
      expect(verdicts.map(({ outcome }) => outcome)).toContain("died");
    },
  );

  it("is not proved where it catches its own panic", async () => {
    const text = `func main() {
	defer func() { if r := recover(); r != nil { fmt.Println("slow") } }()
	if !FIRST { panic("too old") }
	fmt.Println(len(os.Args))
}`;
    const verdicts = await judge("amd64", text, []);
    expect(verdicts.map(({ outcome, fits }) => [outcome, fits])).toEqual([
      ["ran", null],
      ["ran", null],
      ["ran", true],
    ]);
  });
});
