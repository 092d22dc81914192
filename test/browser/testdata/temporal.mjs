// The Temporal UI: the colours of ended turns, steps with their figures, and links between parents, children and the console.
import { api, base, browse, must, picture, session } from "./page.mjs";

const ui = `${process.env.TEMPORAL_UI}/namespaces/default/workflows`;
const sum = 'call:calculator__evaluate {\\"expression\\":\\"6*7\\"}';
const parent = await session("boss", `call:agent__worker {"message":"${sum}"}`);
const failed = await session("careful", "fail:always say:never");
const cancelled = await session("careful", 'slow:1000 say:"one two three four five six seven eight nine ten"');
// a turn that is cancelled before its workflow starts has none
while ((await api("GET", `/v1/turns/${cancelled.turn}`)).status === "queued");
await api("POST", `/v1/turns/${cancelled.turn}:cancel`, {});
for (const { turn } of [parent, failed, cancelled]) await api("GET", `/v1/turns/${turn}?wait=60s`);
const child = (await api("GET", `/v1/turns/${parent.turn}/tree`)).children[0].turn.id;

/** hue says which colour the badge of a turn has. */
async function hue(page, turn) {
  const row = page.getByRole("row").filter({ hasText: turn });
  const [r, g, b] = await row.locator('[data-testid="execution-status"] > span').evaluate((e) => getComputedStyle(e).backgroundColor.match(/\d+/g).map(Number));
  if (r > g + 15) return "red";
  if (g > r + 15) return "green";
  return Math.max(r, g, b) - Math.min(r, g, b) < 15 ? "grey" : "other";
}

/** rendered finds something in what is rendered from Markdown, which the UI does in frames. */
const rendered = (page, part, selector) => page.locator(`#user-metadata-${part}`).contentFrame().locator(selector).first();

/** closed waits until Temporal lists a turn with a status: workflows close and are listed a moment after their turns end. */
async function closed(turn, status) {
  const query = encodeURIComponent(`WorkflowId = "${turn}" AND ExecutionStatus = "${status}"`);
  const list = `${process.env.TEMPORAL_UI}/api/v1/namespaces/default/workflows?query=${query}`;
  for (const end = Date.now() + 120_000; Date.now() < end;) {
    const { executions } = await (await fetch(list)).json();
    if (executions?.length) return;
    await new Promise((tick) => setTimeout(tick, 100)); // leaves the processor to what is waited for
  }
  throw new Error(`${turn} is not listed as ${status}`);
}

await browse(async (page, context) => {
  for (const [turn, status, colour] of [[parent.turn, "Completed", "green"], [failed.turn, "Failed", "red"], [cancelled.turn, "Canceled", "grey"]]) {
    await closed(turn, status);
    await page.goto(ui);
    await page.getByRole("row").filter({ hasText: turn }).getByText(status, { exact: true }).waitFor();
    must(await hue(page, turn) === colour, `a ${status} turn is ${await hue(page, turn)}`);
  }
  await picture(page, "temporal-turns");

  await page.goto(`${ui}/${parent.turn}`);
  const step = (text) => page.locator("text, span, div").filter({ hasText: text }).last();
  // A step that needed an activity of its own, as a slow one does, has its figures in the current details only. Those of a turn that was
  // over before its workflow are lines of the input.
  for (const n of [1, 2]) await step(new RegExp(`^(Infer • |"\\d+\\. )?infer #${n}`)).waitFor();
  await picture(page, "temporal-turn");
  await page.getByRole("tab", { name: "User Metadata" }).click();
  await rendered(page, "current-details", `a[href$="/workflows/${child}"]`).waitFor();
  for (const did of ["begin → .+ since .+ attempt \\d+ on wrk_", "→ calls agent__worker \\(.+ since [\\d:.]+", "→ stop, \\d+ tokens \\(.+ since"]) {
    const line = new RegExp(did);
    await page.locator("#user-metadata-current-details").contentFrame().getByText(line).first().waitFor();
  }

  await page.goto(`${ui}/${child}`);
  await page.getByRole("tab", { name: "User Metadata" }).click();
  await rendered(page, "details", `a[href$="/workflows/${parent.turn}"]`).waitFor();
  const link = rendered(page, "details", `a[href="${base}/turns/${child}"]`);
  const [opened] = await Promise.all([context.waitForEvent("page"), link.click()]);
  await opened.getByText("calculator__evaluate", { exact: true }).first().waitFor();
}, { allowed: () => true });
