import { describe, expect, it } from "vitest";
import { dockerfileName, partOf, resourceName, timesBuilt } from "../../src/pulumi/register-images.ts";
import { stackImages } from "../../src/pulumi/stack-images.ts";
import type { ReadyCell } from "../../src/fleet/engines/jobs.ts";

const inputs = `sha256:${"ab".repeat(32)}` as const;
const others = `sha256:${"cd".repeat(32)}` as const;
const published = `sha256:${"ef".repeat(32)}` as const;
const planned = { cell: { id: "12.8.1_9.0" }, inputDigest: inputs, tag: "t" } as unknown as ReadyCell;
const imageName = "registry.example.com/fleet:t";
const pushed = {
  imageName,
  dockerfile: `.imgmatch/${dockerfileName("12.8.1_9.0", inputs)}`,
  pushed: true,
  path: null,
  login: null,
  secrets: [],
};
const part = (views: Partial<Parameters<typeof partOf>[0]>) =>
  partOf({ planned, imageName, published: null, known: null, push: true, ...views });

describe("What becomes of a cell", () => {
  it.each([
    ["is built when nobody has it", {}, "register"],
    ["stays when stack and registry have it", { published, known: pushed }, "keep"],
    ["is adopted when only the registry has it", { published }, "adopt"],
    [
      "is adopted when the stack has other inputs of it",
      { published, known: { ...pushed, dockerfile: `.imgmatch/${dockerfileName("12.8.1_9.0", others)}` } },
      "adopt",
    ],
    ["is lost when the registry does not have it any more", { known: pushed }, "lost"],
    ["stays as long as the registry was not asked", { published: undefined, known: pushed }, "keep"],
    ["is built when nobody has it and the registry was not asked", { published: undefined }, "register"],
    [
      "stays when it was lost and built again before",
      {
        published,
        known: { ...pushed, dockerfile: `contexts/.imgmatch/${dockerfileName("12.8.1_9.0", inputs, 2)}` },
      },
      "keep",
    ],
    ["is pushed when it was built without", { known: { ...pushed, pushed: false } }, "register"],
    ["stays when nothing is to be pushed", { known: { ...pushed, pushed: false }, push: false }, "keep"],
    ["is built under another tag", { known: { ...pushed, imageName: `${imageName}2` } }, "register"],
  ] as const)("%s", (_, views, expected) => expect(part(views)).toBe(expected));
});

describe("The name of a Dockerfile", () => {
  it("says of which inputs an image is, and how often it was built again", () => {
    const built = (path: string) => timesBuilt(path, "12.8.1_9.0", inputs);
    expect([0, 1, 12].map((again) => built(`a/${dockerfileName("12.8.1_9.0", inputs, again)}`))).toEqual([
      0, 1, 12,
    ]);
    expect(built(dockerfileName("12.8.1_9.0", others))).toBeNull();
    expect(built(dockerfileName("12.8.1_8.0", inputs))).toBeNull();
    expect(built("")).toBeNull();
  });
});

describe("The stack's images", () => {
  it("are found by their resource's name, whatever component is above them", () => {
    const urn =
      "urn:pulumi:dev::platform::a:b:C$imgmatch:index:ImageFleet$docker:index/image:Image::fleet-a::b";
    const outputs = {
      imageName,
      dockerfile: "d",
      repoDigest: "r",
      __inputs: { registry: { server: "h", username: "u" }, build: { dockerfile: "c/d" } },
    };
    const login = { server: "h", username: "u" };
    expect([...stackImages({ [urn]: outputs }, "docker")]).toEqual([
      ["fleet-a::b", { imageName, dockerfile: "d", path: "c/d", pushed: false, login, secrets: [] }],
    ]);
    expect(
      stackImages({ [urn]: { ...outputs, repoDigest: "r@sha256:1" } }, "docker").get("fleet-a::b"),
    ).toMatchObject({ pushed: true });
  });

  it("are those of one provider", () => {
    const urn = "urn:pulumi:dev::platform::imgmatch:index:ImageFleet$docker-build:index:Image::fleet-a";
    const outputs = {
      tags: [imageName],
      dockerfile: { location: "c/d" },
      digest: published,
      push: true,
      registries: [{ address: "h", username: "u", password: "p" }],
      secrets: { token: "t" },
    };
    expect(stackImages({ [urn]: outputs }, "docker").size).toBe(0);
    const image = { imageName, dockerfile: "c/d", path: "c/d", pushed: true, secrets: ["token"] };
    expect([...stackImages({ [urn]: outputs }, "docker-build")]).toEqual([
      ["fleet-a", { ...image, login: { server: "h", username: "u" } }],
    ]);
    // An image of `load` is in the engine alone.
    expect([...stackImages({ [urn]: { ...outputs, push: false } }, "docker-build").values()]).toMatchObject([
      { pushed: false },
    ]);
  });

  it("are nothing else that a stack holds, and none that was never finished", () => {
    const other = "urn:pulumi:dev::platform::docker:index/remoteImage:RemoteImage::x";
    const unfinished = "urn:pulumi:dev::platform::docker:index/image:Image::x";
    expect(stackImages({ [other]: { imageName }, [unfinished]: undefined }, "docker").size).toBe(0);
  });
});

it("names are stable and tell the inputs", () => {
  expect(resourceName("fleet", "12.8.1_9.0+ptx")).toBe("fleet-12.8.1_9.0+ptx");
  expect(dockerfileName("a/b c", inputs)).toBe("a_b_c-abababababababab.Dockerfile");
});
