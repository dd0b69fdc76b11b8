/** Text → lock. Checked by hand: this stands on the path of `resolve`, where no schema library is loaded. */

import { ImgmatchError, type Place, type Problem } from "../errors.ts";
import { inputLimits, requireSize } from "../limits.ts";
import { measuredRules } from "../hardware/requirement.ts";
import { isDigest } from "../oci/digest.ts";
import { deepestJson, isTooDeep } from "../oci/json-depth.ts";
import { isRepository, isTag } from "../oci/reference.ts";
import { type Lock, lockSchemaVersion } from "./lock.ts";

const digest = { test: isDigest };
const tag = { test: isTag };
const repository = { test: isRepository };

/** Throws `INPUT_TOO_LARGE`, `LOCK_SYNTAX`, `LOCK_VERSION` or `LOCK_SCHEMA` with every mistake. */
export function parseLock(text: string, file: string): Lock {
  requireSize(text, inputLimits.lock, { file });
  return checkLockData(parseJson(text, file), file);
}

/** The same for a lock that came as data. `file` is the name for messages. */
export function checkLockData(data: unknown, file: string): Lock {
  const check = new Checker(file);
  const root = check.object(data, "the lock");
  if (root !== null && typeof root.schemaVersion === "number" && root.schemaVersion > lockSchemaVersion) {
    throw new ImgmatchError({
      code: "LOCK_VERSION",
      message: `the lock has schemaVersion ${root.schemaVersion}, this imgmatch reads up to ${lockSchemaVersion}`,
      fix: "update imgmatch",
      at: { file },
    });
  }
  if (root !== null) checkLock(root, check);
  const [first, ...rest] = check.problems;
  if (first !== undefined) throw new ImgmatchError([first, ...rest]);
  return data as Lock;
}

type Json = Readonly<Record<string, unknown>>;

function checkLock(root: Json, check: Checker): void {
  check.equal(root.schemaVersion, lockSchemaVersion, "schemaVersion");
  for (const key of ["name", "version"]) check.text(root[key], key);
  // It becomes a part of the one line that resolve prints.
  check.text(root.repository, "repository", repository);
  check.text(root.matrixDigest, "matrixDigest", digest);
  if (root.prefer !== undefined) check.list(root.prefer, "prefer");
  const images = check.object(root.images, "images");
  for (const [id, image] of Object.entries(images ?? {}))
    checkImage(image, `images[${JSON.stringify(id)}]`, check);
}

function checkImage(value: unknown, path: string, check: Checker): void {
  const image = check.object(value, path);
  if (image === null) return;
  check.texts(image.axes, `${path}.axes`);
  check.text(image.platform, `${path}.platform`, /^[a-z0-9]+\/[a-z0-9]+(\/[a-z0-9]+)?$/);
  check.text(image.tag, `${path}.tag`, tag);
  check.text(image.inputDigest, `${path}.inputDigest`, digest);
  if (image.digest !== null) check.text(image.digest, `${path}.digest`, digest);
  if (image.manifest !== undefined) checkManifest(image.manifest, `${path}.manifest`, check);
  check.bases(image.bases, `${path}.bases`);
  if (image.nextBases !== undefined) check.bases(image.nextBases, `${path}.nextBases`);
  if (image.inputs !== undefined) checkInputs(image.inputs, `${path}.inputs`, check);
  check.text(image.builder, `${path}.builder`);
  if (image.created !== null) check.text(image.created, `${path}.created`, /^\d{4}-\d\d-\d\dT/);
  if (image.size !== null && typeof image.size !== "number") {
    check.report(`${path}.size must be a number or null`);
  }
  const requires = check.object(image.requires, `${path}.requires`);
  const cpu = check.object(requires?.cpu, `${path}.requires.cpu`);
  if (cpu !== null) {
    check.text(cpu.march, `${path}.requires.cpu.march`);
    check.list(cpu.features, `${path}.requires.cpu.features`);
  }
  if (requires?.kernel !== undefined) check.text(requires.kernel, `${path}.requires.kernel`);
  if (requires !== null && requires.cuda !== null) checkCuda(requires.cuda, `${path}.requires.cuda`, check);
  if (image.measured !== undefined) checkMeasured(image.measured, `${path}.measured`, check);
}

