// alice logs in with the page, sees her conversation, and logs out; bob does not see it.
import { accessible, base, browse, must } from "./page.mjs";

const passwords = JSON.parse(process.env.PASSWORDS);

async function logIn(page, user) {
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByLabel("User").fill(user);
  await page.getByLabel("Password").fill(passwords[user]);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText(`dev:${user}`, { exact: true }).waitFor();
}

await browse(async (page, context) => {
  await page.goto(`${base}/inbox`);
  await page.getByText("local", { exact: true }).waitFor();
  await logIn(page, "alice");
  must(page.url() === `${base}/inbox`, `it comes back to ${page.url()}`);
  const created = await page.evaluate(async () => {
    const init = (body) => ({ method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    const s = await (await fetch("/v1/sessions", init({ agent_id: "careful", title: "The books of alice" }))).json();
    const t = await (await fetch(`/v1/sessions/${s.id}/turns`, init({ input: 'say:"hello alice"' }))).json();
    return { session: s.id, turn: t.id };
  });
  await page.goto(`${base}/sessions/${created.session}`);
  await page.locator(".markdown").getByText("hello alice").waitFor();
  const cookies = await context.cookies();
  const own = cookies.filter((c) => c.name.startsWith("windlass-"));
  must(own.length === 1 && own[0].httpOnly && own[0].sameSite === "Lax", `cookies ${JSON.stringify(cookies.map((c) => c.name))}`);
  must(await page.evaluate(() => document.cookie) === "", "scripts see no cookie");
  await accessible(page, "logged in");
  if (process.env.LOOK) await page.screenshot({ path: `${process.env.LOOK}/alice.png` });

  const other = await context.browser().newContext();
  const hers = await other.newPage();
  await hers.goto(`${base}/`);
  await logIn(hers, "bob");
  must(await hers.getByText("The books of alice").count() === 0, "bob sees what alice has");
  const seen = await hers.evaluate(async (id) => (await fetch(`/v1/turns/${id}`)).status, created.turn);
  must(seen === 404 || seen === 403, `bob gets ${seen} for a turn of alice`);
  await other.close();

  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByText("local", { exact: true }).waitFor();
  must((await context.cookies()).filter((c) => c.name.startsWith("windlass-")).length === 0, "the cookie is gone");
  if (process.env.LOOK) await page.screenshot({ path: `${process.env.LOOK}/local.png` });
}, { allowed: (text) => /status of (403|404)/.test(text) });
