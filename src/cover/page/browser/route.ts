/** The place on the page, as its address says it: `#class=c3&image=12.8.1_8.0` can be sent to others, and the way back works. */

export interface Place {
  readonly class: string | null;
  readonly image: string | null;
}

type Address = `#${string}`;

export function classAddress(id: string): Address {
  return `#class=${encodeURIComponent(id)}`;
}

export function imageAddress(cell: string): Address {
  return `#image=${encodeURIComponent(cell)}`;
}

export function whyNotAddress(id: string, cell: string): Address {
  return `#class=${encodeURIComponent(id)}&image=${encodeURIComponent(cell)}`;
}

/** Reads the place of an address; null for members that it lacks. */
export function readPlace(hash: string): Place {
  const members = new URLSearchParams(hash.replace(/^#/, "").replaceAll("+", "%2B"));
  return { class: members.get("class"), image: members.get("image") };
}

/** Leaves the place without scrolling. */
export function leavePlace(): void {
  history.replaceState(null, "", `${location.href.replace(/#.*$/, "")}#`);
}
