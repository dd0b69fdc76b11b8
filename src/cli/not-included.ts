/** Stands for the commands that the program in one file does not have: the bundler puts it in their place. */

import { ImgmatchError } from "../errors.ts";

throw new ImgmatchError({
  code: "USAGE",
  message: "this file has the commands resolve, pull, probe, why-not, serve and export sh",
  fix: "npm install --global imgmatch brings the others",
});
