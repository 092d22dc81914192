// A page that is open while everything behind it is killed shows the whole answer in the end. The test kills and restarts on "half".
import { base, browse, must, session } from "./page.mjs";

const words = "one two three four five six seven eight nine ten eleven twelve";

await browse(async (page) => {
  await page.goto(base); // before the turn begins, as a browser may take longer to start than the turn to end
  const { session: id } = await session("careful", `slow:800 say:"${words}"`);
  await page.goto(`${base}/sessions/${id}`);
  await page.getByText(/one two/).last().waitFor();
  await page.locator(".answer").getByText(/one two three/).waitFor();
  console.log("half");
  await page.getByText(/The connection broke|The server does not answer/).first().waitFor();
  console.log("noticed");
  await page.locator(".markdown").getByText(words, { exact: true }).waitFor();
  await page.getByText(/completed · /).waitFor();
  must(await page.locator(".user").count() === 1, "the message is shown once");
}, { allowed: (text) => /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|Failed to load resource|ERR_/.test(text) });
