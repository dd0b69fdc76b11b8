/**
 * Loaded before the program: counts its reads, writes and renames of files of the test, and its programs, where they leave the process, and
 * lets one of them fail. `FAULTS` says which; what happened is written at the end.
 *
 * @typedef {{ at: number, as: number, within: string[], report: string }} Ask `as`: which of the operation's faults
 */

const fs = require("node:fs");
const programs = require("node:child_process");
const { syncBuiltinESMExports } = require("node:module");
const { isMainThread } = require("node:worker_threads");

const { at, as, within, report } = JSON.parse(process.env.FAULTS ?? '{"within":[]}');
// What it starts is not counted.
delete process.env.FAULTS;
delete process.env.NODE_OPTIONS;

/** Operation → the faults that it can have; `half`: half of it is done; `done`: all of it is. */
const kinds = {
  read: ["EIO", "EACCES"],
  write: ["ENOSPC", "EACCES", "half ENOSPC"],
  sync: ["EIO", "ENOSPC"],
  make: ["ENOSPC", "EACCES"],
  rename: ["EIO", "EACCES", "done EIO"],
  remove: ["EACCES", "done EIO"],
  spawn: ["EAGAIN", "killed", "fails", "done fails"],
};
const reads = [
  "access",
  "exists",
  "lstat",
  "opendir",
  "read",
  "readFile",
  "readdir",
  "readlink",
  "realpath",
  "stat",
  "fstat",
  "readv",
];
const makes = [
  "chmod",
  "copyFile",
  "cp",
  "futimes",
  "link",
  "lutimes",
  "mkdir",
  "mkdtemp",
  "symlink",
  "truncate",
  "utimes",
];
const operations = {
  ...Object.fromEntries(reads.map((name) => [name, "read"])),
  ...Object.fromEntries(makes.map((name) => [name, "make"])),
  ...{ write: "write", writeFile: "write", appendFile: "write", writev: "write" },
  ...{ fsync: "sync", fdatasync: "sync", sync: "sync", datasync: "sync", rename: "rename" },
  ...{ rm: "remove", rmdir: "remove", unlink: "remove" },
};

const twoPaths = ["copyFile", "cp", "link", "rename", "symlink"];

let count = 0;
let met = null;
const seen = [];
const ours = new Set();

const isOurs = (name) => {
  if (typeof name === "number") return ours.has(name);
  if (typeof name !== "string" && !Buffer.isBuffer(name) && !(name instanceof URL)) return false;
  const path = require("node:path").resolve(name instanceof URL ? name.pathname : String(name));
  return within.some((folder) => path === folder || path.startsWith(`${folder}/`));
};

/** The fault of this operation, if it is its turn: `{ code, how }`. */
function faultOf(operation, what) {
  const named = `${operation} ${what}`;
  seen.push(named);
  count++;
  const isIt = typeof at === "number" ? at === count : new RegExp(at).test(named);
  if (!isIt || met !== null) return null;
  const all = kinds[operation];
  const kind = all[as % all.length];
  const words = kind.split(" ");
  met = { what: named, kind, kinds: all.length };
  return { code: words.at(-1), how: words.length > 1 ? words[0] : null };
}

function errorOf(code, name, path) {
  const error = new Error(`${code}: injected, ${name} '${path}'`);
  return Object.assign(error, {
    code,
    errno: -require("node:os").constants.errno[code],
    syscall: name,
    path: String(path),
  });
}

const flagsWrite = (flags) =>
  flags !== undefined && flags !== "r" && flags !== 0 && (typeof flags !== "number" || (flags & 3) !== 0);
const base = (name) => name.replace(/Sync$/, "");
/** From the project, or from the folder that it is in. */
const shown = (path) =>
  String(path)
    .replace(`${within[0]}/`, "")
    .replace(`${require("node:path").dirname(within[0])}/`, "");

/** Half of the arguments' data, or null. */
function halfOf(args, index) {
  const data = args[index];
  if (typeof data !== "string" && !ArrayBuffer.isView(data)) return null;
  const half = data.slice(0, Math.floor(data.length / 2));
  return [...args.slice(0, index), half, ...args.slice(index + 1).filter((each) => typeof each !== "number")];
}

