/** The verdict on one image by its labels, for programs and for people. */

import type { HostFacts } from "../../host/facts.ts";
import type { FoundImage } from "../../inspect/find-image.ts";
import type { ImageCheck } from "../../resolve/check-image.ts";
import { describeCode } from "../../resolve/describe-measured.ts";
import type { Style } from "./style.ts";
import { reasonLines, verdictLine } from "./verdict.ts";

/** `imgmatch check --json`: a contract. */
export function checkToJson(image: FoundImage, verdict: ImageCheck, problems: readonly object[]) {
  return {
    schemaVersion: 1,
    image: image.reference,
    source: image.source,
    digest: image.digest,
    platform: image.platform,
    fits: verdict.fits,
    tier: verdict.tier,
    reasons: verdict.reasons.map(({ code, message, fix }) => ({ code, message, fix })),
    unknown: verdict.unknown,
    requires: verdict.requires,
    ...(verdict.measured === null ? {} : { measured: verdict.measured }),
    problems,
  };
}

export function checkLines(
  image: FoundImage,
  verdict: ImageCheck & { readonly inLock: boolean },
  host: HostFacts,
  style: Style,
): readonly string[] {
  const { fits, tier, code, reasons, unknown } = verdict;
  const by = verdict.requires === null ? "its environment, it has no readable imgmatch label" : "its label";
  const origin = verdict.inLock
    ? `  judged by the lock${verdict.measured === null ? "" : `: ${verdict.measured}`}`
    : `  judged by ${by}, read from the ${image.source}`;
  const head = verdictLine(style, fits, image.reference);
  if (fits === true) return [head, `  ${[`tier ${tier}`, ...describeCode(code, host)].join(", ")}`, origin];
  return [
    head,
    ...reasonLines(reasons, style),
    ...unknown.map((what) => `  unknown: ${what}`),
    origin,
    ...(fits === null ? ["  nothing speaks against it, and nothing proves that it runs"] : []),
  ];
}
