// One image on one host, and what the tables say: nothing here reads a file or a device but the two arguments.
import { readFile } from "node:fs/promises";
import { ImgmatchError } from "imgmatch";
import { checkFit, describeHardware, explainResolution, parseHostFacts, readLock } from "imgmatch/resolve";

try {
  const lock = await readLock("images/imgmatch.lock.json");
  const host = parseHostFacts(await readFile("hosts/h100.json", "utf8"), "hosts/h100.json");

  const cell = "13.0.2_9.0a_sapphirerapids_3.12";
  const image = lock.images[cell];
  if (image !== undefined) {
    const verdict = checkFit(image, host);
    console.log(verdict.ok ? `${cell} fits` : `${verdict.code}: ${verdict.message}`);
  }
  console.log(explainResolution(lock, host).find((line) => line.startsWith("match")));

  const gpu = await describeHardware("gpu", "H100");
  console.log(gpu?.tables[0]?.rows[0]);

  await readLock("nowhere.json");
} catch (error) {
  // The one error class: a code, a message with the numbers, and the fix.
  if (!(error instanceof ImgmatchError)) throw error;
  for (const { code, fix } of error.problems) console.log(`${code}: ${fix}`);
}
