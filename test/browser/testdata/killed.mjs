// A page that is open while everything behind it is killed shows the whole answer in the end. The test kills and restarts on "half".
import { accessible, base, both, browse, must, session } from "./page.mjs";

const words = "one two three four five six seven eight nine ten eleven twelve";

await browse(async (page) => {
  await page.goto(base); // before the turn begins, as a browser may take longer to start than the turn to end
  const { session: id, turn } = await session("careful", `slow:800 say:"${words}"`);
  await page.goto(`${base}/sessions/${id}`);
  await page.getByText(/one two/).last().waitFor();
  await page.locator(".answer").getByText(/one two three/).waitFor();
  console.log("half");
  await page.getByText(/The connection broke|The server does not answer/).first().waitFor();
  console.log("noticed");
  await page.locator(".markdown").getByText(words, { exact: true }).waitFor();
  await page.getByText(/completed · /).waitFor();
  must(await page.locator(".user").count() === 1, "the message is shown once");

  // The timeline shows where the worker was lost: the lost attempt struck, both owners, what was not repeated. A later visit shows the same.
  const events = (await (await fetch(`${base}/v1/turns/${turn}/events`)).text()).split("\n").filter((l) => l.startsWith("data: {\"seq\"")).map((l) => JSON.parse(l.slice(6)));
  const { data, step } = events.find((e) => e.type === "turn.recovered");
  const model = page.locator(".tl-row").filter({ hasText: step.replace("infer-", "infer #") }).first();
  const seen = [];
  for (let visit = 0; visit < 2; visit++) {
    await page.goto(`${base}/turns/${turn}`);
    await model.locator("del", { hasText: "attempt 1" }).waitFor();
    must(await model.locator(".tl-bar.lost").count() === 1 && await page.locator(".tl-bar.gap").count() === 1, "the lost attempt and the gap are drawn");
    await page.locator(".tl-row").filter({ hasText: "worker lost" }).getByRole("link").click();
    const panel = page.locator(".tl-panel");
    for (const owner of [data.previous_owner, data.owner]) await panel.getByText(owner, { exact: true }).waitFor();
    await panel.locator(".tl-kept").waitFor();
    await panel.getByText("The model was asked again.").waitFor();
    seen.push(await panel.innerText() + await page.locator(".tl-rows").innerText());
  }
  must(seen[0] === seen[1], `a later visit shows something else:\n${seen.join("\n---\n")}`);
  await accessible(page, "lost", both);
}, { allowed: (text) => /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|Failed to load resource|ERR_/.test(text) });
