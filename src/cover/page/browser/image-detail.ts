/** The detail of one image: its requirement, who gets it, and who does not, with the reason. */

import { groupBy } from "../../../io/collections.ts";
import { describeMeasured } from "../../../resolve/describe-measured.ts";
import { referenceOf } from "../../../resolve/resolve-image.ts";
import { hostsOf } from "../../image-use.ts";
import { isPlanned } from "../../cover-fleet.ts";
import type { LockedImage } from "../../../lock/lock.ts";
import {
  answerOfSide,
  type BySide,
  type DriverRequirement,
  sidesOf,
  variantsOf,
} from "../../../lock/requirement.ts";
import type { App, View } from "./app.ts";
import { classLink, copyable, factsList, someOf } from "./pieces.ts";
import { counted, h } from "./element.ts";
import { noteOf } from "./image-table.ts";
import { whyNotAddress } from "./route.ts";

/** null for an unknown image. */
export function imageDetail(app: App, cell: string): readonly HTMLElement[] | null {
  const view = app.view();
  const found = view.images.find((each) => each.cell === cell);
  const image = view.fleet.lock.images[cell];
  if (found === undefined || image === undefined) return null;
  const note = noteOf(found, app);
  return [
    h(
      "p.lead-line",
      h("strong", `${counted(found.hosts, app.noun)} ${found.hosts === 1 ? "gets" : "get"} it`),
      `; it fits ${counted(found.fits, app.noun)}.`,
    ),
    h(
      "div.answer",
      note === "" ? null : h("p", note),
      isPlanned(image)
        ? h("p.muted", "Planned: it is not built yet.")
        : copyable(referenceOf(view.fleet.lock, image)),
    ),
    h("h3", "What it is, and needs"),
    needsOf(image),
    h("h3", "Who gets it"),
    gettersOf(view, cell),
    h("h3", "Who does not, and why"),
    othersOf(app, view, cell),
  ];
}

const codeFacts: BySide<readonly (readonly [string, string])[]> = {
  nvidia: (cuda) =>
    variantsOf(cuda).flatMap(({ by, code, toolkit, driver }) => [
      [`GPU code${by === undefined ? "" : ` by ${by}`}`, `${code.join(", ")} of CUDA ${toolkit}`] as const,
      ["Driver", driverWords(driver)] as const,
    ]),
  amd: (rocm) =>
    variantsOf(rocm).map(
      ({ by, code, release }) =>
        [`GPU code${by === undefined ? "" : ` by ${by}`}`, `${code.join(", ")} of ROCm ${release}`] as const,
    ),
};

function needsOf(image: LockedImage): HTMLElement {
  const { cpu, kernel } = image.requires;
  const code = sidesOf(image.requires).flatMap((side) => answerOfSide(codeFacts, side));
  const measured = describeMeasured(image);
  return factsList([
    [
      "Axes",
      Object.entries(image.axes)
        .map(([axis, value]) => `${axis}=${value}`)
        .join("  "),
    ],
    ["Platform", image.platform],
    [
      "CPU",
      variantsOf(cpu)
        .map(({ by, march }) => by ?? march)
        .join(" or "),
    ],
    ...(code.length === 0 ? [["GPU code", "none"] as const] : code),
    kernel === undefined ? null : ["Kernel", `${kernel} or newer`],
    measured === null ? null : ["Measured", measured],
  ]);
}

function driverWords(driver: DriverRequirement): string {
  switch (driver.mode) {
    case "host":
      return `${driver.minimum} or newer`;
    case "bundled":
      return `exactly ${driver.version}, which it bundles`;
    case "compat":
      return `forward compatibility by package ${driver.package}`;
  }
}

function gettersOf({ classes }: View, cell: string): HTMLElement {
  const getters = classes.filter(({ match }) => match?.cell === cell);
  if (getters.length === 0) return h("p", "Nobody.");
  return h(
    "p",
    ...someOf(
      getters.map(({ id }) => classLink(id)),
      12,
    ),
  );
}

function othersOf(app: App, view: View, cell: string): HTMLElement {
  const against = view.answers().against(cell);
  const refused = new Set([...against.values()].flat());
  const beaten = view.classes.flatMap(({ match }, place) =>
    !refused.has(place) && match?.cell !== cell ? [place] : [],
  );
  const instead = groupBy(beaten, (place) => view.classes[place]?.match?.cell ?? "");
  const groups = [
    ...[...instead].map(([other, places]) => ({
      words: [h("span.cell", other), " comes first"],
      places,
    })),
    ...[...against].map(([code, places]) => ({ words: [h("code", code)], places })),
  ];
  if (groups.length === 0) return h("p", "Everybody gets it.");
  return h(
    "ul.others",
    ...groups.map(({ words, places }) => {
      const classes = places.flatMap((place) => view.classes[place] ?? []);
      const links = classes.map(({ id }) => h("a", { href: whyNotAddress(id, cell) }, id));
      return h("li", ...words, `, ${counted(hostsOf(classes), app.noun)}: `, ...someOf(links, 8));
    }),
  );
}