function planned(name, args, path = args[0]) {
  const bare = base(name);
  const operation = bare === "open" ? (flagsWrite(args[1]) ? "make" : "read") : operations[bare];
  if (operation === undefined) return null;
  if (!isOurs(path) && !(twoPaths.includes(bare) && isOurs(args[1]))) return null;
  const fault = faultOf(operation, `${bare} ${typeof path === "number" ? "#" : shown(path)}`);
  return fault && { ...fault, error: errorOf(fault.code, bare, path) };
}

function wrapSync(name) {
  const real = fs[name];
  const wrapper = function (...args) {
    const fault = planned(name, args);
    if (fault === null) {
      const result = real.apply(this, args);
      if (name === "openSync" && isOurs(args[0])) ours.add(result);
      return result;
    }
    if (fault.how === "done") real.apply(this, args);
    const half = fault.how === "half" ? halfOf(args, 1) : null;
    if (half !== null) real.apply(this, half);
    if (name === "existsSync") return false;
    throw fault.error;
  };
  fs[name] = Object.assign(wrapper, real);
}

function wrapCallback(name) {
  const real = fs[name];
  const wrapper = function (...args) {
    const done = args.at(-1);
    const fault = typeof done === "function" ? planned(name, args) : null;
    if (fault !== null) return process.nextTick(done, fault.error);
    if (name === "open" && isOurs(args[0]) && typeof done === "function")
      args[args.length - 1] = (error, file) => {
        if (!error) ours.add(file);
        done(error, file);
      };
    return real.apply(this, args);
  };
  fs[name] = Object.assign(wrapper, real);
}

function wrapPromise(on, name, pathOf = (args) => args[0], data = 1) {
  const real = on[name];
  on[name] = async function (...args) {
    const path = pathOf(args);
    // A file that is open already.
    const fault = typeof path === "object" && !(path instanceof URL) ? null : planned(name, args, path);
    if (fault === null) {
      const result = await real.apply(this, args);
      if (name === "open" && isOurs(args[0]))
        for (const each of Object.keys(operations).concat("stat"))
          if (typeof result[each] === "function") wrapPromise(result, each, () => args[0], 0);
      return result;
    }
    if (fault.how === "done") await real.apply(this, args);
    const half = fault.how === "half" ? halfOf(args, data) : null;
    if (half !== null) await real.apply(this, half);
    throw fault.error;
  };
}

for (const name of [...Object.keys(operations), "open"]) {
  if (typeof fs[`${name}Sync`] === "function") wrapSync(`${name}Sync`);
  if (typeof fs[name] === "function") wrapCallback(name);
  if (typeof fs.promises[name] === "function") wrapPromise(fs.promises, name);
}

const { spawn } = programs;
programs.spawn = (program, args, options) => {
  const fault = faultOf("spawn", [program, ...args.slice(0, 2)].join(" "));
  const code = fault?.how === "done" ? "done" : fault?.code;
  if (code === "fails") return spawn("false", [], options);
  if (code === "done") return spawn("sh", ["-c", '"$0" "$@"; exit 1', program, ...args], options);
  if (code === "killed") return spawn("sh", ["-c", "kill -9 $$"], options);
  if (code === undefined) return spawn(program, args, options);
  const child = spawn("/nonexistent/program", args, options);
  const { emit } = child;
  child.emit = (event, ...rest) =>
    emit.call(child, event, ...(event === "error" ? [errorOf("EAGAIN", "spawn", program)] : rest));
  return child;
};
for (const name of ["exec", "execFile", "execFileSync", "execSync", "fork", "spawnSync"]) {
  const real = programs[name];
  programs[name] = function (...args) {
    seen.push(`UNSEEN ${name} ${args[0]}`);
    return real.apply(this, args);
  };
}
syncBuiltinESMExports();

// After the last listener, which may remove files.
const { emit } = process;
process.emit = function (event, ...args) {
  const emitted = emit.call(this, event, ...args);
  if (event === "exit" && isMainThread) {
    within.length = 0;
    fs.writeFileSync(report, JSON.stringify({ count, met, seen }));
  }
  return emitted;
};
