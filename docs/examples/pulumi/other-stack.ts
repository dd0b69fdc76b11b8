import * as pulumi from "@pulumi/pulumi";
import { parseHostFacts, parseLock, resolveImage } from "imgmatch/resolve";

const config = new pulumi.Config();

// The lock that the program of the images exports, and what `imgmatch probe --json` printed on the hosts of one pool.
const images = new pulumi.StackReference(config.require("images"));
const host = parseHostFacts(JSON.stringify(config.requireObject("pool")), "pool");

/** For a Deployment, a Job … */
export const image = images.requireOutput("lock").apply((value) => {
  const { match, rejected } = resolveImage(parseLock(JSON.stringify(value), "lock"), host);
  if (match === null) throw new Error(rejected.map(({ cell, message }) => `${cell}: ${message}`).join("\n"));
  return match.reference;
});
