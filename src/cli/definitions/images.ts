/** The arguments and flags of the commands about images that exist. */

import { withFleet } from "../flags/fleet-options.ts";
import { collect, withHost, withJson, withRegistries, withTrust } from "../flags/options.ts";
import type { Define } from "../define.ts";

export const verify: Define = (command, run) =>
  withTrust(withRegistries(withJson(command)))
    .description("check that the registry holds the lock's digest under every tag of the lock")
    .option("--lock <file>", "the lock", "images/imgmatch.lock.json")
    .option("--heal", "give each tag the lock's digest again, where the registry still has that manifest")
    .option("--provenance", "check too that what was attested of each image is what the lock says of it")
    .option("--sweep", "remove the tags imgmatch-… that killed publishers left; while nobody publishes there")
    .action(run(async (flags: never, context) => (await import("../verify.ts")).verify(flags, context)));

export const audit: Define = (command, run) =>
  withRegistries(withFleet(command))
    .description("open the images of the lock, and compare what is declared of them with their files")
    .option("--replace-base <old=new>", "as when it was built; repeatable", collect, [])
    .option("--remote", "ask the registry alone: what was never pushed is left out")
    .action(run(async (flags: never, context) => (await import("../audit.ts")).audit(flags, context)));

export const check: Define = (command, run) =>
  withTrust(withRegistries(withHost(command)))
    .description("say whether one image runs here, by what it says about itself")
    .argument("<image>", "reference, or id of an image in the container engine")
    .option("--lock <file>", "lock whose entry goes before the label (default: images/imgmatch.lock.json)")
    .action(run(async (flags: never, context) => (await import("../check.ts")).check(flags, context)));

export const inspect: Define = (command, run) =>
  withRegistries(withJson(command))
    .description("open an image: which CPU, GPU and driver the code of its files needs")
    .argument("<image>", "reference, image of the engine, ./archive.tar, ./layout or ./root-folder")
    .addOption(
      command.createOption("--from <place>", "look for a name only here").choices(["engine", "registry"]),
    )
    .option("--platform <os/arch>", "of an index, the image for this platform (default: this machine's)")
    .option("--files", "show every file, not only those that decide")
    .option("--no-cache", "open layers again that were opened before")
    .action(run(async (flags: never, context) => (await import("../inspect.ts")).inspect(flags, context)));

export const adopt: Define = (command, run) =>
  withRegistries(withJson(command))
    .description("open images that others built and write them into a lock, for resolve, publish and launch")
    .argument("<references...>", "images, each with its tag")
    .option("--lock <file>", "the lock (default: images/imgmatch.lock.json)")
    .option("--publish-to <repository>", "copy images of other repositories there, and lock them there")
    .option("--axis <axis=value>", "an axis of all these images; repeatable", collect, [])
    .option("--tag-pattern <pattern>", "axes out of each tag: {pytorch}-cuda*-{flavor}")
    .option("--march <name>", "state what they were compiled for (default: estimated from their files)")
    .option("--without <feature>", "a feature of that march which they do without; repeatable", collect, [])
    .option("--cuda <version>", "state the toolkit that is loaded, where the files do not decide it")
    .option("--platform <os/arch>", "of an index, the image for this platform (default: this machine's)")
    .option("--name <name>", "name of the fleet, in a new lock (default: the last part of the repository)")
    .option(
      "--fleet-version <version>",
      "version of the fleet, which becomes the tag of its index (default: 1)",
    )
    .action(run(async (flags: never, context) => (await import("../adopt.ts")).adopt(flags, context)));
