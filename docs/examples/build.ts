// Builds what the lock does not have, pushes it, and writes the lock: `imgmatch build --push`.
import { existsSync } from "node:fs";
import {
  buildPlan,
  createRegistryClient,
  dockerCredentials,
  engines,
  openFleet,
  parseImageReference,
  planOpenFleet,
  readLock,
} from "imgmatch";

const lockFile = "images/imgmatch.lock.json";
const fleet = await openFleet("matrix.yaml", { registry: "localhost:5000" });
const credentials = dockerCredentials(process.env);
const registry = createRegistryClient({ credentials });
const plan = await planOpenFleet(fleet, {
  lock: existsSync(lockFile) ? await readLock(lockFile) : null,
  published: true,
  findBaseDigest: async (ref) => (await registry.findManifest(parseImageReference(ref)))?.digest ?? null,
});

const { results } = await buildPlan(plan, fleet, {
  engine: await engines.docker({ env: process.env, credentials }),
  registry,
  push: true,
  lockFile,
  logFolder: ".imgmatch/logs",
  concurrency: 4,
  revision: "",
  now: () => new Date(),
  onEvent: (event) => event.type === "done" && console.log(event.cell),
});
process.exitCode = results.every(({ status }) => status === "built") ? 0 : 1;
