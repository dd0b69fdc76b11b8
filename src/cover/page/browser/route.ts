/** Places on the page as addresses: `#class=c3&image=12.8.1_8.0` can be sent to others, and the back button works. */

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

/** Members that the address lacks are null. */
export function readPlace(hash: string): Place {
  const members = new URLSearchParams(hash.replace(/^#/, "").replaceAll("+", "%2B"));
  return { class: members.get("class"), image: members.get("image") };
}

/** Leaves the place without scrolling. */
export function leavePlace(): void {
  history.replaceState(null, "", `${location.href.replace(/#.*$/, "")}#`);
}
