// Page API: operations found, tried as the user of the page, and written as programs; errors and streams as they come.
import { accessible, api, base, both, browse, must, session } from "./page.mjs";

const { session: id, turn } = await session("worker", "say:hello from the stream");

await browse(async (page) => {
  const go = async (operation) => {
    await page.goto(`${base}/api#${operation}`);
    await page.getByRole("form", { name: "Try it" }).waitFor();
  };
  const send = () => page.getByRole("button", { name: "Send" }).click();
  const status = async (text) => page.locator(".api-result [role=status]", { hasText: text }).waitFor();

  // Find an operation by words.
  await page.goto(base + "/api");
  await page.getByRole("heading", { name: "Services" }).waitFor();
  await accessible(page, "api", both);
  await page.getByRole("searchbox", { name: "Search operations" }).fill("get sessions turns");
  await page.getByRole("link", { name: /^GET \/sessions\/\{session_id\}\/turns$/ }).click();
  must(page.url().endsWith("#listSessionTurns"), page.url());

  // Try a GET: the answer is the API's.
  await page.getByLabel("session_id", { exact: false }).fill(id);
  await send();
  await status("200");
  await page.locator(".api-result .json summary", { hasText: "{2" }).last().click(); // the turn
  await page.locator(".api-result .json", { hasText: turn }).waitFor();
  await page.getByText(`curl '${base}/v1/sessions/${id}/turns'`).waitFor();
  await page.getByRole("button", { name: "Go", exact: true }).click();
  await page.getByText(`http.NewRequestWithContext(ctx, "GET", "${base}/v1/sessions/${id}/turns", nil)`).waitFor();
  await page.getByRole("button", { name: "TypeScript" }).click();
  await page.getByText(`fetch("${base}/v1/sessions/${id}/turns"`).waitFor();

  // A POST with an error: the problem says which field is wrong.
  await go("createAgent");
  await page.locator("textarea.code").fill(`{"id": "no spaces please", "model": "builtin/scripted"}`);
  await send();
  await status("400");
  await page.locator(".api-result .problem").getByText(/Request/).waitFor();
  await accessible(page, "api-post", both);

  // The same with a form that works, and then its DELETE, which asks first.
  await page.locator("textarea.code").fill(`{"id": "made-on-page-api", "model": "builtin/scripted"}`);
  await page.getByRole("button", { name: "Form" }).click();
  await page.getByLabel("display_name", { exact: false }).fill("Made on the page");
  await send();
  await status("201");
  must((await api("GET", "/v1/agents/made-on-page-api")).display_name === "Made on the page", "the form was not sent");
  await go("deleteAgent");
  await page.getByLabel("agent_id", { exact: false }).fill("made-on-page-api");
  await send();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await status(/20[04]/);

  // A stream is shown as it arrives, to its end; the id of the turn is remembered for the next operation.
  await go("watchTurn");
  await page.getByLabel("turn_id", { exact: false }).fill(turn);
  await send();
  await page.locator(".api-events", { hasText: "turn.completed" }).waitFor();
  await page.getByText(/events, ended/).waitFor();
  await accessible(page, "api-stream", both);
  await go("getTurn");
  must((await page.getByLabel("turn_id", { exact: false }).inputValue()) === turn, "the id is not remembered");

  // One that does not end is stopped.
  await go("watchEvents");
  await send();
  await page.getByText(/events, open/).waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText(/events, ended/).waitFor();

  // What it takes and answers.
  await go("createTurn");
  await page.getByRole("heading", { name: "Accepts input and returns the queued turn at once" }).waitFor();
  await page.locator(".api-answer summary", { hasText: "202" }).click();
  await page.locator(".api-answer .api-fields").first().waitFor();
  await page.getByText("Fields of limits").first().click();
  await page.getByText("max_steps", { exact: true }).first().waitFor();

  // Back to all, and what does not exist.
  await page.getByRole("navigation", { name: "Breadcrumbs" }).getByRole("link", { name: "API" }).click();
  await page.getByRole("heading", { name: "Services" }).waitFor();

  await page.goto(base + "/api#noSuchOperation");
  await page.getByRole("alert").getByText("There is no operation").waitFor();
}, { allowed: (text) => /status of 40[04]/.test(text) }); // 404: a server without GET /v1/approvals:watch
