// The pages of the first hour: a message, an approval and a question in a conversation, and the timelines of what ended before.
import { api, base, browse, must, session } from "../browser/testdata/page.mjs";

const { boss, failed } = JSON.parse(process.env.TURNS);
const wait = await session("careful", `call:mesh__uuid {} then call:ask_user {"question":"Which colour?"} then say:"all is well"`);

await browse(async (page) => {
  await page.goto(base);
  await page.getByRole("combobox", { name: "Agent" }).selectOption("careful");
  await page.getByRole("textbox", { name: "Message" }).fill("say:**bold**");
  await page.keyboard.press("Enter");
  await page.locator(".markdown strong").getByText("bold").waitFor();
  await page.reload();
  await page.locator(".markdown strong").getByText("bold").waitFor();

  await page.goto(`${base}/inbox`);
  await page.getByRole("region", { name: "Approval needed: mesh__uuid" }).getByRole("button", { name: "Approve" }).click();
  const question = page.getByRole("region", { name: "Question: mesh__ask_user" });
  await question.getByRole("textbox").fill("blue");
  await question.getByRole("button", { name: "Answer" }).click();
  await question.waitFor({ state: "detached" }); // the answer is there
  await page.goto(`${base}/turns/${wait.turn}?tab=talk`);
  await page.getByText("all is well", { exact: true }).first().waitFor();

  await page.goto(`${base}/turns/${boss}`);
  await page.getByRole("button", { name: "Unfold agent worker" }).click();
  await page.locator(".tl-row").filter({ hasText: "calculator__evaluate" }).first().waitFor();
  await page.goto(`${base}/turns/${failed}`);
  await page.locator(".tl-standing").getByText("failed", { exact: true }).waitFor();
});

await browse(async (page) => {
  await page.goto(`${process.env.TEMPORAL_UI}/namespaces/default/workflows/${failed}`);
  await page.getByText("Failed", { exact: true }).first().waitFor();
  await page.getByText(/infer #1/).last().waitFor();
}, { allowed: () => true });
const { output } = await api("GET", `/v1/turns/${wait.turn}?wait=60s`);
must(output === "all is well", output);
