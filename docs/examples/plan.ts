// What would a build do, and what would each image need?
import { openFleet, planOpenFleet, readLock } from "imgmatch";

const fleet = await openFleet("matrix.yaml");
const plan = await planOpenFleet(fleet, {
  lock: await readLock("images/imgmatch.lock.json"),
  // Digests that the lock does not pin; createRegistryClient asks registries.
  findBaseDigest: async () => null,
});

for (const { cell, action } of plan.cells) {
  if (action !== "keep") continue;
  const { cpu, cuda } = cell.requires;
  console.log(`${cell.id}: ${cpu.features.length} CPU features, ${cuda?.code.join(" ") ?? "no GPU"}`);
}
const [first] = plan.cells;
if (first !== undefined) console.log(fleet.render(first.cell).text.split("\n")[1]);
