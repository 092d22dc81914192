// The pages of lists and administration: the tasks of docs/how-to/console-tasks.md with at most three clicks each, and what the pages show
// against what the API says, for three users.
import { accessible, api, base, both, browse, must, session } from "./page.mjs";

const passwords = JSON.parse(process.env.PASSWORDS);
const ok = async (path) => (await fetch(base + path)).ok;

async function logIn(page, user) {
  await page.goto(base);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByLabel("User").fill(user);
  await page.getByLabel("Password").fill(passwords[user]);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText(`dev:${user}`, { exact: true }).waitFor();
}

/** call makes a call as who is logged in with the page. */
const call = (page, method, path, body) => page.evaluate(async ([method, path, body]) => {
  const r = await fetch(path, { method, headers: { "Content-Type": "application/json" }, body: body && JSON.stringify(body) });
  return { status: r.status, body: await r.json().catch(() => null) };
}, [method, path, body]);

// What there is to see.
const ended = async (agent, input) => api("GET", `/v1/turns/${(await session(agent, input)).turn}?wait=60s`);
const orders = (said) => ({
  endpoints: [{ name: "get", description: said, path: "/o/{id}" }, { name: "delete", method: "DELETE", description: "Deletes an order.", path: "/o/{id}" }],
});
await api("POST", "/v1/sources", { name: "orders", kind: "http", pin: true, base_url: "http://127.0.0.1:9", ...orders("Reads an order.") });
await api("POST", "/v1/sources/orders:sync", {});
await api("PATCH", "/v1/sources/orders", orders("Reads an order, always."));
await api("POST", "/v1/sources/orders:sync", {});
await ended("worker", 'call:calculator__evaluate {"expression":"1/0"} say:done');
const failed = await ended("careful", "fail:always say:never");
await ended("boss", 'call:agent__worker {"message":"call:calculator__evaluate {\\"expression\\":\\"6*7\\"}"}');
const waiting = await session("careful", 'call:mesh__ask_user {"question":"Which colour?"}');
await api("POST", "/v1/budgets", { scope: "tenant", period: "day", max_tokens: "100000" });
await api("POST", "/v1/schedules", { id: "early", agent_id: "worker", input: "say:morning", cron: "0 7 * * *" });
await api("POST", "/v1/banks", { id: "handbook", description: "How we work" });
await api("POST", "/v1/memory", { text: "You prefer tea." });
await api("PATCH", "/v1/agents/worker", { description: "Computes sums and products." });
await api("POST", "/v1/access-policies", { name: "no-sums", effect: "deny", matchers: [{ path: "department", operator: "equals", values: ["engineering"] }], tools: ["calculator__*"] });

let clicks = 0;
const named = (page, role, name) => page.getByRole(role, { name }).first();
/** click counts: a task may take three. */
async function click(locator) {
  clicks++;
  await locator.click();
}
async function task(page, name, steps) {
  clicks = 0;
  await page.goto(base);
  await steps(async (text) => click(page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: text })));
  must(clicks <= 3, `${name}: ${clicks} clicks`);
}

/** rowOf waits for a row of a table that has a text, and returns its text. */
async function rowOf(page, table, text) {
  const row = page.getByRole("table", { name: table }).getByRole("row").filter({ hasText: text }).first();
  await row.waitFor();
  return (await row.innerText()).replace(/\s+/g, " ");
}

