// What `imgmatch build --push` does.
import { build } from "imgmatch";

const { results } = await build({ push: true, registry: "localhost:5000" });
for (const { cell, status } of results) console.log(cell, status);
