/** One subject alone, as most tests look at it. */

import type { ImageInspection } from "../../../src/inspect/inspection.ts";
import { inspect, type InspectOptions } from "../../../src/inspect/inspect-subjects.ts";
import type { World } from "../../../src/io/world.ts";

export async function inspectOne(
  subject: string,
  options: Omit<InspectOptions, "subjects">,
  world: Partial<World>,
): Promise<ImageInspection> {
  const { subjects } = await inspect({ ...options, subjects: [subject] }, world);
  const [inspection] = subjects;
  if (inspection === undefined) throw new Error("no subject");
  return inspection;
}
