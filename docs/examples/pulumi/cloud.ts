import * as aws from "@pulumi/aws";
import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { chooseLaunch, type HostFacts, ImageFleet, launchTargets } from "imgmatch/pulumi";

// A repository with the matrix's name, in the registry of the account.
const repository = new aws.ecr.Repository("vision", { name: "vision", imageTagMutability: "IMMUTABLE" });
const login = aws.ecr.getAuthorizationTokenOutput({ registryId: repository.registryId });

const fleet = new ImageFleet("vision", {
  matrix: "../vision/matrix.yaml",
  only: ["cuda=none,python=3.12"],
  publishTo: repository.repositoryUrl.apply((url) => url.slice(0, url.lastIndexOf("/"))),
  registry: { username: login.userName, password: login.password },
});

// What `imgmatch probe --json` printed on the hosts of one pool, whose nodes have the labels of `imgmatch labels`.
const pool = new pulumi.Config().requireObject<HostFacts>("pool");

/** What `imgmatch launch kubernetes` writes: a Deployment of the image that fits the pool. */
const manifests = fleet.lock.apply((lock) => {
  const choice = chooseLaunch(launchTargets.kubernetes, lock, pool);
  if (!choice.ok) throw new Error(JSON.stringify(choice));
  const launch = launchTargets.kubernetes.launch({ ...choice.request, args: ["serve"], task: "service" });
  return launch.form === "documents" ? [...launch.documents] : [];
});
new k8s.yaml.v2.ConfigGroup("vision", { objs: manifests });

export const references = fleet.references;
