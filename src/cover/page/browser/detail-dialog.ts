/** The dialog that the address asks for: a class, an image, or why a class does not get an image. */

import type { App } from "./app.ts";
import { classDetail, whyNotDetail } from "./class-detail.ts";
import { button, h } from "./element.ts";
import { imageDetail } from "./image-detail.ts";
import { leavePlace, type Place, readPlace } from "./route.ts";

export function detailDialog(app: App): HTMLElement {
  const title = h("h2", { id: "detail-title", tabindex: -1 });
  const body = h("div.detail");
  const close = button("close", () => dialog.close(), "Close");
  const dialog = h("dialog", { "aria-labelledby": "detail-title" }, h("header", title, close), body);
  dialog.addEventListener("close", leavePlace);
  // Only a click beside the dialog's content hits the dialog itself.
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  const draw = () => {
    const found = contentOf(app, readPlace(location.hash));
    if (found === null) {
      if (dialog.open) dialog.close();
      return;
    }
    title.replaceChildren(...found.title);
    body.replaceChildren(...found.content);
    body.scrollTop = 0;
    if (!dialog.open) dialog.showModal();
    title.focus();
  };
  addEventListener("hashchange", draw);
  queueMicrotask(draw);
  return dialog;
}

interface Content {
  readonly title: readonly HTMLElement[];
  readonly content: readonly HTMLElement[];
}

function contentOf(app: App, { class: id, image: cell }: Place): Content | null {
  if (id !== null && cell !== null) return content("Why not?", "", whyNotDetail(app, id, cell));
  if (id !== null) return content("Class", id, classDetail(app, id));
  return cell === null ? null : content("Image", cell, imageDetail(app, cell));
}

function content(kind: string, name: string, found: readonly HTMLElement[] | null): Content {
  return {
    title: [h("span", kind), h("span.cell", ` ${name}`)],
    content: found ?? [h("p", "There is none of this name here.")],
  };
}
