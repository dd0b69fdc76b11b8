/** The switch between light, dark and the system's colours. */

import { choicesOf } from "./choices.ts";

const key = "imgmatch.scheme";
const schemes = ["auto", "light", "dark"] as const;
type Scheme = (typeof schemes)[number];

export function schemeSwitch(): HTMLElement {
  const chosen = remembered();
  apply(chosen);
  const choices = schemes.map((value) => ({ value, label: value[0]?.toUpperCase() + value.slice(1) }));
  return choicesOf("scheme", "Colours", choices, chosen, (scheme) => {
    apply(scheme);
    remember(scheme);
  });
}

function apply(scheme: Scheme): void {
  if (scheme === "auto") delete document.documentElement.dataset.scheme;
  else document.documentElement.dataset.scheme = scheme;
}

/** A page from a file, or in a frame, may have no storage. */
function remembered(): Scheme {
  try {
    const found = localStorage.getItem(key);
    return schemes.find((scheme) => scheme === found) ?? "auto";
  } catch {
    return "auto";
  }
}

function remember(scheme: Scheme): void {
  try {
    localStorage.setItem(key, scheme);
  } catch {
    // The choice then lasts until the page is closed.
  }
}
