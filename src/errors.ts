/**
 * One error class and one registry of problem codes. Every code that imgmatch can print for an input, a host,
 * an engine or a registry is a key of {@link problemCodes}, which also decides the exit code.
 */

import { printable } from "./printable.ts";

export const exitCodes = {
  ok: 0,
  /** Something failed, or drift was found. */
  failed: 1,
  /** Wrong usage, or a mistake in the matrix, a template, a lock or a facts file. */
  usage: 2,
  /** No image of the lock fits the host. */
  noMatch: 3,
  /** The host cannot be read, or is broken. */
  host: 4,
  /** Container engine or registry. */
  engine: 5,
  /** Something in the registry is not what, or whose, it should be. It is left as it is, and not used. */
  conflict: 6,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

const { failed, usage, noMatch, host, engine, conflict, interrupted } = exitCodes;

/** Problem code → exit code. Adding a code is adding a line here. */
export const problemCodes = {
  // command line
  USAGE: usage,
  SELECTION_INVALID: usage,
  SELECTION_EMPTY: usage,
  FILE_NOT_FOUND: usage,
  FILE_UNREADABLE: usage,
  FILE_EXISTS: usage,
  WRITE_FAILED: failed,
  TOO_MANY_FILES: failed,
  INPUT_TOO_LARGE: usage,
  // matrix
  MATRIX_NOT_FOUND: usage,
  MATRIX_SYNTAX: usage,
  MATRIX_SCHEMA: usage,
  MATRIX_VALUE_UNKNOWN: usage,
  MATRIX_VALUE_UNSAFE: usage,
  MATRIX_DUPLICATE: usage,
  MATRIX_EXCLUDE_UNUSED: usage,
  MATRIX_CASE_UNUSED: usage,
  MATRIX_INCLUDE_INVALID: usage,
  MATRIX_EMPTY: usage,
  MATRIX_SECRET: usage,
  VERSION_UNKNOWN: usage,
  TAG_INVALID: usage,
  TAG_COLLISION: usage,
  CELL_COLLISION: usage,
  // render
  TEMPLATE_NOT_FOUND: usage,
  TEMPLATE_SYNTAX: usage,
  TEMPLATE_UNKNOWN_NAME: usage,
  TEMPLATE_IGNORES_AXIS: usage,
  ARGUMENT_UNDECLARED: usage,
  DOCKERFILE_INVALID: usage,
  CONTEXT_NOT_FOUND: usage,
  CONTEXT_CHANGED: failed,
  RENDER_DRIFT: failed,
  // lock
  LOCK_NOT_FOUND: usage,
  LOCK_SYNTAX: usage,
  LOCK_SCHEMA: usage,
  LOCK_VERSION: usage,
  LOCK_ADOPTED: usage,
  LOCK_BUSY: failed,
  LOCK_MERGE_CONFLICT: failed,
  // facts of a host
  FACTS_SYNTAX: usage,
  FACTS_SCHEMA: usage,
  HOST_UNREADABLE: host,
  HOST_UNSUPPORTED: host,
  HOST_DRIVER_LIBRARY_MISMATCH: host,
  HOST_NO_DRIVER: host,
  HOST_NOUVEAU: host,
  HOST_NO_DEVICES: host,
  HOST_GPU_LOST: host,
  HOST_GPU_TAKEN: host,
  HOST_GPU_FIELD_UNKNOWN: host,
  HOST_GPU_UNSUPPORTED_BY_DRIVER: host,
  HOST_NVML_FAILED: host,
  HOST_SMI_FAILED: host,
  HOST_SMI_TIMEOUT: host,
  HOST_SMI_GARBAGE: host,
  HOST_CONTAINER_WITHOUT_DEVICES: host,
  HOST_NO_PERMISSION: host,
  HOST_VISIBLE_DEVICES_UNCLEAR: host,
  HOST_LABELS_INCOMPLETE: host,
  HOST_TYPE_INCOMPLETE: host,
  // resolve
  NO_MATCH: noMatch,
  HOST_BROKEN: host,
  FACT_UNKNOWN: host,
  PIN_UNKNOWN: usage,
  CELL_NOT_FOUND: usage,
  // export
  EXPORT_UNSAFE: usage,
  // build
  BUILD_FAILED: failed,
  ENGINE_NOT_FOUND: engine,
  ENGINE_UNREACHABLE: engine,
  ENGINE_FAILED: engine,
  BASE_UNRESOLVED: engine,
  BASE_LOCAL: failed,
  BASE_NOT_BUILT: failed,
  // registry
  REFERENCE_INVALID: usage,
  IMAGE_NOT_FOUND: engine,
  IMAGE_INVALID: engine,
  REGISTRY_UNREACHABLE: engine,
  REGISTRY_AUTH: engine,
  REGISTRY_FAILED: engine,
  REGISTRY_DIGEST_MISMATCH: engine,
  REGISTRY_ANSWER_TOO_LARGE: engine,
  CACHE_UNSAFE: usage,
  TAG_CONFLICT: conflict,
  INDEX_CONFLICT: conflict,
  CHANNEL_LOSS: failed,
  INDEX_INCOMPLETE: failed,
  BASELINE_MISSING: failed,
  INDEX_NOT_FOUND: engine,
  INDEX_INVALID: engine,
  INDEX_FORMAT: engine,
  // signatures
  SIGNATURE_MISSING: conflict,
  SIGNATURE_INVALID: conflict,
  SIGNATURE_WRONG_SIGNER: conflict,
  SIGNATURE_OTHER_DIGEST: conflict,
  CERTIFICATE_EXPIRED: conflict,
  PROVENANCE_MISSING: failed,
  PROVENANCE_MISMATCH: conflict,
  ATTEST_UNSUPPORTED: usage,
  KEY_INVALID: usage,
  TRUSTED_ROOT_INVALID: usage,
  SIGNING_FAILED: engine,
  COSIGN_NOT_FOUND: engine,
  // who is trusted
  TRUST_POLICY: usage,
  TRUST_UNSAFE: usage,
  TRUST_NO_RULE: conflict,
  INDEX_FOREIGN: conflict,
  INDEX_DOWNGRADE: conflict,
  // what is in an image
  AUDIT_CPU_BEYOND_MARCH: failed,
  AUDIT_BASE_BEYOND_MARCH: failed,
  AUDIT_GPU_TARGET_MISSING: failed,
  AUDIT_PTX_MISSING: failed,
  AUDIT_TOOLKIT_OTHER: failed,
  AUDIT_DRIVER_OTHER: failed,
  AUDIT_DRIVER_FLOOR: failed,
  AUDIT_AXIS_UNUSED: failed,
  AUDIT_NOT_OPENED: failed,
  ADOPT_UNDECIDED: failed,
  // mirror
  LISTEN_FAILED: failed,
  // launch
  LAUNCH_FAILED: engine,
  LAUNCH_UNSUPPORTED: usage,
  GPU_BUSY: failed,
  INTERRUPTED: interrupted,
} as const satisfies Record<string, ExitCode>;

export type ProblemCode = keyof typeof problemCodes;

/** Where a problem is: lines and columns count from 1. `text` is the source line, printed with a caret under `column`. */
export interface Place {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
  readonly text?: string;
}

/** A finding as data: `code` for programs, `message` (what happened, with the numbers) and `fix` (the next step) for people. */
export interface Problem {
  readonly code: ProblemCode;
  /** One line. A line break in it comes from outside, and is printed as its escape. */
  readonly message: string;
  /** What the message continues with, each a line of its own: a list, or the last lines of a program's output. */
  readonly details?: readonly string[];
  readonly fix?: string;
  readonly at?: Place;
}

/**
 * The one error that imgmatch throws for something outside itself: all mistakes of one input together.
 *
 * @example
 * throw new ImgmatchError({ code: "LOCK_NOT_FOUND", message: "no lock at images/imgmatch.lock.json", fix: "run imgmatch build" });
 */
export class ImgmatchError extends Error {
  override readonly name = "ImgmatchError";
  readonly problems: readonly [Problem, ...Problem[]];

  constructor(problem: Problem | readonly [Problem, ...Problem[]], options?: ErrorOptions) {
    const problems = isProblem(problem) ? ([problem] as const) : problem;
    super(problems.map(formatProblem).join("\n"), options);
    this.problems = problems;
  }

  get code(): ProblemCode {
    return this.problems[0].code;
  }

  get exitCode(): ExitCode {
    return problemCodes[this.code];
  }
}

/** What was asked for cannot be meant so. */
export function usageError(message: string, fix: string): ImgmatchError {
  return new ImgmatchError({ code: "USAGE", message, fix });
}

/** A bug in imgmatch, not a mistake of its user. */
export class InternalError extends Error {
  override readonly name = "InternalError";
}

/** More than a person reads, or a terminal keeps. */
const mostProblems = 100;

/** Throws the problems found, the first hundred and that there are more, or returns when there is none. */
export function throwProblems(problems: readonly Problem[]): void {
  const [first, ...rest] = problems.slice(0, mostProblems);
  if (first === undefined) return;
  const more = problems.length - mostProblems;
  if (more > 0) {
    const message = `at least ${more} more ${more === 1 ? "problem is" : "problems are"} not listed`;
    rest.push({ code: first.code, message, fix: "correct these first" });
  }
  throw new ImgmatchError([first, ...rest]);
}

/** `file:line:column: CODE: message`, the fix and the source line with a caret, without colour. */
export function formatProblem(problem: Problem): string {
  const { at } = problem;
  const place = at === undefined ? "" : `${formatPlace(at)}: `;
  const lines = [
    printable(`${place}${problem.code}: ${problem.message}`),
    ...(problem.details ?? []).map(sourceLine),
  ];
  if (at?.text !== undefined) {
    lines.push(`  ${sourceLine(at.text)}`);
    if (at.column !== undefined) lines.push(`  ${caretIndent(at.text, at.column)}^`);
  }
  if (problem.fix !== undefined) lines.push(printable(`  fix: ${problem.fix}`));
  return lines.join("\n");
}

/** The message with its details, as programs get it: JSON tells line breaks from text. */
export function wholeMessage({ message, details = [] }: Pick<Problem, "message" | "details">): string {
  return [message, ...details].join("\n");
}

export function formatPlace({ file, line, column }: Place): string {
  return [printable(file), line, column].filter((part) => part !== undefined).join(":");
}

/** Makes a `switch` over a closed set fail to compile when a case is missing. */
export function assertNever(value: never): never {
  throw new InternalError(`unexpected value: ${JSON.stringify(value)}`);
}

function caretIndent(text: string, column: number): string {
  // Tabs stay tabs, so that the caret stands under its column at any tab width.
  return sourceLine(text.slice(0, column - 1)).replace(/[^\t]/g, " ");
}

/** A line of a file as it can be shown, its tabs kept. */
function sourceLine(text: string): string {
  return text.split("\t").map(printable).join("\t");
}

function isProblem(value: Problem | readonly [Problem, ...Problem[]]): value is Problem {
  return !Array.isArray(value);
}
