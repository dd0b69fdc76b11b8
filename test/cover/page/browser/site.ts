/** A page in a browser, of which every request, error and violation of its policy is kept. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";

export interface Opened {
  readonly page: Page;
  /** Of anything at all, the page itself first. */
  readonly requests: readonly string[];
  /** Lines of the console, errors that nobody caught, and violations of the policy. */
  readonly complaints: readonly string[];
}

export interface Site {
  readonly open: (options?: BrowserContextOptions, place?: string) => Promise<Opened>;
  /** The requests to the server, which has the page and nothing else. */
  readonly served: readonly string[];
  readonly close: () => Promise<void>;
}

/** A server on this machine, as pages of CI and wikis come from one: its origin has storage, addresses and a network. */
export async function site(browser: Browser, html: string): Promise<Site> {
  const served: string[] = [];
  const server = createServer((request, response) => {
    served.push(request.url ?? "");
    response.writeHead(200, { "content-type": "text/html" }).end(html);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    served,
    open: (options = {}, place = "") =>
      open(browser, `http://127.0.0.1:${port}/report.html${place}`, options),
    close: () => closed(server),
  };
}

async function open(browser: Browser, address: string, options: BrowserContextOptions): Promise<Opened> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const requests: string[] = [];
  const complaints: string[] = [];
  context.on("request", (request) => requests.push(request.url()));
  page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  await page.addInitScript(() =>
    document.addEventListener("securitypolicyviolation", (event) =>
      console.error(`violation of ${event.violatedDirective}`),
    ),
  );
  await page.goto(address);
  return { page, requests, complaints };
}

function closed(server: Server): Promise<void> {
  return new Promise((done, fail) => server.close((error) => (error ? fail(error) : done())));
}

/** Of a table by its caption: each row's key and the texts of its cells, as they are seen; waits until all rows are there. */
export async function rowsOf(
  page: Page,
  caption: string,
  count: number,
): Promise<readonly (readonly string[])[]> {
  const table = page.getByRole("table", { name: caption });
  await table
    .locator("tbody tr")
    .nth(count - 1)
    .waitFor({ state: "attached" });
  return table
    .locator("tbody tr")
    .evaluateAll((rows) =>
      rows.map((row) => [
        row.getAttribute("data-key") ?? "",
        ...[...row.children].map((cell) => (cell as HTMLElement).innerText.trim()),
      ]),
    );
}
