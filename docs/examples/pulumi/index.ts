import * as pulumi from "@pulumi/pulumi";
import { type HostFacts, ImageFleet } from "imgmatch/pulumi";

const config = new pulumi.Config();

// One docker.Image for each CPU cell of the example fleet; all cells without `only`.
const fleet = new ImageFleet("vision", {
  matrix: "../vision/matrix.yaml",
  only: ["cuda=none"],
  // Without a login: that of `docker login`.
  registry: {
    username: config.require("registryUser"),
    password: config.requireSecret("registryPassword"),
  },
});

/** cell → repository@sha256:… */
export const references = fleet.references;

/** What `imgmatch resolve --lock` and every node read. */
export const lock = fleet.lock;

// What `imgmatch probe --json` printed on the hosts of one pool.
const pool = config.requireObject<HostFacts>("pool");

/** The one image of the fleet for that pool, for a Deployment, a DaemonSet, a Nomad job … */
export const image = fleet.resolve(pool).apply(({ match, rejected }) => {
  if (match === null) throw new Error(rejected.map(({ cell, message }) => `${cell}: ${message}`).join("\n"));
  return match.reference;
});