const measuredGrammar = {
  /** As Linux names them. */
  feature: /^[a-z0-9_]{1,64}$/,
  target: /^(?:sm|compute)_\d{2,4}[af]?$/,
  driver: /^\d{1,9}(?:\.\d{1,9}){1,3}$/,
} as const;

/** Of other rules nothing is known but their number, and nothing is used. */
function checkMeasured(value: unknown, path: string, check: Checker): void {
  const measured = check.object(value, path);
  if (measured === null) return;
  if (!Number.isSafeInteger(measured.rules)) check.report(`${path}.rules must be a whole number`);
  if (measured.rules !== measuredRules) return;
  const cpu = check.object(measured.cpu, `${path}.cpu`);
  check.names(cpu?.unused, `${path}.cpu.unused`, measuredGrammar.feature);
  if (measured.cuda === null) return;
  const cuda = check.object(measured.cuda, `${path}.cuda`);
  if (cuda === null) return;
  check.names(cuda.code, `${path}.cuda.code`, measuredGrammar.target);
  if (cuda.minimum !== null) check.text(cuda.minimum, `${path}.cuda.minimum`, measuredGrammar.driver);
}

function checkManifest(value: unknown, path: string, check: Checker): void {
  const manifest = check.object(value, path);
  if (manifest === null) return;
  check.text(manifest.mediaType, `${path}.mediaType`);
  if (!Number.isSafeInteger(manifest.size)) check.report(`${path}.size must be a whole number`);
}

function checkInputs(value: unknown, path: string, check: Checker): void {
  const inputs = check.object(value, path);
  if (inputs === null) return;
  check.text(inputs.dockerfile, `${path}.dockerfile`, digest);
  check.text(inputs.context, `${path}.context`, digest);
  check.object(inputs.args, `${path}.args`);
  for (const [name, item] of Object.entries(inputs.args ?? {})) check.text(item, `${path}.args.${name}`, /^/);
  if (inputs.target !== null) check.text(inputs.target, `${path}.target`);
  check.text(inputs.builder, `${path}.builder`);
}

function checkCuda(value: unknown, path: string, check: Checker): void {
  const cuda = check.object(value, path);
  if (cuda === null) return;
  check.text(cuda.toolkit, `${path}.toolkit`);
  check.list(cuda.code, `${path}.code`);
  if (cuda.require !== undefined) check.text(cuda.require, `${path}.require`);
  const driver = check.object(cuda.driver, `${path}.driver`);
  if (driver === null) return;
  if (driver.mode === "host") check.text(driver.minimum, `${path}.driver.minimum`);
  else if (driver.mode === "bundled") check.text(driver.version, `${path}.driver.version`);
  else if (driver.mode === "compat") {
    check.text(driver.package, `${path}.driver.package`);
    check.text(driver.cuda, `${path}.driver.cuda`);
    check.list(driver.branches, `${path}.driver.branches`);
  } else check.report(`${path}.driver.mode must be host, bundled or compat`);
}

