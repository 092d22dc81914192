// The page of a turn: steps, waits and children with figures, for a turn that succeeded and one that failed.
import { accessible, api, base, browse, must, picture, session } from "./page.mjs";

const parent = await session("boss", 'call:agent__worker {"message":"call:calculator__evaluate {\\"expression\\":\\"6*7\\"}"}');
await api("GET", `/v1/turns/${parent.turn}?wait=60s`);
const failed = await session("careful", "fail:always say:never");
await api("GET", `/v1/turns/${failed.turn}?wait=60s`);

await browse(async (page) => {
  await page.goto(`${base}/turns/${parent.turn}`);
  await page.getByText("completed").first().waitFor();
  const rows = page.getByRole("table").getByRole("row");
  const row = async (name) => (await rows.filter({ hasText: name }).first().innerText()).replace(/\s+/g, " ");
  must(/infer #1 .*(ms|s) 1 \d+ → \d+/.test(await row("infer #1")), "a model step lacks figures: " + await row("infer #1"));
  must(/agent worker .*(ms|s) .*\d+ → \d+/.test(await row("agent worker")), "a child lacks figures: " + await row("agent worker"));
  must(/\/namespaces\/default\/workflows\/trn_/.test(await page.getByRole("link", { name: "Temporal" }).last().getAttribute("href")), "no link to Temporal");
  await picture(page, "console-turn");
  await accessible(page, "turn");

  await page.getByRole("table").getByRole("link", { name: "agent worker" }).click();
  await rows.filter({ hasText: "tool calculator__evaluate" }).waitFor();
  must(page.url() !== `${base}/turns/${parent.turn}`, "the child has a page of its own");
  await page.goBack();
  await rows.filter({ hasText: "agent worker" }).waitFor();

  await page.goto(`${base}/turns/${failed.turn}`);
  await page.getByRole("alert").or(page.locator(".note.bad")).first().waitFor();
  must(/failed/.test(await page.locator(".facts .failed").innerText()), "the failure is not shown");
  await accessible(page, "failed");
});
