// The page of a turn whose journal is made up here: one of 5,000 events, whose figures are printed, and one in which all texts and names are hostile.
import { base, browse, must, whole } from "./page.mjs";

const start = Date.parse("2026-11-28T10:00:00Z");
const session_id = "ses_01m8hsgqj8dw8pcydc9y47f1yv";

/** served answers for a turn that does not exist with what is made up. */
async function served(page, id, events, turn = {}) {
  const detail = {
    id, session_id, agent_id: "a", status: "completed", input: "", output: "", stop_reason: "end", usage: {}, error: null, model: "m", subject: "s", waiting_for: [],
    create_time: new Date(start).toISOString(), end_time: new Date(start + 60_000).toISOString(), parent_turn_id: "", rerun_of: "", schedule_id: "", limits: null, pending: null, ...turn,
  };
  const body = events.map((e) => `id: ${e.seq}\ndata: ${JSON.stringify(e)}\n\n`).join("") + "event: end\ndata: {}\n\n";
  await page.route(`**/v1/turns/${id}`, (r) => r.fulfill({ json: detail }));
  await page.route(`**/v1/turns/${id}/events*`, (r) => r.fulfill({ contentType: "text/event-stream", body }));
  await page.route("**/v1/agents/a", (r) => r.fulfill({ json: { id: "a", limits: {} } }));
  await page.route(/\/v1\/(decisions|executions)\//, (r) => r.fulfill({ status: 404, json: { status: 404, code: "not_found", detail: "made up" } }));
}

/** journal numbers events of a turn. */
const journal = (turn_id, of) => of.map(([type, step, data, attempt = 1], i) => ({ seq: i + 1, type, time: new Date(start + i * 12).toISOString(), session_id, turn_id, step, attempt, actor: "worker", data }));

/** callEvents are those of one call. */
function callEvents(n, { tool = "orders__get", args = { n }, result = `order ${n}`, error = false } = {}) {
  const [step, id] = [`tool-${n}.0`, `c${n}`];
  return [
    ["step.started", step, { kind: "tool", title: `tool ${tool}` }], ["tool_call.started", step, { call_id: id, tool, arguments: args, effect: "read" }],
    ["policy.decided", step, { decision_id: `dec_${n}`, call_id: id, tool, allowed: true, reason: result }], ["tool_call.executing", step, { call_id: id, execution_id: `exe_${n}` }],
    ["tool_call.completed", step, { result: { call_id: id, tool, content: [{ text: result }], is_error: error }, latency_ms: 3, code: error ? result.slice(0, 40) : "", execution_id: `exe_${n}` }],
    ["step.finished", step, { kind: "tool", duration_ms: 8 }],
  ];
}

/** modelEvents are those of one model call with some text. */
function modelEvents(n, text, more = {}) {
  const [step, id] = [`infer-${n}`, `msg_${n}`];
  return [
    ["step.started", step, { kind: "infer", title: `infer #${n}` }], ["message.started", step, { message_id: id, model: "m/m" }],
    ["message.completed", step, { message: { id, role: "assistant", content: [{ text }], tool_calls: [], ...more }, finish_reason: "stop", usage: { input_tokens: 10, output_tokens: 2, cost_micros: "12" }, first_token_ms: 4, warnings: [] }],
    ["step.finished", step, { kind: "infer", duration_ms: 10, model_attempts: [] }],
  ];
}

const big = "trn_big";
const many = [["turn.queued", "", { agent_id: "a", input: [{ text: "a long one" }] }], ["turn.started", "begin", { agent_id: "a", model: "m/m", tools: [] }]];
for (let n = 1; many.length < 4998; n++) many.push(...(n <= 200 ? callEvents(n) : []), ...modelEvents(n, `step ${n}`), ["usage.updated", `infer-${n}`, { usage: { input_tokens: n, output_tokens: n } }]);
many.push(["turn.completed", "", { status: "completed", stop_reason: "end", output: "done", usage: { model_calls: 600, tool_calls: 200 } }]);

const evil = [
  "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>", "javascript:document.title='owned'", "[a](javascript:document.title='owned')",
  "<svg onload=\"document.title='owned'\"><a href='https://evil.example/'>x</a></svg>", "\u001b[31mred\u001b[0m", "left \u202eright\u202c zero\u200bwidth", "![x](https://evil.example/pixel.png)",
];
const line = "x".repeat(whole ? 1 << 20 : 1 << 17);
const hostile = "trn_hostile";
const bad = evil.join(" ");
const hostileEvents = journal(hostile, [
  ["turn.queued", "", { agent_id: "a", input: [{ text: bad }] }], ["turn.started", "begin", { agent_id: "a", model: bad, tools: [bad] }],
  ...evil.flatMap((text, i) => callEvents(i + 1, { tool: text, args: { [text]: text }, result: text, error: i % 2 === 1 })),
  ...callEvents(20, { tool: line, args: { line }, result: line }),
  ["approval.requested", "tool-20.0", { approval_id: "apr_1", call_id: "c20", tool: bad, reason: bad, rule: bad, approver_roles: [bad], quorum: 1, arguments: {} }],
  ["approval.resolved", "tool-20.0", { approval_id: "apr_1", call_id: "c20", verdict: "denied", decisions: [{ subject: bad, approve: false, comment: bad, time: new Date(start).toISOString() }] }],
  ["shield.triggered", "infer-1", { shield: bad, stage: "input", action: "block", reason: bad }],
  ...modelEvents(1, bad, { reasoning: bad }), ...modelEvents(2, line),
  ["turn.recovered", "infer-2", { previous_owner: bad, owner: evil[0] }, 2],
  ["turn.failed", "", { status: "failed", stop_reason: "error", output: "", usage: {}, error: { code: "bad", message: bad } }],
]);

await browse(async (page, context) => {
  const away = [];
  context.on("request", (r) => { if (!r.url().startsWith(base) && !/^(data|blob):/.test(r.url())) away.push(r.url()); });
  await page.addInitScript(() => {
    globalThis.longest = 0;
    globalThis.violations = [];
    addEventListener("securitypolicyviolation", (e) => { globalThis.violations.push(`${e.violatedDirective} ${e.blockedURI}`); });
    new PerformanceObserver((l) => { for (const e of l.getEntries()) globalThis.longest = Math.max(globalThis.longest, e.duration); }).observe({ type: "longtask", buffered: true });
  });

  // 5,000 events: all rows are there, few are in the document. The figures are printed.
  const events = journal(big, many);
  await served(page, big, events);
  const began = Date.now();
  await page.goto(`${base}/turns/${big}`);
  await page.getByText(`all ${events.length} events`).waitFor();
  await page.locator(".tl-row").first().waitFor();
  const paint = Date.now() - began;
  must(await page.locator(".tl-row").count() < 150, "all rows are in the document");
  await page.locator(".tl-rows").evaluate((e) => { e.scrollTop = e.scrollHeight; });
  await page.locator(".tl-row").filter({ hasText: "infer #" }).last().waitFor();
  const scrub = await page.getByRole("slider", { name: "Event" }).evaluate(async (e, last) => {
    const from = performance.now();
    for (let i = 0; i < 60; i++) {
      e.value = String(Math.round(((i + 1) / 62) * last));
      e.dispatchEvent(new Event("input", { bubbles: true }));
      await new Promise(requestAnimationFrame);
    }
    return 60_000 / (performance.now() - from);
  }, events.length);
  const heap = await page.evaluate(() => Math.round((performance.memory?.usedJSHeapSize ?? 0) / 1048576));
  console.log(`${events.length} events: all shown after ${paint} ms with the start of the page, longest task ${Math.round(await page.evaluate(() => globalThis.longest))} ms, ` +
    `scrubbing ${scrub.toFixed(0)} frames/s, heap ${heap} MiB`);
  await page.goto(`${base}/turns/${big}?call=c150`);
  await page.locator(".tl-panel").getByText("order 150").first().waitFor();
  await page.goto(`${base}/turns/${big}?tab=events&q=order+199`);
  await page.getByText(new RegExp(`^\\d+ of ${events.length} events`)).waitFor();

  // The context of a step, and what is new in it.
  const made = (kind, text, tokens, more = {}) => ({ kind, role: null, name: "", text, tokens: String(tokens), origin: { call_id: "", seq: 0 }, ...more });
  const known = [made("system", "Be brief.", 3), made("tools", "gets an order {}", 40, { name: "orders__get" }), made("message", "a long one", 5, { role: "user" })];
  const fresh = made("tool_result", "order 1", 2, { name: "orders__get", origin: { call_id: "c1", turn_id: big } });
  await page.route(`**/v1/turns/${big}/context*`, (r) => r.fulfill({ json: {
    step: 2, model: "m/m", parts: [...known, fresh], tokens: "50", counted: "estimated", truncated: false, compacted: 0,
    diff: r.request().url().includes("against=1") ? [...known.map((part) => ({ op: "same", part })), { op: "added", part: fresh }] : [],
  } }));
  await page.goto(`${base}/turns/${big}?tab=context&step=2`);
  await page.getByText("50 tokens, estimated").waitFor();
  must(await page.locator(".tl-part").count() === 4, "not all parts are shown");
  await page.getByLabel("what is new since infer #1").check();
  await page.locator(".tl-part.added", { hasText: "order 1" }).waitFor();
  must(await page.locator(".tl-part.same").count() === 3, "what is the same is marked as new");
  await page.locator(".tl-part.added").getByRole("link", { name: "The call" }).click();
  await page.locator(".tl-panel").getByText("order 1").first().waitFor();

  // Hostile: nothing runs, nothing leaves, the page stays usable on a phone.
  await served(page, hostile, hostileEvents, { agent_id: "a", status: "failed", error: { code: "bad", message: bad }, subject: bad, model: bad, input: bad });
  for (const query of ["?call=c1", "?call=c20", "?span=infer-1", "?span=apr_1", "?tab=talk", "?tab=events&seq=4", "?tab=json"]) {
    await page.goto(`${base}/turns/${hostile}${query}`);
    await page.locator(query.includes("tab=") ? ".tabs" : ".tl-panel").first().waitFor();
    if (query.includes("talk")) await page.locator(".user").first().waitFor();
    must(!/owned/.test(await page.title()), `${query}: a text of others ran`);
    must(await page.evaluate(() => document.querySelectorAll("main script, main svg a, main a[href^='javascript:'], main img[src*='evil']").length) === 0, `${query}: markup of others is in the page`);
    await page.setViewportSize({ width: 360, height: 800 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    must(wide <= 360, `${query}: ${wide} pixels wide`);
    await page.setViewportSize({ width: 1200, height: 900 });
  }
  const broken = await page.evaluate(() => globalThis.violations);
  must(!broken.length, "the policy of the page reports: " + broken.join(", "));
  must(!away.length, "requests left: " + away.join(", "));
}, { allowed: (text) => /404/.test(text) });
