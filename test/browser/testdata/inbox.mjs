// The inbox by keyboard, its filters and links, and two approvers who see each other's decision.
import { accessible, api, base, both, browse, must, session } from "./page.mjs";

const turns = [];
for (let i = 0; i < 3; i++) turns.push(await session("careful", "call:mesh__uuid {}"));
await session("careful", 'call:ask_user {"question":"Which way?"}');
const quorum = await session("two", "call:mesh__uuid {}");

await browse(async (page, context) => {
  await page.goto(`${base}/inbox`);
  const entries = page.locator(".entry");
  await entries.nth(4).waitFor();
  await page.getByLabel("Kind").selectOption("input");
  await page.getByRole("region", { name: "Question: mesh__ask_user" }).waitFor();
  must(await entries.count() === 1 && page.url().endsWith("kind=input"), `${await entries.count()} entries at ${page.url()}`);
  await page.getByLabel("Kind").selectOption("approval");
  await page.getByLabel("Agent").selectOption("careful");
  await entries.nth(2).waitFor();

  // j chooses, a approves, and the focus goes on to what is next.
  await page.locator("#main").focus();
  await page.keyboard.press("j");
  const chosen = () => page.evaluate(() => document.activeElement?.closest("[data-entry]")?.dataset.entry ?? document.activeElement?.tagName);
  const first = await chosen();
  await page.keyboard.press("j");
  must(await chosen() !== first, "j does not move");
  await page.keyboard.press("k");
  must(await chosen() === first, `k moves to ${await chosen()}`);
  await page.keyboard.press("a");
  await page.locator(`[data-entry="${first}"]`).waitFor({ state: "detached" });
  const second = await chosen();
  must(/^apr_/.test(second), `the focus is on ${second}`);
  await page.keyboard.press("d");
  await page.locator(`[data-entry="${second}"]`).waitFor({ state: "detached" });
  const verdicts = await Promise.all([first, second].map(async (id) => (await api("GET", `/v1/approvals/${id}`)).status));
  must(verdicts.join() === "approved,denied", `they are ${verdicts}`);

  // A link shows one, also when it has been decided.
  await page.goto(`${base}/inbox/${first}`);
  await page.locator(".entry").first().getByText(/^approved/).waitFor();

  // Two browsers: each sees what the other decides.
  const { id } = (await api("GET", "/v1/approvals?status=pending")).approvals.find((a) => a.turn_id === quorum.turn);
  const other = await context.browser().newContext();
  const theirs = await other.newPage();
  for (const p of [page, theirs]) await p.goto(`${base}/inbox/${id}`);
  const card = (p) => p.locator(".entry").first();
  await card(page).getByRole("button", { name: "Approve" }).click();
  await card(theirs).getByText(/1 of 2 approved: local approved/).waitFor();
  await accessible(theirs, "quorum", both);
  await other.close();
});
