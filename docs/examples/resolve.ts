// Which image of the fleet was built for this machine?

import { readFile } from "node:fs/promises";
import { nodeHostIo, parseHostFacts, probeHost, readLock, resolveImage } from "imgmatch";

const lock = await readLock("images/imgmatch.lock.json");

// This machine, or the facts of another one: `tsx resolve.ts hosts/h100.json`.
const [file] = process.argv.slice(2);
const host =
  file === undefined ? await probeHost(nodeHostIo()) : parseHostFacts(await readFile(file, "utf8"), file);

const { match, rejected } = resolveImage(lock, host, { pins: { python: "3.12" } });
if (match !== null) console.log(`${match.cell}, tier ${match.tier}, because ${match.reasons.join(", ")}`);
for (const { cell, code } of rejected) console.log(`${cell}: ${code}`);
