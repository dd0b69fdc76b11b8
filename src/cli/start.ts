#!/usr/bin/env node
/**
 * The start of the program. Node would compile it anew each time, which is half of what a node waits for: the compiled code stays beside the
 * program, as Python's does, where its folder can be written to. Whoever can write there can replace the program too.
 */

import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import Module from "node:module";
import { dirname, join } from "node:path";
import { Script } from "node:vm";
import { attempt } from "../io/attempt.ts";

/** From here. Its name has a digest of its content, so that the code of another program is never taken for its own. */
declare const IMGMATCH_PROGRAM: string;

const path = join(__dirname, IMGMATCH_PROGRAM);
// Node's own variable, for its own cache of this kind.
const keeps = process.env.NODE_DISABLE_COMPILE_CACHE === undefined;
const kept = `${path}.${process.version}-${process.arch}.cache`;

const cachedData = keeps ? attempt(() => readFileSync(kept), undefined) : undefined;
const script = new Script(readFileSync(path, "latin1"), {
  filename: path,
  ...(cachedData === undefined ? {} : { cachedData }),
});
// Of another V8, or of other flags of it, nothing is taken.
const isNew = cachedData === undefined || script.cachedDataRejected === true;
// It holds the functions that have run by then, and those of a resolve with an answer are waited for.
if (keeps && isNew && process.argv[2] === "resolve") process.once("exit", (code) => code === 0 && keepCode());

const program = new Module(path, module);
program.filename = path;
program.paths = module.paths;
// Where the program's other files find it.
require.cache[path] = program;
script
  .runInThisContext()
  .call(program.exports, program.exports, program.require.bind(program), program, path, dirname(path));
program.loaded = true;

/** Its name appears when all of it is on the disk. Where it cannot be written, the next start takes as long as this one. */
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
