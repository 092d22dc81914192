// The page of a turn: its lanes, sub-agents, why a call was allowed or denied, its row of the ledger, its past, its context, its comparison with
// a run of it again, and what can be done with it.
import { accessible, api, base, both, browse, must, picture, session } from "./page.mjs";

const ended = (turn) => api("GET", `/v1/turns/${turn}?wait=60s`);
const parent = await session("boss", 'call:agent__worker {"message":"call:calculator__evaluate {\\"expression\\":\\"6*7\\"}"} then say:"It is done."');
const failed = await session("careful", "fail:always say:never");
const mixed = await session("careful", 'call:calculator__evaluate {"expression":"17*23"} then call:shaky__echo {"text":"<b>not bold</b>"} then say:"Both are known."');
const asked = await session("careful", "call:mesh__uuid {}");

// A policy that is made while the turn waits for an approval denies the call after it.
const denied = await session("careful", 'call:mesh__uuid {} then call:notes__delete {"id":"x"}');
let waits = [];
while (!waits.length) ({ waiting_for: waits } = await api("GET", `/v1/turns/${denied.turn}`));
await api("POST", "/v1/access-policies", { name: "no-deletes", effect: "deny", tools: ["notes__delete"], matchers: [{ path: "$subject", operator: "matches", values: [".*"] }] });
await api("POST", `/v1/approvals/${waits[0]}:decide`, { decision: "approve" });
for (const t of [parent, failed, mixed, denied]) await ended(t.turn);
await api("DELETE", "/v1/access-policies/no-deletes");

const text = async (locator) => (await locator.innerText()).replace(/\s+/g, " ");

