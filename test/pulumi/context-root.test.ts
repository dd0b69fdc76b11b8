import { describe, expect, it } from "vitest";
import { withoutOwnFolder } from "../../src/pulumi/context-root.ts";

const changed = (line: string) =>
  withoutOwnFolder(`FROM scratch\n${line}\n`, ".imgmatch", ".imgmatch/context").slice(
    "FROM scratch\n".length,
    -1,
  );
const own = ".imgmatch/context";

describe("What takes the whole context", () => {
  it.each([
    ["COPY . /", `COPY ${own}/. /`],
    ["copy --chown=1:1 --link ./ /app/", `copy --chown=1:1 --link ${own}/./ /app/`],
    ["COPY / /app", `COPY ${own}// /app`],
    ["COPY a/.. /app", `COPY ${own}/a/.. /app`],
    ["COPY app . lib /app/", `COPY app ${own}/. lib /app/`],
    ["ADD . /", `ADD ${own}/. /`],
    ['COPY [".", "/with space/"]', `COPY ["${own}/.", "/with space/"]`],
    ['COPY --chown=1:1 ["a b", "*", "/"]', `COPY --chown=1:1 ["a b", "${own}/*", "/"]`],
    ['COPY "." /', `COPY "${own}/." /`],
    ["COPY --parents . /", `COPY --parents ${own}/./. /`],
    ["COPY a \\\n  # why\n  . /", `COPY a \\\n  # why\n  ${own}/. /`],
  ])("%j", (line, wanted) => expect(changed(line)).toBe(wanted));
});

describe("What may take imgmatch's own folder", () => {
  it.each([
    ["COPY * /", `COPY ${own}/* /`],
    ["COPY .i?gmatch/x /", `COPY ${own}/.i?gmatch/x /`],
    ["COPY .imgmatch/x /", `COPY ${own}/.imgmatch/x /`],
    [`COPY \${from:-.} /`, `COPY ${own}/\${from:-.} /`],
  ])("%j", (line, wanted) => expect(changed(line)).toBe(wanted));
});

describe("What mounts the whole context", () => {
  it.each([
    ["RUN --mount=target=/src make", `RUN --mount=target=/src,source=${own} make`],
    ["RUN --mount=type=bind,target=. make", `RUN --mount=type=bind,target=.,source=${own} make`],
    ['RUN --mount="type=bind,target=/src" make', `RUN --mount="type=bind,target=/src,source=${own}" make`],
    ["RUN --mount=src=.,target=/src make", `RUN --mount=src=${own}/.,target=/src make`],
    [
      "RUN --mount=type=cache,target=/c --mount=target=/src \\\n  make",
      `RUN --mount=type=cache,target=/c --mount=target=/src,source=${own} \\\n  make`,
    ],
  ])("%j", (line, wanted) => expect(changed(line)).toBe(wanted));
});

describe("Everything else stays", () => {
  it.each([
    "COPY content /content",
    "COPY lib/* lib/. /app/",
    "COPY --from=build . /",
    "COPY --from=build / /",
    "COPY <<EOF /file\n.\nCOPY . /\nEOF",
    "ADD https://example.com/x.tar /",
    "ADD git@example.com:team/x.git /",
    `ADD \${URL} /`,
    "ONBUILD COPY . /",
    "RUN --mount=type=cache,target=/c make . /",
    "RUN --mount=from=build,target=/src make",
    "RUN --mount=type=bind,source=lib,target=/src make",
    "RUN cp --mount=target=/src . /",
    "# COPY . /",
    "WORKDIR .",
  ])("%j", (line) => expect(changed(line)).toBe(line));
});