class Checker {
  readonly problems: Problem[] = [];
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  report(message: string): void {
    const fix =
      "restore the lock from version control, or delete it and build again: what is published is adopted";
    this.problems.push({ code: "LOCK_SCHEMA", message, fix, at: { file: this.#file } });
  }

  object(value: unknown, path: string): Json | null {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
    this.report(`${path} must be an object`);
    return null;
  }

  text(value: unknown, path: string, grammar: { readonly test: (text: string) => boolean } = /./s): void {
    if (typeof value !== "string" || !grammar.test(value))
      this.report(`${path} is not valid: ${show(value)}`);
  }

  list(value: unknown, path: string): void {
    const ok = Array.isArray(value) && value.every((item) => typeof item === "string");
    if (!ok) this.report(`${path} must be a list of texts`);
  }

  /** More than any table has of them is no list that imgmatch wrote. */
  names(value: unknown, path: string, grammar: RegExp): void {
    const longest = 512;
    if (!Array.isArray(value)) this.report(`${path} must be a list of texts`);
    else if (value.length > longest)
      this.report(`${path} has ${value.length} entries, the limit is ${longest}`);
    else for (const [index, item] of value.entries()) this.text(item, `${path}[${index}]`, grammar);
  }

  bases(value: unknown, path: string): void {
    if (!Array.isArray(value)) this.report(`${path} must be a list`);
    for (const [index, item] of Array.isArray(value) ? value.entries() : []) {
      const base = this.object(item, `${path}[${index}]`);
      if (base === null) continue;
      this.text(base.ref, `${path}[${index}].ref`);
      this.text(base.digest, `${path}[${index}].digest`, digest);
    }
  }

  texts(value: unknown, path: string): void {
    const object = this.object(value, path);
    for (const [key, item] of Object.entries(object ?? {})) this.text(item, `${path}.${key}`);
  }

  equal(value: unknown, expected: unknown, path: string): void {
    if (value !== expected) this.report(`${path} must be ${show(expected)}, not ${show(value)}`);
  }
}

/** Without what is inside: a lock can be nested deeper than JSON.stringify goes. */
function show(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  const shown = JSON.stringify(value) ?? "undefined";
  return shown.length <= 200 ? shown : `${shown.slice(0, 200)}…`;
}

function parseJson(source: string, file: string): unknown {
  // Some editors begin a file with a byte order mark; JSON has none (RFC 8259, 8.1).
  const text = source.replace(/^\uFEFF/, "");
  if (isTooDeep(text)) {
    throw new ImgmatchError({
      code: "LOCK_SYNTAX",
      message: `the lock is nested more than ${deepestJson} deep`,
      fix: "restore it from version control, or delete it and build again: what is published is adopted",
      at: { file },
    });
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const conflict = text.split("\n").findIndex((line) => /^(<{7}|={7}|>{7})( |$)/.test(line));
    const message = error instanceof Error ? error.message : String(error);
    throw new ImgmatchError(
      conflict >= 0
        ? {
            code: "LOCK_SYNTAX",
            message: "the lock holds the conflict markers of a merge",
            fix: "keep both sides' images, each once, and remove the markers",
            at: placeOfLine(text, file, conflict + 1),
          }
        : {
            code: "LOCK_SYNTAX",
            message: text.trim() === "" ? "the lock is empty" : "the lock is not JSON",
            fix: "restore it from version control, or delete it and build again: what is published is adopted",
            at: placeInMessage(message, text, file),
          },
      { cause: error },
    );
  }
}

function placeOfLine(text: string, file: string, line: number): Place {
  return { file, line, column: 1, text: text.split("\n")[line - 1] ?? "" };
}

/** V8 says `… at position 17`, nothing for a text that ends too early, and quotes its surroundings otherwise. */
function placeInMessage(message: string, text: string, file: string): Place {
  const position = /at position (\d+)/.exec(message)?.[1];
  const [, cut, context = ""] = /, (\.\.\.)?"([\s\S]+)"(?:\.\.\.)? is not valid JSON$/.exec(message) ?? [];
  const token = /^Unexpected token '(.)'/s.exec(message)?.[1] ?? "";
  // A quotation that is cut in front begins ten characters before the fault.
  const quoted = text.indexOf(token, text.indexOf(context) + (cut === undefined ? 0 : 10));
  const offset = position === undefined ? quoted : Number(position);
  if (text.trim() === "" || offset < 0) return { file };
  const end = /end of JSON/.test(message) ? text.trimEnd().length : offset;
  const before = text.slice(0, end).split("\n");
  return { ...placeOfLine(text, file, before.length), column: (before.at(-1)?.length ?? 0) + 1 };
}