await browse(async (page) => {
  const rows = page.locator(".tl-row");
  const row = (name) => rows.filter({ hasText: name }).first();
  const panel = page.locator(".tl-panel");
  const open = (turn, query = "") => page.goto(`${base}/turns/${turn}${query}`);

  // A turn with a sub-agent: figures, and the sub-agent's own steps below it.
  await open(parent.turn);
  await row("finish").waitFor();
  must(await page.title() === "completed · boss · Windlass", "the title says " + await page.title());
  must(/infer #1 .*(ms|s) \d+ → \d+/.test(await text(row("infer #1"))), "a model step lacks figures: " + await text(row("infer #1")));
  must(/agent worker .*(ms|s) .*\d+ → \d+/.test(await text(row("agent worker"))), "a child lacks figures: " + await text(row("agent worker")));
  await page.locator(".tl-standing").getByText("It ended by itself after 2 model calls and 1 tool call.").waitFor();
  must(/\/namespaces\/default\/workflows\/trn_/.test(await page.getByRole("link", { name: "Temporal" }).last().getAttribute("href")), "no link to Temporal");
  await page.getByRole("button", { name: "Unfold agent worker" }).click();
  await row("calculator__evaluate").waitFor();
  await picture(page, "console-turn");
  await row("calculator__evaluate").getByRole("link").click();
  await panel.getByText("6*7 = 42").first().waitFor();
  await accessible(page, "turn-panel", both);
  await page.getByRole("button", { name: "Fold agent worker" }).click();
  await row("agent worker").getByRole("link").click();
  await panel.getByRole("link", { name: /^trn_/ }).click();
  await row("calculator__evaluate").waitFor();
  must(page.url() !== `${base}/turns/${parent.turn}`, "the child has a page of its own");
  must(await page.getByRole("link", { name: "Parent", exact: true }).getAttribute("href") === `/turns/${parent.turn}`, "the child does not lead to its parent");

  // A turn that failed says why.
  await open(failed.turn);
  await page.locator(".tl-standing").getByText("model_rejected").waitFor();

  // Why: the rules of an allowed and a denied call are those of the recorded decisions. The ledger's row of the call that was made.
  const { decisions } = await api("GET", `/v1/decisions?turn_id=${denied.turn}`);
  const { executions } = await api("GET", `/v1/executions?turn_id=${denied.turn}`);
  await open(denied.turn);
  for (const [tool, allowed] of [["mesh__uuid", true], ["notes__delete", false]]) {
    const want = decisions.find((d) => d.resource === tool);
    must(want.allowed === allowed, `${tool}: ${JSON.stringify(want)}`);
    await row(tool).getByRole("link").click();
    await panel.locator(".tl-rule").getByText(want.rule, { exact: true }).waitFor();
    must((await text(panel)).includes(want.reason.replace(/\s+/g, " ")), `${tool}: the reason is not shown`);
    must(await panel.getByRole("link", { name: "Why, and for whom else" }).getAttribute("href") === `/access?decision=${want.id}`, "no link to the decision");
  }
  must(/nothing was sent to the tool/.test(await text(panel)), "a denied call has a row in the ledger");
  const call = await api("GET", `/v1/executions/${executions[0].id}`);
  await open(denied.turn, `?call=${call.call_id}`);
  const ledger = panel.locator(".tl-ledger");
  await ledger.getByRole("button", { name: `Copy ${call.key}` }).waitFor();
  for (const fact of [call.id, "Sent 1 time", call.effect]) must((await text(ledger)).includes(fact), `the ledger's row lacks ${fact}`);

  // The past: as of the first call's start there is no second call, and the address says so.
  await open(mixed.turn);
  await row("shaky__echo").waitFor();
  const events = (await (await fetch(`${base}/v1/turns/${mixed.turn}/events`)).text()).split("\n").filter((l) => l.startsWith("data: {\"seq\"")).map((l) => JSON.parse(l.slice(6)));
  const at = events.find((e) => e.type === "tool_call.started").seq;
  await page.getByRole("slider", { name: "Event" }).evaluate((e, v) => { e.value = v; e.dispatchEvent(new Event("input", { bubbles: true })); }, String(at));
  await row("shaky__echo").waitFor({ state: "detached" });
  await page.waitForURL(new RegExp(`at=${at}`));
  await page.locator(".tl-standing").getByText("running").waitFor();
  await page.reload();
  await row("calculator__evaluate").waitFor();
  must(await row("shaky__echo").count() === 0, "the link does not show the same");
  await page.getByRole("button", { name: "To the end" }).click();
  await row("shaky__echo").waitFor();
  await page.getByRole("button", { name: "Play" }).click();
  await page.getByText(/^event \d+ of/).waitFor();

  // Its events, by type and text.
  await open(mixed.turn, "?tab=events&type=tool_call.*");
  await page.getByText(`${events.filter((e) => e.type.startsWith("tool_call.")).length} of ${events.length} events`).waitFor();
  await page.getByLabel("Text").fill("not bold");
  await page.waitForURL(/q=not/);
  await page.getByRole("table", { name: "Events" }).getByRole("link").first().click();
  await page.getByRole("region", { name: /^Event \d+/ }).waitFor();
  await accessible(page, "events", both);

  // What the model read, and what is new in it.
  await open(mixed.turn, "?tab=context&step=2&diff=1");
  await page.locator(".tl-part.added").first().waitFor();
  must(/17\*23 = 391/.test(await text(page.locator(".tl-parts").first())), "the result of the first call is not new in step 2");
  await accessible(page, "context", both);

  // Run again from its second step with recorded results, and compare.
  await open(mixed.turn);
  await page.getByRole("button", { name: "Re-run…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("From").selectOption("2");
  await dialog.getByRole("button", { name: "Re-run" }).click();
  await page.waitForURL((u) => /\/turns\/trn_/.test(u.pathname) && !u.pathname.includes(mixed.turn));
  await page.locator(".tl-standing").getByText("completed").waitFor();
  await row("shaky__echo").getByText("recorded").waitFor();
  const again = page.url().match(/trn_\w+/)[0];
  must((await api("GET", `/v1/executions?turn_id=${again}`)).executions.length === 0, "the ledger has a row of a recorded call");
  await page.getByLabel("More of this turn").click();
  await page.getByRole("link", { name: "Compare…" }).click();
  await page.getByText("The answers are the same.").waitFor();
  must(/copied/.test(await text(page.getByRole("table", { name: "Calls" }))), "the copied call is not told apart");
  await accessible(page, "compare", both);

  // An approval is decided in place, by keyboard; a turn that runs is steered and cancelled.
  await open(asked.turn);
  await page.locator(".tl-standing").getByText("It waits until a person approves the call of mesh__uuid.").waitFor();
  await row("approval for mesh__uuid").waitFor();
  await page.getByRole("button", { name: "Approve" }).focus();
  await page.keyboard.press("Enter");
  await page.locator(".tl-standing").getByText("completed").waitFor();
  const slow = await session("careful", 'slow:700 say:"one two three four five six seven eight nine ten"');
  await open(slow.turn);
  await page.getByRole("button", { name: "Steer…" }).click();
  await dialog.getByLabel("What to add").fill('slow:700 say:"a b c d e f g h i j k l m n o p"');
  await dialog.getByRole("button", { name: "Steer" }).click();
  await row("added:").waitFor();
  await page.getByRole("button", { name: "Cancel…" }).click();
  await dialog.getByLabel("Why").fill("enough");
  await dialog.getByRole("button", { name: "Cancel the turn" }).click();
  await page.locator(".tl-standing").getByText(/cancelled it: Enough\./i).waitFor();
  must(await page.getByRole("button", { name: "Cancel…" }).count() === 0, "what has ended can be cancelled");

  // Budgets: what is used, apart from what is reserved.
  await api("POST", "/v1/budgets", { scope: "agent", target: "worker", max_tokens: 100000, max_tool_calls: 10 });
  const counted = await session("worker", 'call:calculator__evaluate {"expression":"1+1"}');
  await ended(counted.turn);
  await open(counted.turn);
  await page.getByRole("img", { name: /tool calls of agent worker: 1 of 10/ }).waitFor();
  await api("POST", "/v1/budgets", { scope: "agent", target: "careful", max_tool_calls: 50 });
  const held = await session("careful", 'call:shaky__slow_read {"call_id":"held","ms":60000}');
  await open(held.turn);
  await page.getByRole("img", { name: /tool calls of agent careful: .*1 reserved of 50/ }).first().waitFor();
  await api("POST", `/v1/turns/${held.turn}:cancel`, {});
});
