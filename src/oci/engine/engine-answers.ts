/** What the Docker Engine API answers, as far as it is read. Podman's imitation of it has null where there is nothing. */

import { anyObject, anyText, fields, list, optional, wholeNumber } from "../../io/checks.ts";

const texts = optional(list(anyText), []);

/** `/images/json` */
export const imageList = list(fields({ Id: anyText }));

/** `/images/NAME/json` */
export const imageAnswer = fields({
  RepoTags: texts,
  Size: optional(wholeNumber),
  RootFS: optional(fields({ Layers: texts }), { Layers: [] }),
});

/** The same, for who asks which image a name means. */
export const namedImage = fields({ Id: anyText, RepoDigests: texts, Size: optional(wholeNumber) });

/** `/images/NAME/history`, the last step first. */
export const imageHistory = list(fields({ CreatedBy: anyText }));

/** `/version` */
export const versionAnswer = fields({
  Version: optional(anyText),
  Os: optional(anyText),
  Arch: optional(anyText),
  Components: optional(list(fields({ Name: optional(anyText, "") })), []),
});

/** `/info` */
export const infoAnswer = fields({
  DriverStatus: optional(list(texts), []),
  DockerRootDir: optional(anyText),
  Runtimes: optional(anyObject, {}),
});
