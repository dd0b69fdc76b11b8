#!/usr/bin/env node
/**
 * Starts the program from compiled code, which is kept in a file beside the program, as Python does. Compiling takes half of the time that a
 * node waits. Somebody who can write that file can replace the program too.
 */

import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import type Module from "node:module";
import { sep } from "node:path";
import { Script } from "node:vm";
import { attempt } from "../io/attempt.ts";

/** A path from here. The name holds a digest of the program, so that another program never gets this cache. */
declare const IMGMATCH_PROGRAM: string;

// Each function of Node that runs first here is compiled, as `join` would be.
const parts = [__dirname, ...IMGMATCH_PROGRAM.split("/")];
const path = parts.join(sep);
// Node's variable for its own compile cache.
const isCaching = process.env.NODE_DISABLE_COMPILE_CACHE === undefined;
// Each kind of GPU is read by code of its own. Machines with different GPUs may share this folder, and a machine may get another GPU.
const devices = ["nvidiactl", "dxg", "kfd"]
  .filter((name) => existsSync(`/dev/${name}`))
  .map((name) => `-${name}`);
const cachePath = `${path}.${process.version}-${process.arch}${devices.join("")}.cache`;

const cachedData = isCaching ? attempt(() => readFileSync(cachePath), undefined) : undefined;
const script = new Script(readFileSync(path, "latin1"), {
  filename: path,
  ...(cachedData === undefined ? {} : { cachedData }),
});
// V8 rejects a cache that another version or other flags wrote.
const isNew = cachedData === undefined || script.cachedDataRejected === true;
// The cache holds the functions that have run so far. A successful resolve of this host has run those that nodes wait for.
const isOfHost = process.argv[2] === "resolve" && !process.argv.some((word) => word.startsWith("--host"));
if (isCaching && isNew && isOfHost) process.once("exit", (code) => code === 0 && writeCache());

// The class by its instance: requiring node:module would load the loader of ES modules, half a millisecond.
const program = new (module.constructor as typeof Module)(path, module);
program.filename = path;
program.paths = module.paths;
// The program's chunks require it by this path.
require.cache[path] = program;
script
  .runInThisContext()
  .call(
    program.exports,
    program.exports,
    program.require.bind(program),
    program,
    path,
    parts.slice(0, -1).join(sep),
  );
program.loaded = true;

/** Renames the file when all of it is on the disk. A failure only makes the next start as slow as this one. */
function writeCache(): void {
  const temporary = `${cachePath}.${process.pid}`;
  const isWritten = attempt(() => {
    const file = openSync(temporary, "wx", 0o644);
    try {
      writeFileSync(file, script.createCachedData());
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, cachePath);
    return true;
  }, false);
  if (!isWritten) attempt(() => rmSync(temporary, { force: true }), undefined);
}
