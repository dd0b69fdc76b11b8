// What would a build do, and what would each image need?
import { plan } from "imgmatch";

// Of bases that the lock does not pin, nobody is asked.
const { cells } = await plan({ offline: true });
for (const { cell, action, requires } of cells) {
  if (action !== "keep") continue;
  const { cpu, cuda } = requires;
  console.log(`${cell}: ${cpu.features.length} CPU features, ${cuda?.code.join(" ") ?? "no GPU"}`);
}
