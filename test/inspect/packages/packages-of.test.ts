import { expect, it } from "vitest";
import { surveyOf } from "../../../src/inspect/inspection.ts";
import { packagesOf } from "../../../src/inspect/packages/packages-of.ts";
import {
  databaseFile,
  madeFile,
  madeImage,
  madePackage,
  md5Of,
  sitePackages,
  unopenedFile,
} from "../support/made-opened.ts";

it("a file is its installer's, else the distribution's that brought it unchanged, else that of its folder", () => {
  const system = (path: string) => madeFile({ path: `/usr/lib/${path}`, content: path });
  const changes = [
    ...madePackage("torch", { path: "torch/lib/libtorch.so" }, { path: "torch/tests/data.so" }),
    madeFile({ path: `${sitePackages}/other/x.so` }),
    unopenedFile(`${sitePackages.slice(1)}/other/x.zip`),
    madeFile({ path: "/app/node_modules/@team/app/test/x.node" }),
    madeFile({ path: "/app/node_modules/@team/app/x.node" }),
    madeFile({ path: "/opt/own.so" }),
    system("libgpu.so"),
    system("changed.so"),
    // As a distribution's database has them, dpkg's and rpm's alike.
    databaseFile("var/lib/dpkg/status", {
      distribution: ["libgpu1"],
      files: {
        libgpu1: {
          "usr/lib/libgpu.so": `md5:${md5Of("libgpu.so")}`,
          "usr/lib/changed.so": `md5:${md5Of("as it came")}`,
        },
      },
    }),
  ];
  const image = madeImage(changes);
  const survey = surveyOf(image);
  const found = packagesOf(image, survey).map(({ name, version, members, unopened }) => ({
    ...{ name, version, files: members.map(({ file }) => file.path), unopened: unopened.length },
  }));
  expect(found.sort((a, b) => a.name.localeCompare(b.name))).toEqual([
    { name: "", version: null, files: ["/opt/own.so", "/usr/lib/changed.so"], unopened: 0 },
    { name: "@team/app", version: null, files: ["/app/node_modules/@team/app/x.node"], unopened: 0 },
    { name: "libgpu1", version: null, files: ["/usr/lib/libgpu.so"], unopened: 0 },
    { name: "other", version: null, files: [`${sitePackages}/other/x.so`], unopened: 1 },
    { name: "torch", version: "1", files: [`${sitePackages}/torch/lib/libtorch.so`], unopened: 0 },
  ]);
  expect(survey.tests.map(({ path }) => path)).toEqual([
    "/app/node_modules/@team/app/test/x.node",
    `${sitePackages}/torch/tests/data.so`,
  ]);
});
