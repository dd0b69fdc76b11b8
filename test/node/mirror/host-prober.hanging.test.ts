/** The program's mirror on a machine whose driver, or a file of /proc, never answers: the mirror does, and says why. */

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { cudaFreeLock } from "../../cli/support/lock.ts";
import { bundleServe, type ProgramMirror, startProgramMirror } from "./support/program-mirror.ts";
import { whyNoGcc, whyNot } from "../../support/programs.ts";

const folder = makeFolder({ "lock.json": cudaFreeLock("registry.example.com/team/app", "any", []) });
const whyNoNamespace =
  process.platform === "linux" && process.getuid?.() === 0
    ? whyNot("unshare", ["--mount", "true"], { install: "apt-get install util-linux" })
    : "needs root on Linux to put other files into /proc";
const whyNoCompiler = whyNoGcc();

/** Each is run in a mount namespace of its own before the mirror takes its place. */
const hangs = {
  "a file of /proc that never ends": `mkfifo "$PWD/cpuinfo" 2>/dev/null || true
mount --bind "$PWD/cpuinfo" /proc/cpuinfo`,
  "a call of NVML that never returns": `mount -t tmpfs none /proc/driver
mkdir /proc/driver/nvidia
echo 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024' > /proc/driver/nvidia/version
mount -t tmpfs none /dev
mknod -m 666 /dev/null c 1 3
mknod -m 666 /dev/urandom c 1 9
: > /dev/nvidiactl
export LD_LIBRARY_PATH="$PWD"`,
} as const;

let serve: readonly [string, ...string[]];

async function startIn(hang: string, ...flags: string[]): Promise<ProgramMirror> {
  writeFileSync(join(folder, "start.sh"), `set -e\n${hang}\nexec "$@"\n`);
  const inOwn = ["unshare", "--mount", "sh", "start.sh"] as const;
  return startProgramMirror([...inOwn, ...serve, "--lock", "lock.json", ...flags], folder);
}

const tagged = "/v2/team/app/manifests/1";
const ask = (port: number, path: string) =>
  fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(10_000) });

beforeAll(() => {
  if (whyNoNamespace !== null) return;
  serve = bundleServe("hanging-host");
  if (whyNoCompiler !== null) return;
  const source = "#include <unistd.h>\nint nvmlInit_v2(void) { for (;;) pause(); }\n";
  writeFileSync(join(folder, "nvml.c"), source);
  const library = join(folder, "libnvidia-ml.so.1");
  execFileSync("gcc", ["-shared", "-fPIC", "-o", library, join(folder, "nvml.c")]);
}, 120_000);

it(
  "A mirror on a host that takes a second to read knows it at the first request",
  needs(whyNoNamespace),
  async () => {
    // Between two writers a reader finds the end.
    const late = `cp /proc/cpuinfo "$PWD/late"
mkfifo "$PWD/slow"
mount --bind "$PWD/slow" /proc/cpuinfo
timeout 20 sh -c 'sleep 1; while :; do cat late > slow; sleep 0.1; done' > /dev/null 2>&1 &`;
    const { port, log } = await startIn(late);
    // The image fits the host, and its registry is not there.
    expect((await ask(port, tagged)).status).toBe(503);
    await expect.poll(() => log().at(-1)).toMatchObject({ outcome: "unavailable" });
  },
);

describe.each(Object.entries(hangs))("A mirror on a host with %s", (_, hang) => {
  it(
    "answers again and again, and ends when it is told to",
    needs(whyNoNamespace, whyNoCompiler),
    async () => {
      const { port, child, ended } = await startIn(hang);
      for (let count = 0; count < 3; count++) {
        const answers = await Promise.all([1, 2, 3, 4].map(() => ask(port, tagged)));
        expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
        expect((await ask(port, "/healthz")).status).toBe(200);
      }
      // They share one probe.
      expect(childrenOf(child.pid)).toHaveLength(1);
      child.kill("SIGTERM");
      expect(await ended).toBe(0);
    },
  );

  it("refuses the host, failing closed, and says why", needs(whyNoNamespace, whyNoCompiler), async () => {
    const { port, log, child, ended } = await startIn(hang, "--fail-closed");
    const refused = await ask(port, tagged);
    expect(refused.status).toBe(403);
    const [error] = ((await refused.json()) as { errors: { code: string; message: string }[] }).errors;
    expect(error?.code).toBe("DENIED");
    expect(error?.message).toMatch(
      /^HOST_UNREADABLE: this host's facts were not read within 1000 ms.*; fix: /,
    );
    await expect.poll(() => log().at(-1)).toMatchObject({ outcome: "host-broken", status: 403 });
    // With it ends the process that hangs.
    child.kill("SIGTERM");
    expect(await ended).toBe(0);
  });
});

function childrenOf(pid: number | undefined): string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean);
}
