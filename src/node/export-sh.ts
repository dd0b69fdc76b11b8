/** `imgmatch export sh`: the resolver of a fleet as a script of sh and awk, for nodes without Node.js. */

import type { HostChoice } from "../host/probe.ts";
import { inWorld, type Watching, type World } from "../io/world.ts";
import { version } from "../version.ts";
import { type QuestionOptions, type QuestionPorts, readFleetQuestion } from "./question.ts";
import { fleetScript } from "./sh/fleet-script.ts";

export type ExportShOptions = Omit<QuestionOptions, keyof HostChoice | "local" | "explain"> & Watching;

export interface ExportShAnswer {
  readonly schemaVersion: 1;
  /** The version of imgmatch. */
  readonly version: string;
  /** sha256 of the lock as imgmatch writes it. It is also the file's, unless somebody edited the file. */
  readonly lockDigest: string;
  readonly images: number;
  readonly script: string;
}

/**
 * Writes a script that answers as `resolve` does. Equal locks, pins and versions give equal bytes. Throws `LOCK_…`, `PIN_UNKNOWN`, `USAGE`,
 * `REGISTRY_…`, `SIGNATURE_…`, and `EXPORT_UNSAFE` for a lock with values that a script may not hold.
 *
 * @example
 * const { script } = await exportSh({ pin: ["python=3.12"] });
 */
export type ExportShFunction = (options?: ExportShOptions, world?: Partial<World>) => Promise<ExportShAnswer>;

export function exportShWith(ports: QuestionPorts): ExportShFunction {
  return (options = {}, given) => inWorld(options, given, (world) => exportShIn(options, world), ports);
}

async function exportShIn(options: ExportShOptions, world: World & QuestionPorts): Promise<ExportShAnswer> {
  const question = await readFleetQuestion(options, world);
  const { text, lockDigest, images } = await fleetScript(question.lock, { ...question.options, version });
  return { schemaVersion: 1, version, lockDigest, images, script: text };
}
