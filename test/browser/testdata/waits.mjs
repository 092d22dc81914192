// The inbox: each kind of wait can be ended there.
import { accessible, api, base, browse, must, picture, session } from "./page.mjs";

const ask = await session("careful", 'call:ask_user {"question":"Which colour?","options":["red","blue"]}');
const client = await session("careful", 'call:client__open {"file":"notes.txt"}', {
  tools: [{ name: "open", description: "Opens a file", input_schema: { type: "object", properties: { file: { type: "string" } } } }],
});
const crash = await session("careful", 'call:crash {"call_id":"pay-1"}');
const deny = await session("careful", "call:mesh__uuid {}");

await browse(async (page) => {
  await page.goto(base + "/inbox");
  const card = (name) => page.getByRole("region", { name });
  for (const name of ["Question: mesh__ask_user", "A client runs this tool: client__open", "Did this call happen?: shaky__crash", "Approval needed: mesh__uuid"]) {
    await card(name).waitFor();
  }
  await picture(page, "console-inbox");
  await accessible(page, "inbox");

  const question = card("Question: mesh__ask_user");
  await question.getByText("Which colour?").waitFor();
  await question.getByRole("combobox").selectOption("blue");
  await question.getByRole("button", { name: "Answer" }).click();
  const tool = card("A client runs this tool: client__open");
  await tool.getByLabel("Result").fill("it is open");
  await tool.getByRole("button", { name: "Send" }).click();
  const unknown = card("Did this call happen?: shaky__crash");
  await unknown.getByLabel("Result").fill("receipt 17");
  await unknown.getByRole("button", { name: "It was done" }).click();
  await card("Approval needed: mesh__uuid").getByLabel("Comment").fill("not today");
  await card("Approval needed: mesh__uuid").getByRole("button", { name: "Deny" }).click();
  await page.getByText("Nothing waits for you.").waitFor();
});

for (const [{ turn }, want] of [[ask, /blue/], [client, /it is open/], [crash, /receipt 17/], [deny, /not today/]]) {
  const { output } = await api("GET", `/v1/turns/${turn}?wait=60s`);
  must(want.test(output), `${turn} answered ${output}`);
}
