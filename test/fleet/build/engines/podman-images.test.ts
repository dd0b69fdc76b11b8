import { expect, it } from "vitest";
import { imageOfLine } from "../../../../src/fleet/build/engines/podman/podman-images.ts";

// As Podman 4.3 and Buildah 1.28 print them.
it.each([
  ["--> 44ca4b7a6f5", "44ca4b7a6f5"],
  ["[2/3] --> 44ca4b7a6f50", "44ca4b7a6f50"],
  ["--> Using cache 78798c8fa4cfc17a69bf6daa83165255a6f2bd76824ee68c78eb3e1cf525c7cc", null],
  ["[1/2] STEP 3/3: RUN echo --> 44ca4b7a6f5", null],
])("%s names the image %s", (line, image) => expect(imageOfLine(line)).toBe(image));
