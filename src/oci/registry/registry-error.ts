/** A refusal of a registry, or its silence, as data: code that decides by it need not read its words. */

import { ImgmatchError, type Problem } from "../../errors.ts";

/** One of the `errors` of the distribution specification, "Error Codes". */
export interface RegistryErrorEntry {
  /** `MANIFEST_UNKNOWN`; empty where the registry gives none. */
  readonly code: string;
  readonly message: string;
}

export interface RegistryFailure {
  /** null where no whole answer came. */
  readonly status: number | null;
  readonly errors: readonly RegistryErrorEntry[];
  /** Whether the same may work the next time. */
  readonly temporary: boolean;
  /** Whether a write may have been done all the same, or may yet be: the answer was lost, or is that of a gateway. */
  readonly unclear: boolean;
  /** How long the registry asks to wait; 0 where it does not. */
  readonly retryAfterMs: number;
}

export class RegistryError extends ImgmatchError implements RegistryFailure {
  readonly status: number | null;
  readonly errors: readonly RegistryErrorEntry[];
  readonly temporary: boolean;
  readonly unclear: boolean;
  readonly retryAfterMs: number;

  constructor(problem: Problem, failure: Partial<RegistryFailure> = {}, options?: ErrorOptions) {
    super(problem, options);
    this.status = failure.status ?? null;
    this.errors = failure.errors ?? [];
    this.temporary = failure.temporary ?? false;
    this.unclear = failure.unclear ?? false;
    this.retryAfterMs = failure.retryAfterMs ?? 0;
  }

  /** The same, said of this part of what was asked for. */
  of(part: string): RegistryError {
    const [problem] = this.problems;
    return new RegistryError({ ...problem, message: `${part}: ${problem.message}` }, this, { cause: this });
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

const kinds = {
  timeout: { temporary: true },
  reset: { temporary: true },
  tls: { temporary: false },
  /** The name does not resolve, or nothing listens there. */
  unreachable: { temporary: false },
  /** The answer is not HTTP. */
  garbage: { temporary: false },
  tooLarge: { temporary: false },
  interrupted: { temporary: false },
} as const satisfies Record<string, { temporary: boolean }>;

/** Why an HTTP exchange gave no whole answer, and whether another try makes sense. */
type TransportErrorKind = keyof typeof kinds;

export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly kind: TransportErrorKind;
  readonly temporary: boolean;

  constructor(kind: TransportErrorKind, message: string, temporary: boolean, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
    this.temporary = temporary;
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
  if (typeof cause === "string") return new TransportError(cause, message, kinds[cause].temporary);
  const kind = kindOf(cause);
  return new TransportError(kind, message, kinds[kind].temporary, { cause });
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
