// The documentation: read without a script and without a login, searched, and copied from.
import { accessible, base, both, browse, must, tabTo } from "./page.mjs";

await browse(async (page) => {
  await page.goto(base + "/docs");
  must((await page.title()) === "Documentation · Windlass docs", `the title is ${await page.title()}`);
  await accessible(page, "docs", both);

  // A page of it, by the menu; its headings are links, and its links lead to pages.
  await page.locator(".docs-menu summary", { hasText: "How-to" }).click();
  await page.locator(".docs-menu").getByRole("link", { name: "Use the console", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Use the console" }).waitFor();
  await page.locator(".docs-menu [aria-current]").waitFor();
  const broken = await page.evaluate(() => [...document.images].filter((i) => !i.naturalWidth).map((i) => i.src));
  must(broken.length === 0, `pictures are missing: ${broken}`);

  // Code, tables and a table of contents.
  await page.goto(base + "/docs/how-to/blueprints#placeholders");
  must((await page.evaluate(() => scrollY)) > 200, "the page does not begin at its section");
  const code = page.locator("figure.code").first();
  await code.getByRole("button", { name: "Copy" }).click();
  await code.getByRole("button", { name: /Copied|Selected/ }).waitFor();
  await page.getByRole("navigation", { name: "On this page" }).getByRole("link", { name: "Params" }).click();
  must(page.url().endsWith("#params"), page.url());
  await accessible(page, "docs-blueprints", both);

  // By keyboard alone: / leads to the search, and what it finds to the section.
  await page.keyboard.press("/");
  await page.keyboard.type("exit codes");
  await page.keyboard.press("Enter");
  await page.waitForURL(/[?]q=exit/);
  const hit = page.locator(".docs-hits a", { hasText: "Commands" }).first();
  await accessible(page, "docs-search", both);
  await tabTo(page, hit);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Commands" }).waitFor();

  const hostile = "<img src=x onerror=alert(1)>";
  await page.goto(`${base}/docs?q=${encodeURIComponent(hostile)}`);
  await page.getByText("No page has all words").waitFor();
  must((await page.locator("input[type=search]").inputValue()) === hostile, "the search forgets its words");

  // Without scripts all but the buttons is there.
  const plain = await (await page.context().browser().newContext({ javaScriptEnabled: false })).newPage();
  await plain.goto(base + "/docs/how-to/approvals");
  await plain.getByRole("heading", { level: 1 }).waitFor();
  await plain.getByRole("searchbox").fill("webhook");
  await plain.getByRole("searchbox").press("Enter");
  await plain.getByRole("link", { name: /webhooks/ }).first().click();
  await plain.getByRole("heading", { level: 1, name: /webhooks/ }).waitFor();
  await plain.getByRole("link", { name: "This page as Markdown" }).waitFor();
});

for (const [path, media, begins] of [
  ["/docs/how-to/approvals.md", "text/markdown", "# Require approval"], ["/llms.txt", "text/plain", "# Windlass"], ["/llms-full.txt", "text/plain", "<!-- /docs/tutorial"],
]) {
  const r = await fetch(base + path), text = await r.text();
  must(r.ok && r.headers.get("content-type").startsWith(media) && text.startsWith(begins), `${path}: ${r.status} ${text.slice(0, 80)}`);
}
