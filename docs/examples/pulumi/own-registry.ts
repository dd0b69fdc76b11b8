import * as docker from "@pulumi/docker";
import * as pulumi from "@pulumi/pulumi";
import { ImageFleet } from "imgmatch/pulumi";

// A registry of this program: here a container, in a cloud aws.ecr.Repository, gcp.artifactregistry.Repository …
const image = new docker.RemoteImage("registry", { name: "registry:2" });
const container = new docker.Container("registry", { image: image.imageId, ports: [{ internal: 5000 }] });
const host = container.ports.apply((ports) => `127.0.0.1:${ports?.[0]?.external}`);

// A preview shows the images; where they will be is known when the registry is there.
const fleet = new ImageFleet(
  "vision",
  { matrix: "../vision/matrix.yaml", only: ["cuda=none"], publishTo: pulumi.interpolate`${host}/team` },
  { dependsOn: [container] },
);

export const references = fleet.references;
