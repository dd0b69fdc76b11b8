/** The address of the mirror: on this machine's loopback and nowhere else. */

import { usageError } from "../../errors.ts";
import type { MirrorAddress } from "./server.ts";

/** Throws `USAGE` for any other address: whoever reaches the mirror learns which images there are. */
export function parseListenAddress(text: string): MirrorAddress {
  const [, host, digits = ""] = /^(127\.0\.0\.1|localhost|\[::1\]):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (host === undefined || port > 65_535)
    throw usageError(
      `--listen ${JSON.stringify(text)} is not a loopback address of this machine`,
      "write --listen 127.0.0.1:5047 or --listen [::1]:5047",
    );
  return { host: host === "[::1]" ? "::1" : "127.0.0.1", port };
}
