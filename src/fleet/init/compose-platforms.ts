/** The platforms of compose services, which bake does not read. Pure. */

import { fieldsOf } from "../../io/json.ts";
import type { Definition, OriginalBuild } from "./original-build.ts";

export interface ComposeData {
  readonly file: string;
  /** null for YAML that only buildx reads. */
  readonly data: unknown;
}

/** Gives each build without a platform that of its service (Compose specification, "services", platform). */
export function withPlatforms({ builds, notes }: Definition, files: readonly ComposeData[]): Definition {
  const [unread] = files.filter(({ data }) => data === null);
  const services = new Map<string, Readonly<Record<string, unknown>>>();
  for (const { data } of files)
    for (const [name, service] of Object.entries(fieldsOf(fieldsOf(data).services))) {
      // As bake names the target.
      const target = name.replaceAll(".", "_");
      services.set(target, { ...services.get(target), ...fieldsOf(service) });
    }
  return {
    notes,
    builds: builds.map((build): OriginalBuild => {
      if (build.platform !== null) return build;
      if (unread !== undefined) return unknown(build, `init does not understand the YAML of ${unread.file}`);
      const { platform, extends: extended } = services.get(build.name) ?? {};
      if (platform === undefined)
        return extended === undefined ? build : unknown(build, "the service extends another");
      return typeof platform === "string" && /^[\w/.-]+$/.test(platform)
        ? { ...build, platform }
        : unknown(build, `${String(platform)} is not known`);
    }),
  };
}

function unknown(build: OriginalBuild, why: string): OriginalBuild {
  return { ...build, left: [...build.left, `platform: ${why}`] };
}
