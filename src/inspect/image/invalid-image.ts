/** The error for a file that is no image, or a damaged one, with the place. */

import { ImgmatchError } from "../../errors.ts";

export function invalidImage(
  message: string,
  fix = "check how the image was made, and copy or pull it again",
): ImgmatchError {
  return new ImgmatchError({ code: "IMAGE_INVALID", message, fix });
}
