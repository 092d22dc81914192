// The button that kills the process in the middle of an answer: the page shows the whole answer in the end.
import { base, browse, must, session } from "./page.mjs";

const words = "one two three four five six seven eight nine ten eleven twelve";

await browse(async (page) => {
  await page.goto(base); // before the turn begins, as a browser may take longer to start than the turn to end
  const { session: id } = await session("careful", `slow:1200 say:"${words}"`);
  await page.goto(`${base}/sessions/${id}`);
  await page.locator(".answer").getByText(/one two three/).waitFor();
  await page.getByRole("button", { name: "Kill the worker" }).click();
  await page.getByText("It starts again, and the turn goes on.").waitFor();
  await page.getByText(/The connection broke|The server does not answer/).first().waitFor();
  await page.locator(".markdown").getByText(words, { exact: true }).waitFor();
  await page.getByText(/completed · /).waitFor();
  must(await page.locator("del.lost").count() > 0, "the attempt that was lost is shown");
  must(await page.getByRole("button", { name: "Kill the worker" }).count() === 0, "nothing runs, so nothing is offered to be killed");
}, { allowed: (text) => /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|Failed to load resource|ERR_/.test(text) });
