/** `imgmatch cover --html`: writes a single page: it shows a fleet and its hosts, and answers why-not without a network. */

import type { CoverFleet } from "../cover-fleet.ts";
import type { CoverReport } from "../cover-report.ts";
import type { NamedHost } from "../../facts/named-host.ts";
import { headline, summary } from "../cover-words.ts";
import type { ResolveImageOptions } from "../../resolve/resolve-options.ts";
import { version } from "../../version.ts";
import { pageDocument } from "./document.ts";
import { pageData } from "./page-data.ts";
import { pack } from "./packed.ts";

/**
 * The page of a report, as HTML. It holds the names of hosts and the facts that rules ask for, and no serial numbers.
 *
 * @param report of `coverReport` for the same fleet, hosts and options
 * @example
 * const report = coverReport(fleet, hosts, { whatIf: ["driver=580.95.05"] });
 * await writeFile("report.html", await coverPage(fleet, hosts, report));
 */
export async function coverPage(
  fleet: CoverFleet,
  hosts: readonly NamedHost[],
  report: CoverReport,
  options: ResolveImageOptions = {},
): Promise<string> {
  const { name, version: release } = report.fleet;
  const data = pack(pageData(fleet, hosts, report, options));
  const text = {
    title: `${name} ${release}: who gets which image`,
    summary: `${headline(report)}: ${summary(report, report)}`,
  };
  // Loaded here, as it is as large as the rest of the program.
  const { pageAssets } = await import("./assets.ts");
  return pageDocument({ ...text, version, data }, await pageAssets());
}
