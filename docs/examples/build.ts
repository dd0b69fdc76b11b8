// Builds what the lock does not have, pushes it, and writes the lock: `imgmatch build --push`.
import { build } from "imgmatch";

const { results } = await build({
  registry: "localhost:5000",
  push: true,
  onEvent: (event) => event.type === "done" && console.log(event.cell),
});
process.exitCode = results.every(({ status }) => status === "built") ? 0 : 1;
