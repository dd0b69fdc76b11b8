// Which image of the fleet was built for this machine, or for another: `tsx resolve.ts hosts/h100.json`?
import { resolve } from "imgmatch";

const [host] = process.argv.slice(2);
const { match, rejected } = await resolve({ pin: ["python=3.12"], ...(host && { host }) });
if (match !== null) console.log(`${match.cell}, tier ${match.tier}, because ${match.reasons.join(", ")}`);
for (const { cell, code } of rejected) console.log(`${cell}: ${code}`);
