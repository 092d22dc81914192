// The frame: the palette, keys, themes and titles, what is not there, and every page in both themes and on a phone, each on its days.
import { accessible, api, base, both, browse, due, must, session } from "./page.mjs";

const done = await session("worker", 'say:"hello frame"');
await api("GET", `/v1/turns/${done.turn}?wait=60s`);
const waiting = await session("careful", "call:mesh__uuid {}");
while ((await api("GET", "/v1/approvals?status=pending")).approvals.every((a) => a.turn_id !== waiting.turn));
const approval = (await api("GET", "/v1/approvals?status=pending")).approvals.find((a) => a.turn_id === waiting.turn).id;

await browse(async (page) => {
  const main = page.locator("#main");
  const find = page.getByRole("combobox", { name: /Find a page/ });
  await page.goto(base);
  await page.getByRole("heading", { name: "Start a conversation" }).waitFor();
  must(await page.title() === "Chat · Windlass", `the title is ${await page.title()}`);
  await page.locator('link[rel=icon][href="/assets/icon-waiting.svg"]').waitFor({ state: "attached" });

  for (const [text, name, url] of [["knowl", /^Knowledge/, "/knowledge"], [done.turn, new RegExp(done.turn), `/turns/${done.turn}`],
    ["worker", /^worker/, "/agents/worker"], ["evaluate", /^calculator__evaluate/, "/tools/calculator__evaluate"], ["hello frame", /hello frame/, `/sessions/${done.session}`]]) {
    await page.keyboard.press("Control+k");
    await find.fill(text);
    const found = page.getByRole("option", { name }).first();
    await found.waitFor();
    if (text === "knowl") await page.keyboard.press("Enter");
    else await found.click();
    await page.waitForURL(base + url);
  }
  await page.locator(".markdown").getByText("hello frame").waitFor();
  await page.keyboard.press("Control+k");
  await find.fill("nothing is called so 17");
  await page.getByText("Nothing is called so.").waitFor();
  await accessible(page, "palette", both);
  await page.keyboard.press("Escape");
  await find.waitFor({ state: "hidden" });

  await main.focus();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys and commands" }).waitFor();
  await page.keyboard.press("Escape");
  await main.focus();
  await page.keyboard.press("g");
  await page.keyboard.press("i");
  await page.waitForURL(`${base}/inbox`);
  must(await main.evaluate((e) => e === document.activeElement), "the focus does not go to the new page");

  await page.getByText("Help and theme").click();
  await page.getByRole("combobox", { name: "Theme", exact: true }).selectOption("dark");
  const scheme = () => page.evaluate(() => getComputedStyle(document.documentElement).colorScheme);
  must(await scheme() === "dark", `the theme is ${await scheme()}`);
  await page.reload();
  must(await scheme() === "dark", "the theme is gone");
  await page.evaluate(() => localStorage.removeItem("theme"));

  for (const [path, text] of [["/sessions/ses_nope", "There is no such conversation"], ["/inbox/apr_nope", "This does not exist"], ["/nope", "nothing is served at this path"]]) {
    await page.goto(base + path);
    await page.getByText(text).first().waitFor();
    must(await page.getByText("Send", { exact: true }).count() === 0, `${path} takes messages`);
  }

  for (const path of ["/", `/sessions/${done.session}`, "/inbox", `/inbox/${approval}`, `/turns/${done.turn}`, "/ui", ...process.env.PAGES.split(" ").filter((p) => due(p, 2))]) {
    await page.goto(base + path);
    await page.getByRole("heading", { level: 2 }).first().waitFor();
    await page.waitForLoadState("networkidle").catch(() => {}); // pages with streams never are
    await accessible(page, path.replaceAll("/", "_"), both);
  }
}, { allowed: (text) => /status of 40[04]/.test(text) });
