/** Why an HTTP exchange gave no whole answer, and whether another try makes sense. */

const kinds = {
  timeout: { temporary: true },
  reset: { temporary: true },
  tls: { temporary: false },
  /** The name does not resolve, or nothing listens there. */
  unreachable: { temporary: false },
  /** What came is not HTTP. */
  garbage: { temporary: false },
  tooLarge: { temporary: false },
  interrupted: { temporary: false },
} as const satisfies Record<string, { temporary: boolean }>;

export type TransportErrorKind = keyof typeof kinds;

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
  // Node tries IPv6 and IPv4 and then throws both refusals together, with an empty message of its own.
  if (cause instanceof AggregateError) return cause.errors.map((error: Error) => error.message).join(", ");
  return cause.message;
}