await browse(async (page, context) => {
  const [alice, bob] = await Promise.all(["alice", "bob"].map(async (user) => {
    const p = await (await context.browser().newContext()).newPage();
    await logIn(p, user);
    return p;
  }));
  const sum = { arguments: { expression: "1+1" } };
  must((await call(alice, "POST", "/v1/tools/calculator__evaluate:invoke", sum)).status === 200, "alice may add");
  const refused = await call(bob, "POST", "/v1/tools/calculator__evaluate:invoke", sum);
  must(refused.status !== 200 || refused.body.is_error, `bob gets ${JSON.stringify(refused)}`);

  await task(page, "which call failed, and why", async (go) => {
    await go("Tools");
    await click(named(page, "link", "Calls"));
    const row = page.getByRole("table", { name: "Calls" }).getByRole("row").filter({ hasText: "failed" }).first();
    await click(row.getByRole("button", { name: "details" }));
    await row.getByText("division by zero").waitFor();
  });
  await task(page, "why a turn failed", async (go) => {
    await go("Turns");
    const row = await rowOf(page, "List of turns", "fail:always");
    must(row.includes("failed") && row.includes(failed.error.code), row);
  });
  await task(page, "stop everything that runs", async (go) => {
    await go("Turns");
    await click(named(page, "button", /^Cancel \d+ active turn/));
    await click(page.getByRole("dialog").getByRole("button", { name: "Cancel them" }));
    await page.getByRole("table", { name: "List of turns" }).getByRole("row").filter({ hasText: "ask_user" }).getByText("cancelled").waitFor();
    must((await api("GET", `/v1/turns/${waiting.turn}?wait=60s`)).status === "cancelled", "the turn goes on");
  });
  await task(page, "why bob was refused", async (go) => {
    await go("Access");
    await click(named(page, "link", "Decisions"));
    await click(named(page, "button", /^Why was calculator__evaluate denied to dev:bob/));
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Now", { exact: true }).waitFor();
    await dialog.locator(".explanation[data-decision=deny]").getByText("no-sums").first().waitFor();
  });
  await task(page, "accept a changed tool", async (go) => {
    await go("Tools");
    await click(named(page, "link", "compare and accept"));
    await page.getByText("Reads an order, always.").waitFor();
    await click(named(page, "button", "Accept all changes"));
    await page.getByText("No definition has changed").waitFor();
    must((await api("GET", "/v1/sources/orders:diff")).tools.length === 0, "the change is not accepted");
  });
  await task(page, "what changed in an agent", async (go) => {
    await go("Agents");
    await click(page.getByRole("table", { name: "List of agents" }).getByRole("link", { name: "worker", exact: true }));
    await click(named(page, "link", "Revisions"));
    await page.getByRole("region", { name: "Difference", exact: true }).getByText("Computes sums and products.").waitFor();
  });
  await task(page, "add a document", async (go) => {
    await go("Knowledge");
    await click(page.getByRole("link", { name: "handbook" }));
    await page.locator("input[type=file]").setInputFiles({ name: "leave.md", mimeType: "text/markdown", buffer: Buffer.from("# Leave\n\nThirty days.\n") });
    await page.getByRole("table", { name: "Documents" }).getByRole("row").filter({ hasText: "leave.md" }).getByText("ready").waitFor();
  });
  await task(page, "what is remembered of me", async (go) => {
    await go("Knowledge");
    await click(named(page, "link", "Memory"));
    await rowOf(page, "Facts", "You prefer tea.");
  });
  await task(page, "how much of the budget is left", async (go) => {
    await go("Usage");
    await click(named(page, "link", "Budgets"));
    await page.getByRole("meter", { name: "Tokens" }).first().waitFor();
  });
  await task(page, "when the next scheduled turn runs", async (go) => {
    await go("System");
    await click(named(page, "link", "Schedules"));
    must(/in \d+ h|in \d+ min/.test(await rowOf(page, "List of schedules", "early")), "the next run is not shown");
  });
  await task(page, "whether everything works", async (go) => {
    await go("System");
    must((await rowOf(page, "Checks", "temporal")).includes("ok"), "the checks are not shown");
  });
  if (await ok("/v1/usage?group_by=day")) {
    await task(page, "what yesterday cost", async (go) => {
      await go("Usage");
      must(/yesterday.*\$/.test(await rowOf(page, "Usage by day", "(yesterday)")), "yesterday is not shown");
    });
    await task(page, "which agent fails most", async (go) => {
      await go("Agents");
      await click(named(page, "link", "Most failures first"));
      await page.getByRole("table", { name: "List of agents" }).getByRole("row").nth(1).getByText("careful").first().waitFor();
    });
    await accessible(page, "agents", both);
  }

  // Who may call what is what :explain says of each cell.
  if ((await call(page, "POST", "/v1/access-policies:matrix", { tools: ["calculator__evaluate"] })).status === 200) {
    await task(page, "who may delete an order", async (go) => {
      await go("Access");
      await page.locator("[data-tool=orders__delete]").first().waitFor();
    });
    const cells = await page.locator("[data-decision][data-subject]").evaluateAll((all) => all.map((c) => ({ ...c.dataset })));
    const tools = (await api("GET", "/v1/tools?page_size=1000")).tools.length;
    must(new Set(cells.map((c) => c.subject)).size === 3 && cells.length === 3 * tools, `${cells.length} cells for ${tools} tools`);
    for (const c of cells) {
      const { body } = await call(page, "POST", "/v1/access-policies:explain", { tool: c.tool, ...(c.subject === "local" ? {} : { subject: c.subject }) });
      must(body.decision === c.decision, `${c.subject} ${c.tool}: the page says ${c.decision}, :explain ${body.decision}`);
    }
    must(cells.some((c) => c.subject === "dev:bob" && c.tool === "calculator__evaluate" && c.decision === "deny"), "bob is not refused");
    await page.getByRole("button", { name: /^dev:bob, calculator__evaluate: deny/ }).click();
    await page.getByRole("dialog").getByText("no-sums").first().waitFor();
    await accessible(page, "why", both);
    await page.keyboard.press("Escape");
  }

  // A draft says what it would change, and stores nothing.
  await page.goto(`${base}/access?tab=draft`);
  await page.getByLabel("Claim 1").fill("department");
  await page.getByLabel("Operator 1").selectOption("equals");
  await page.getByLabel("Value 1").fill("finance");
  await page.getByLabel("Tools", { exact: false }).first().fill("calculator__*");
  await page.getByRole("button", { name: "Replay past decisions" }).click();
  must((await rowOf(page, "Decisions that would be different", "dev:alice")).includes("denied"), "alice would not be refused");
  must((await api("GET", "/v1/access-policies")).access_policies.length === 1, "the draft was stored");

  // A tool is tried with a form, and its result is a tree.
  await page.goto(`${base}/tools/calculator__evaluate`);
  await page.getByLabel(/expression/).fill("6*7");
  await page.getByRole("button", { name: "Call it as yourself" }).click();
  await page.getByRole("group", { name: "Result" }).getByText("42").first().waitFor();

  // Mistakes in a definition are shown beside the line; a good one is a revision.
  await page.goto(`${base}/agents/worker?tab=yaml`);
  const text = page.getByRole("textbox", { name: "Definition as YAML" });
  const first = await text.inputValue();
  await text.fill(`${first}modell: x\n`);
  await page.locator(".margin-note").getByText('did you mean "model"').waitFor();
  await accessible(page, "definition", both);
  await text.fill(`${first}instructions: |\n  Be exact.\n\n  Be brief.\n`);
  await page.getByText("agent worker: would be updated").waitFor();
  await page.getByRole("button", { name: "Save a revision" }).click();
  await page.getByText("agent worker updated").waitFor();
  must((await api("GET", "/v1/agents/worker")).instructions === "Be exact.\n\nBe brief.\n", "the instructions are others");
  must(await page.getByRole("textbox", { name: "Definition as YAML" }).inputValue().then((t) => t.includes("  Be exact.")), "the text is not read back");

  // A change is asked the same as what is stored.
  await page.goto(`${base}/agents/worker?tab=try`);
  await page.getByLabel("Message for both").fill('say:"hello both"');
  await page.getByRole("button", { name: "Ask both" }).click();
  await page.getByRole("region", { name: "Changed", exact: true }).getByText("hello both").waitFor();
  await page.getByRole("region", { name: /^Stored/ }).getByText("hello both").waitFor();
  await page.getByRole("link", { name: "Form" }).click();
  await page.getByLabel("What it does").waitFor();

  // Lists are what the API lists, and filters are in the address.
  await page.goto(`${base}/turns?status=failed&agent_id=careful`);
  const listed = (await api("GET", "/v1/turns?status=failed&agent_id=careful")).turns;
  await rowOf(page, "List of turns", "fail:always");
  must(await page.getByRole("table", { name: "List of turns" }).getByRole("row").count() === listed.length + 1, "the list is another");
  await page.goto(`${base}/sessions`);
  await page.locator(".deep-1").getByText("calculator__evaluate").waitFor();
  await page.goto(`${base}/tools?source=calculator`);
  await rowOf(page, "List of tools", "calculator__convert");

  // What strangers write is text, and what cannot be seen is.
  await api("POST", "/v1/agents", { id: "stranger", description: '<img src=x onerror="alert(1)"> [link](javascript:alert(1)) \u202egnp.exe' });
  await page.goto(`${base}/agents`);
  must((await rowOf(page, "List of agents", "stranger")).includes('<img src=x onerror="alert(1)"> [link](javascript:alert(1)) ⟨U+202E⟩gnp.exe'), "markup is not text");

  // Many rows: only those in view are in the document.
  await page.goto(`${base}/ui?rows=10000`);
  const box = page.locator(".rows-box.virtual").first();
  await box.waitFor();
  await box.evaluate((b) => { b.scrollTop = b.scrollHeight; });
  await page.getByRole("link", { name: "row_9999" }).waitFor();
  must(await page.locator("tr[data-row]").count() < 300, "all rows are in the document");

  // Who may not see something is told whom to ask, and is not offered what would be refused.
  await alice.goto(`${base}/access?tab=audit`);
  const problem = alice.locator(".problem").first();
  await problem.getByText("Ask an administrator").waitFor();
  must((await problem.innerText()).includes("policy.audit.list"), await problem.innerText());
  must(/The role admin has it/.test(await problem.innerText()), await problem.innerText());
  for (const [who, offered] of [[page, 1], [alice, 0], [bob, 0]]) {
    await who.goto(`${base}/sources`);
    await who.getByRole("table").getByText("orders").waitFor();
    must(await who.getByRole("button", { name: "Add a source" }).count() === offered, `${offered} expected to add sources`);
    must(await who.getByRole("button", { name: "Sync" }).count() > 0 === offered > 0, "who may sync sources");
  }
}, { allowed: (text) => /status of (400|403|404)/.test(text) });
