/** `imgmatch verify`: whether the registry holds what the lock says. */

import { type ExitCode, exitCodes } from "../errors.ts";
import { lockPath } from "../lock/lock.ts";
import { readLock } from "../lock/lock-file.ts";
import { printableReport } from "../input/printable.ts";
import type { Drift, Verification } from "../publish/verify-lock.ts";
import { type Style, styleFor } from "../report/style.ts";
import { count, formatTable } from "../report/table.ts";
import type { CommandContext } from "./context.ts";
import { type RegistryFlags, registryFor } from "./registry-options.ts";

export interface VerifyFlags extends RegistryFlags {
  readonly lock: string;
  readonly heal?: boolean;
  readonly json?: boolean;
}

export async function verify(flags: VerifyFlags, context: CommandContext): Promise<ExitCode> {
  const lock = await readLock(flags.lock);
  const { verifyLock } = await import("../publish/verify-lock.ts");
  const registry = await registryFor(flags, context);
  const verification = await verifyLock(lock, { registry, heal: flags.heal ?? false });
  if (flags.json) context.out(`${JSON.stringify({ schemaVersion: 1, ...verification }, null, 2)}\n`);
  else context.out(report(verification, flags, styleFor(context.terminal.color.out)));
  return verification.drift.every(({ healed }) => healed) ? exitCodes.ok : exitCodes.failed;
}

function report({ intact, unpublished, drift }: Verification, flags: VerifyFlags, style: Style): string {
  const rows = drift.map((found) => [
    found.healed ? "healed" : found.finding,
    found.cell,
    found.reference,
    detail(found),
  ]);
  const lines = formatTable(rows).map((line, index) =>
    drift[index]?.healed ? style.good(line) : style.bad(line),
  );
  const open = drift.filter(({ healed }) => !healed);
  const parts = [
    `${count(intact, "image")} as the lock says`,
    ...(drift.length > 0 ? [`${drift.length} not`] : []),
    ...(drift.length > open.length ? [`${drift.length - open.length} healed`] : []),
    ...(unpublished.length > 0 ? [`${unpublished.length} never pushed`] : []),
  ];
  return printableReport([...lines, parts.join(", "), ...advice(open, flags)]);
}

function detail({ finding, digest, found }: Drift): string {
  switch (finding) {
    case "moved":
      return `holds ${found}, the lock says ${digest}`;
    case "vanished":
      return `no such tag; ${digest} is still there`;
    case "lost":
      return `${digest} is gone${found === null ? "" : `; the tag holds ${found}`}`;
  }
}

function advice(open: readonly Drift[], { heal, lock }: VerifyFlags): string[] {
  const canHeal = !heal && open.some(({ finding }) => finding !== "lost");
  const lost = open.filter(({ finding }) => finding === "lost").map(({ cell }) => cell);
  const where = lock === lockPath ? "" : ` --lock ${lock}`;
  return [
    ...(canHeal ? ["imgmatch verify --heal gives each tag its digest again"] : []),
    ...(lost.length > 0
      ? [
          "what is lost must be built again:",
          `  imgmatch lock${where} rm ${lost.join(" ")}`,
          `  imgmatch build --push${where} --only ${lost.join(",")}`,
        ]
      : []),
  ];
}
