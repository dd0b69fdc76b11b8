// npx tsx --test fleet.test.ts: which images a program declares. It needs neither Pulumi's engine, nor Docker, nor a registry.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import * as pulumi from "@pulumi/pulumi";
import { ImageFleet } from "imgmatch/pulumi";

const images: string[] = [];

const mocks: pulumi.runtime.Mocks = {
  // What a provider answers for an image that it built and did not push.
  newResource: ({ type, name, inputs }) => {
    if (type === "docker:index/image:Image") images.push(inputs.imageName);
    return { id: name, state: { ...inputs, repoDigest: `sha256:${"0".repeat(64)}` } };
  },
  // imgmatch asks for the state of the stack: a new one has nothing.
  call: () => ({ outputs: {} }),
};

// The last word is the organisation. Pulumi has none by default, and imgmatch asks for it.
before(() => pulumi.runtime.setMocks(mocks, "vision", "test", false, "organization"));

test("declares one image for each march", async () => {
  const fleet = new ImageFleet("vision", {
    matrix: {
      name: "vision",
      version: "1.4.0",
      registry: "registry.example.com/team",
      template: "../vision/templates/app.Dockerfile.hbs",
      base: "scratch",
      measure: false,
      axes: { march: ["x86-64-v2", "x86-64-v3"], python: ["3.12"] },
    },
    push: false,
  });
  const lock = await new Promise<pulumi.Unwrap<typeof fleet.lock>>((done) => fleet.lock.apply(done));
  assert.deepEqual(Object.keys(lock.images), ["x86-64-v2_3.12", "x86-64-v3_3.12"]);
  assert.equal(images.length, 2);
  assert.match(images[0] ?? "", /^registry\.example\.com\/team\/vision:1\.4\.0-/);
});
