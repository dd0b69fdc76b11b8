/**
 * Fuzzes a reader by its coverage, by hand: `npx tsx test/fuzz/fuzz.ts TARGET SECONDS`, with a target of targets.ts. What it finds lies in
 * .imgmatch/fuzz/TARGET, with the inputs that reached something new; a finding becomes a case of the reader's own test.
 * `FUZZER=PATH` names an installed `jazzer` (npm, @jazzer.js/core 4, which needs glibc 2.38); without it, npx fetches it.
 */

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { seeds as opened } from "../hostile/inspect-attacks.ts";

const [target = "", seconds = "60"] = process.argv.slice(2);
const hosts = "test/fixtures/hosts";
const texts = (from: string, name: RegExp) =>
  readdirSync(from, { recursive: true, encoding: "utf8" })
    .filter((file) => name.test(file))
    .map((file) => readFileSync(join(from, file)));
const words = [
  'docker buildx build --push -t "team/app:${TAG:-latest}" --build-arg A=$B . # comment\n',
  "if [ -f x ]; then\n  for f in *.txt; do timeout 5 docker build \\\n -t a . ; done\nfi\ncat <<'EOF' | bash\ndocker build .\nEOF\n",
  "f() { case $1 in a|b) env A=1 sudo make;; esac; }; x=$(docker build -q .) && bash -c 'docker push y' >out 2>&1\n",
];
const expressions = [
  "a ${{ matrix.a }} b ${{ format('{0}-{1}', matrix.b[0], env.HOME_OF) }} ${{ 1 == 2 && 'x' || 'y' }}",
  "${{ contains(fromJSON('[1,2]'), 1) || startsWith(matrix.a, '1') }}",
];
const seeds: Readonly<Record<string, readonly (Buffer | string)[]>> = {
  ...opened,
  lock: texts("test/fixtures/locks", /\.json$/),
  facts: texts(hosts, /expected\.json$/),
  smi: texts(hosts, /nvidia-smi.*\.json$/),
  words,
  expressions,
};

const folder = join(".imgmatch/fuzz", target);
const found = join(folder, "found/");
mkdirSync(join(folder, "inputs"), { recursive: true });
mkdirSync(found, { recursive: true });
for (const seed of seeds[target] ?? []) {
  const name = createHash("sha256").update(seed).digest("hex").slice(0, 16);
  writeFileSync(join(folder, "inputs", name), seed);
}
// The fuzzer counts the branches of CommonJS modules alone.
const bundle = await rolldown({
  input: "test/fuzz/targets.ts",
  platform: "node",
  checks: { ineffectiveDynamicImport: false },
  external: ["iced-x86", "koffi", "systeminformation"],
  transform: { define: { IMGMATCH_VERSION: '"0.0.0"' } },
});
const program = join(folder, "targets.js");
writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "commonjs" }));
await bundle.write({ file: program, format: "cjs", codeSplitting: false });
await bundle.close();
const fuzzer = process.env.FUZZER === undefined ? ["npx", "-y", "@jazzer.js/core@4"] : [process.env.FUZZER];
const { status } = spawnSync(
  fuzzer[0] ?? "",
  [
    ...fuzzer.slice(1),
    ...[
      program.slice(0, -".js".length),
      join(folder, "inputs"),
      "-f",
      target,
      "-i",
      "targets",
      "--disable_bug_detectors",
      ".*",
    ],
    ...["--", `-max_total_time=${seconds}`, "-timeout=10", "-rss_limit_mb=1500", "-max_len=20000"],
    `-artifact_prefix=${found}`,
  ],
  { stdio: "inherit" },
);
process.exitCode = status ?? 1;
