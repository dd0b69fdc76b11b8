/** A refusal of a registry, or its silence, as data: code that decides by it need not read its words. */

import { ImgmatchError, type Problem } from "../../errors.ts";

/** One of the `errors` of the distribution specification, "Error Codes". */
export interface RegistryErrorEntry {
  /** `MANIFEST_UNKNOWN`; empty where the registry gives none. */
  readonly code: string;
  readonly message: string;
}

type Failure = Pick<RegistryError, "status" | "errors" | "temporary" | "unclear" | "retryAfterMs">;

export class RegistryError extends ImgmatchError {
  /** null where no whole answer came. */
  readonly status: number | null = null;
  readonly errors: readonly RegistryErrorEntry[] = [];
  /** Whether the same may work the next time. */
  readonly temporary: boolean = false;
  /** Whether a write may have been done all the same, or may yet be: the answer was lost, or is that of a gateway. */
  readonly unclear: boolean = false;
  /** How long the registry asks to wait; 0 where it does not. */
  readonly retryAfterMs: number = 0;

  constructor(problem: Problem, failure: Partial<Failure> = {}, options?: ErrorOptions) {
    super(problem, options);
    Object.assign(this, failure);
  }

  /** The same, said of this part of what was asked for. */
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
 * 501 and 505 say what the server is, not how it feels. A registry that keeps files (distribution, storage/driver/filesystem)
 * empties the link of a blob before it writes it anew: while somebody uploads the same blob, it does not know it.
 */
export function isTemporaryStatus(status: number, errors: readonly RegistryErrorEntry[]): boolean {
  if (status === 400) return errors.some(({ code }) => code === "MANIFEST_BLOB_UNKNOWN");
  return status === 408 || status === 429 || (status >= 500 && status !== 501 && status !== 505);
}

/**
 * Why an HTTP exchange gave no whole answer. `unreachable`: the name does not resolve, or nothing listens there; `garbage`: the answer is not
 * HTTP.
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
  /** Whether another try makes sense. */
  readonly temporary: boolean;

  constructor(kind: TransportErrorKind, message: string, options?: ErrorOptions) {
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

export function transportError(
  cause: TransportErrorKind | Error,
  message: string = describe(cause),
): TransportError {
  return typeof cause === "string"
    ? new TransportError(cause, message)
    : new TransportError(kindOf(cause), message, { cause });
}

function kindOf(error: Error): TransportErrorKind {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (resetCodes.has(code)) return "reset";
  if (code.startsWith("HPE_")) return "garbage";
  return certificateCode.test(code) ? "tls" : "unreachable";
}

function describe(cause: TransportErrorKind | Error): string {
  if (typeof cause === "string") return cause;
  // Node tries IPv6 and IPv4 and then throws both refusals together, with an empty message.
  if (cause instanceof AggregateError) return cause.errors.map((error: Error) => error.message).join(", ");
  return cause.message;
}
