/** NVIDIA's GPU code in the report of `imgmatch inspect`. */

import type { InspectedFile } from "../inspect/file-inspection.ts";
import type { ImageInspection } from "../inspect/inspection.ts";
import type { TargetCount } from "../inspect/nvidia/gpu-inspection.ts";

export const nvidiaLines = {
  code: nvidiaTexts,
  targets: ({ requires: { cuda } }: ImageInspection) => cuda?.code ?? [],
  cards: () => [],
  needs: cudaLines,
} as const;

function nvidiaTexts({ gpu }: InspectedFile): readonly string[] {
  if (gpu === null) return [];
  const counted = ({ target, modules }: TargetCount): string =>
    gpu.modules === 1 ? target : `${target}×${modules}`;
  return [
    ...(gpu.registers ? gpu.targets.map(counted) : []),
    ...(gpu.registers ? gpu.embedded : gpu.targets).map((each) => `embedded:${counted(each)}`),
    ...gpu.relocatable
      .filter(({ target }) => target.startsWith("compute_"))
      .map((each) => `rdc:${counted(each)}`),
    ...gpu.lto.map(({ target }) => `lto:${target}`),
    ...gpu.unknown.map(({ kind }) => `unknown kind ${kind}`),
    ...((gpu.compression.zstd ?? 0) > 0 ? ["zstd"] : []),
  ];
}

function cudaLines({ requires: { cuda, choices } }: ImageInspection): readonly (readonly string[])[] {
  const by = cuda?.toolkitFile == null ? "" : ` (${cuda.toolkitFile})`;
  const raised = cuda?.raisedBy == null ? "" : ` (${cuda.raisedBy})`;
  return [
    ...(cuda === null
      ? []
      : [
          ["toolkit", `${cuda.toolkit ?? "unknown"}${by}`],
          ["driver", `${driverText(cuda.driver)}${raised}`],
        ]),
    ...choices.cuda.map(({ by, toolkit, driver, code }) => [
      `by ${by}`,
      `CUDA ${toolkit}, driver ${driverText(driver)}: ${code.join(" ")}`,
    ]),
  ];
}

function compatText(driver: Extract<Driver, { mode: "compat" }>): string {
  const { minimum, onPath, package: version } = driver;
  const carried = `its forward-compatibility package ${version}`;
  if (driver.for === "jetson") return `that of a Jetson, where it may be older: ${carried} is one for Jetson`;
  const floor = minimum === null ? "" : `at least ${minimum}, `;
  switch (onPath) {
    case "always":
      return `${version}, or an older one that ${carried} supports: the package comes first`;
    case "cache":
      return `${floor}and none newer than ${version} where the container runtime keeps the order of ld.so.conf: ${carried} comes first`;
    case "never":
      return `${floor}${floor === "" ? "" : "or "}older where the container runtime loads ${carried}`;
    case null:
      return `${floor}or as ${carried} has it where that is loaded`;
  }
}

type Driver = NonNullable<NonNullable<ImageInspection["requires"]["cuda"]>["driver"]>;

function driverText(driver: NonNullable<ImageInspection["requires"]["cuda"]>["driver"]): string {
  if (driver === null) return "unknown";
  if (driver.mode === "bundled") return `exactly ${driver.version} (bundled)`;
  const links = Object.entries(driver.links ?? {}).map(
    ([library, file]) => `; not that of JetPack 7, which has no ${library}: ${file} is linked with it`,
  );
  const l4t =
    driver.mode === "compat" || driver.l4t === undefined ? "" : `; on a Jetson that of L4T ${driver.l4t}`;
  const text = driver.mode === "compat" ? compatText(driver) : `at least ${driver.minimum}`;
  return [text, l4t, ...links].join("");
}
