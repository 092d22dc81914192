// A turn that waits for a login, and one that waits for a connection, say so; the first goes on after alice has logged in again.
import { accessible, base, browse, must } from "./page.mjs";

const passwords = JSON.parse(process.env.PASSWORDS);

async function atIssuer(page) {
  await page.getByLabel("User").fill("alice");
  await page.getByLabel("Password").fill(passwords.alice);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("dev:alice", { exact: true }).waitFor();
}

async function logIn(page) {
  await page.locator(".account").getByRole("button", { name: "Log in" }).click();
  await atIssuer(page);
}

const begin = (page, input) => page.evaluate(async (text) => {
  const init = (body) => ({ method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  const s = await (await fetch("/v1/sessions", init({ agent_id: "careful" }))).json();
  return { session: s.id, turn: (await (await fetch(`/v1/sessions/${s.id}/turns`, init({ input: text }))).json()).id };
}, input);

await browse(async (page, context) => {
  await page.goto(base);
  await logIn(page);
  const one = await begin(page, 'call:ask_user {"question":"Shall I?"} then call:orders__mine {}');
  const question = page.getByRole("region", { name: "Question: mesh__ask_user" });
  await page.goto(`${base}/sessions/${one.session}`);
  await question.waitFor();
  await page.getByRole("button", { name: "Log out" }).click(); // ends the login with which the turn acts for alice
  await page.getByText("local", { exact: true }).waitFor();
  await logIn(page);
  await page.goto(`${base}/sessions/${one.session}`);
  await question.getByLabel("answer").fill("yes");
  await question.getByRole("button", { name: "Answer" }).click();
  const needed = page.getByRole("region", { name: "Login needed: orders__mine" });
  await needed.waitFor();
  must(/orders/.test(await needed.locator("p").first().textContent()), "it does not say why");
  await accessible(page, "login-needed");
  if (process.env.LOOK) await page.screenshot({ path: `${process.env.LOOK}/login.png` });
  await needed.getByRole("button", { name: "Log in" }).click();
  await atIssuer(page);
  must(page.url() === `${base}/sessions/${one.session}`, `it comes back to ${page.url()}`);
  await page.locator(".markdown").getByText("orders of alice").waitFor();
  await needed.getByText("answered by dev:alice").waitFor();

  const two = await begin(page, "call:people__contacts {}");
  await page.goto(`${base}/turns/${two.turn}`);
  const connect = page.getByRole("region", { name: "Login needed: people__contacts" });
  const [tab] = await Promise.all([context.waitForEvent("page"), connect.getByRole("link", { name: "Connect people" }).click()]);
  await tab.getByText("people").first().waitFor();
  must(tab.url().startsWith(`${base}/connect`), `the link leads to ${tab.url()}`);
  await tab.close();
  if (process.env.LOOK) await page.screenshot({ path: `${process.env.LOOK}/connect.png` });
  await connect.getByRole("button", { name: "Go on without" }).click();
  await page.getByText("completed", { exact: true }).waitFor();
});
