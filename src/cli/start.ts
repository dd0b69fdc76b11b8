#!/usr/bin/env node
/**
 * Starts the program from compiled code that it keeps in a file beside it, as Python does. Compiling takes half of the time that a node waits.
 * Somebody who can write that file can replace the program too.
 */

import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import Module from "node:module";
import { dirname, join } from "node:path";
import { Script } from "node:vm";
import { attempt } from "../io/attempt.ts";

/** A path from here. The name holds a digest of the program, so that another program never gets this cache. */
declare const IMGMATCH_PROGRAM: string;

const path = join(__dirname, IMGMATCH_PROGRAM);
// Node's variable for its own compile cache.
const keeps = process.env.NODE_DISABLE_COMPILE_CACHE === undefined;
const kept = `${path}.${process.version}-${process.arch}.cache`;

const cachedData = keeps ? attempt(() => readFileSync(kept), undefined) : undefined;
const script = new Script(readFileSync(path, "latin1"), {
  filename: path,
  ...(cachedData === undefined ? {} : { cachedData }),
});
// V8 rejects a cache that another version or other flags wrote.
const isNew = cachedData === undefined || script.cachedDataRejected === true;
// The cache holds the functions that have run so far. A successful resolve has run those that nodes wait for.
if (keeps && isNew && process.argv[2] === "resolve") process.once("exit", (code) => code === 0 && keepCode());

const program = new Module(path, module);
program.filename = path;
program.paths = module.paths;
// The program's chunks require it by this path.
require.cache[path] = program;
script
  .runInThisContext()
  .call(program.exports, program.exports, program.require.bind(program), program, path, dirname(path));
program.loaded = true;

/** Renames the file when all of it is on the disk. A failure only makes the next start as slow as this one. */
function keepCode(): void {
  const own = `${kept}.${process.pid}`;
  const isKept = attempt(() => {
    const file = openSync(own, "wx", 0o644);
    try {
      writeFileSync(file, script.createCachedData());
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(own, kept);
    return true;
  }, false);
  if (!isKept) attempt(() => rmSync(own, { force: true }), undefined);
}
