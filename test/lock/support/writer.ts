/** A process that adds cells to a lock: `writer LOCK PREFIX COUNT [stop]`. Says `ready` before the first; with `stop` it stops itself once, while it holds the lock. */

import type { Lock } from "../../../src/lock/lock.ts";
import { updateLock } from "../../../src/lock/store/update-lock.ts";

const [path = "", prefix = "", count = "1", stop] = process.argv.slice(2);
const digest = `sha256:${"0".repeat(64)}` as const;
const empty: Lock = {
  schemaVersion: 2,
  name: "app",
  version: "1.0",
  repository: "registry.example.com/team/app",
  images: {},
};

let mustStop = stop === "stop";
process.stdout.write("ready\n");
for (let index = 0; index < Number(count); index++) {
  await updateLock(path, (lock) => {
    if (mustStop) {
      mustStop = false;
      process.kill(process.pid, "SIGSTOP");
    }
    const { images, ...rest } = lock ?? empty;
    const image = {
      axes: {},
      platform: "linux/amd64",
      tag: `${prefix}-${index}`,
      inputDigest: digest,
      digest: null,
      requires: { cpu: { march: "x86-64", features: ["sse2"] }, cuda: null },
      bases: [],
      builder: "test",
      created: null,
      size: null,
    };
    return { ...rest, images: { ...images, [`${prefix}-${index}`]: image } };
  });
}
