// A client for TUF's conformance suite (CLIENT-CLI.md), around what fetches the public root: @sigstore/tuf makes this updater of these settings.
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    "metadata-dir": { type: "string" },
    "metadata-url": { type: "string" },
    "target-name": { type: "string", multiple: true },
    "target-base-url": { type: "string" },
    "target-dir": { type: "string" },
  },
});
const [command, root] = positionals;
const metadataDir = values["metadata-dir"];

/** One for each target, as each fetch of the root makes one. */
async function makeUpdater() {
  const { Updater } = await import("tuf-js");
  return new Updater({
    metadataBaseUrl: values["metadata-url"],
    metadataDir,
    targetBaseUrl: values["target-base-url"],
    targetDir: values["target-dir"],
    config: { fetchTimeout: 5000, fetchRetry: { retries: 2 } },
  });
}

async function run() {
  if (command === "init") return copyFileSync(root, join(metadataDir, "root.json"));
  if (command === "refresh") return (await makeUpdater()).refresh();
  for (const name of values["target-name"]) {
    const updater = await makeUpdater();
    await updater.refresh();
    const target = await updater.getTargetInfo(name);
    if (target === undefined) throw new Error(`${name} is not among the targets`);
    if ((await updater.findCachedTarget(target)) === undefined) await updater.downloadTarget(target);
  }
}

run().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
