/** `imgmatch check IMAGE|REFERENCE`: will this one image run here, by what it says about itself. Exits 3 unless that is proved. */

import type { ExitCode } from "../errors.ts";
import type { HostFacts } from "../host/facts.ts";
import { type FoundImage, findImage } from "../inspect/find-image.ts";
import { printableReport } from "../input/printable.ts";
import { requiresLabel } from "../render/metadata.ts";
import { type Style, styleFor } from "../report/style.ts";
import { fitLine, misfitLine, reasonLines, unknownLine } from "../report/verdict.ts";
import { checkImage, type ImageCheck } from "../resolve/check-image.ts";
import { describeCode } from "../resolve/describe-code.ts";
import type { CommandContext } from "./context.ts";
import { type HostFlags, hostFor, tellProblems } from "./host-options.ts";
import { type RegistryFlags, registryFor } from "./registry-options.ts";
import { exitCodeOf } from "./why-not.ts";

export interface CheckFlags extends HostFlags, RegistryFlags {
  /** Image id or reference. */
  readonly image: string;
  readonly json?: boolean;
}

export async function check(flags: CheckFlags, context: CommandContext): Promise<ExitCode> {
  const host = await hostFor(flags, context);
  tellProblems(host, context);
  const image = await findImage(flags.image, {
    env: context.env,
    registry: await registryFor(flags, context),
    platform: host.platform,
    // What this machine's engine has is what it would run; about another machine it knows nothing.
    first: flags.host === undefined ? "engine" : "registry",
  });
  const requires = image.labels[requiresLabel] ?? null;
  const verdict = checkImage({ platform: image.platform, requires, env: image.env }, host);
  if (flags.json) context.out(`${JSON.stringify(toJson(image, verdict, host.problems), null, 2)}\n`);
  else context.out(printableReport(describe(image, verdict, host, styleFor(context.terminal.color.out))));
  return exitCodeOf(verdict);
}

function toJson(image: FoundImage, verdict: ImageCheck, problems: readonly object[]) {
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
    problems,
  };
}

function describe(image: FoundImage, verdict: ImageCheck, host: HostFacts, style: Style): readonly string[] {
  const { fits, tier, code, reasons, unknown } = verdict;
  const by = verdict.requires === null ? "its environment, it has no readable imgmatch label" : "its label";
  const origin = `  judged by ${by}, read from the ${image.source}`;
  if (fits === true) {
    const fit = [`tier ${tier}`, ...describeCode(code, host)].join(", ");
    return [fitLine(style, image.reference), `  ${fit}`, origin];
  }
  const head = fits === false ? misfitLine(style, image.reference) : unknownLine(style, image.reference);
  return [
    head,
    ...reasonLines(reasons, style),
    ...unknown.map((what) => `  unknown: ${what}`),
    origin,
    ...(fits === null ? ["  nothing speaks against it, and nothing proves that it runs"] : []),
  ];
}
