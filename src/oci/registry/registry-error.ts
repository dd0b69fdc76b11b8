/** The failures of a registry as data, so that callers need not read messages. */

import { ImgmatchError, type Problem } from "../../errors.ts";

/** One of the `errors` of the distribution specification, "Error Codes". */
export interface RegistryErrorEntry {
  /** `MANIFEST_UNKNOWN`; empty if the registry gives none. */
  readonly code: string;
  readonly message: string;
}

type Failure = Pick<RegistryError, "status" | "errors" | "temporary" | "unclear" | "retryAfterMs">;

export class RegistryError extends ImgmatchError {
  /** null if no whole answer came. */
  readonly status: number | null = null;
  readonly errors: readonly RegistryErrorEntry[] = [];
  /** True if the same request may work the next time. */
  readonly temporary: boolean = false;
  /** True if a write may have happened, or may yet happen: the answer was lost, or came from a gateway. */
  readonly unclear: boolean = false;
  /** The wait that the registry asks for; 0 if it asks for none. */
  readonly retryAfterMs: number = 0;

  constructor(problem: Problem, failure: Partial<Failure> = {}, options?: ErrorOptions) {
    super(problem, options);
    Object.assign(this, failure);
  }

  /** The same error with the name of a part before its message. */
  of(part: string): RegistryError {
    const [problem] = this.problems;
    const { status, errors, temporary, unclear, retryAfterMs } = this;
    const failure = { status, errors, temporary, unclear, retryAfterMs };
    return new RegistryError({ ...problem, message: `${part}: ${problem.message}` }, failure, {
      cause: this,
    });
  }
}

/**
 * 501 and 505 are permanent. 400 can be temporary: while somebody uploads a blob again, a registry with files (distribution,
 * storage/driver/filesystem) empties the blob's link first and does not know the blob.
 */
export function isTemporaryStatus(status: number, errors: readonly RegistryErrorEntry[]): boolean {
  if (status === 400) return errors.some(({ code }) => code === "MANIFEST_BLOB_UNKNOWN");
  return status === 408 || status === 429 || (status >= 500 && status !== 501 && status !== 505);
}

/**
 * The reason why no whole answer came. `unreachable`: the name does not resolve, or nothing listens there. `garbage`: the answer is not HTTP.
 */
type TransportErrorKind =
  | "timeout"
  | "reset"
  | "tls"
  | "unreachable"
  | "garbage"
  | "tooLarge"
  | "interrupted";

export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly kind: TransportErrorKind;
  /** True if another try makes sense. */
  readonly temporary: boolean;

  constructor(kind: TransportErrorKind, message: string = kind, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
    this.temporary = kind === "timeout" || kind === "reset";
  }
}

// EAI_AGAIN is a name server that did not answer; ENOTFOUND one that said no.
const resetCodes = new Set(["ECONNRESET", "EPIPE", "ECONNABORTED", "ETIMEDOUT", "EAI_AGAIN"]);

// OpenSSL's verification results, as Node names them (crypto_common.cc); the rest of TLS begins with ERR_SSL or ERR_TLS.
const certificateCode =
  /^ERR_(SSL|TLS)|CERT|^EPROTO$|^UNABLE_TO_|_SIGNATURE|_CRL|^INVALID_PURPOSE$|^HOSTNAME_MISMATCH$/;

export function transportError(cause: Error): TransportError {
  if (cause instanceof TransportError) return cause;
  // Node tries IPv6 and IPv4, and throws both refusals together with an empty message.
  const all: readonly Error[] = cause instanceof AggregateError ? cause.errors : [cause];
  return new TransportError(kindOf(cause), all.map(({ message }) => message).join(", "), { cause });
}

function kindOf(error: Error): TransportErrorKind {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (resetCodes.has(code)) return "reset";
  if (code.startsWith("HPE_")) return "garbage";
  return certificateCode.test(code) ? "tls" : "unreachable";
}
