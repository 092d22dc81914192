// What a conversation offers besides messages: files, drafts, steering, branches, commands, and answers to what its calls wait for.
import { accessible, api, base, both, browse, must, picture, session } from "./page.mjs";

const unknown = await session("careful", 'call:crash {"call_id":"pay-2"}');
const parent = await session("overseer", 'call:agent__careful {"message":"call:mesh__uuid {}"}');

await browse(async (page) => {
  const message = page.getByLabel("Message", { exact: true });
  const send = page.getByRole("button", { name: "Send", exact: true });
  const pngOf = (name) => ({ name, mimeType: "image/png", buffer: Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64") });

  // The agent is chosen from the start, and what is typed survives a reload.
  await page.goto(base);
  const agent = page.getByRole("combobox", { name: "Agent", exact: true });
  await page.getByRole("button", { name: "What can you do?" }).waitFor();
  must(await agent.inputValue() === "assistant", `the agent is ${await agent.inputValue()}`);
  await agent.selectOption("careful");
  await page.locator("form input[type=file]").setInputFiles(pngOf("dot.png"));
  await page.getByLabel("Attachments").getByText(/dot\.png \d+ B/).waitFor();
  await message.fill('say:"a picture"');
  await page.reload();
  must(await message.inputValue() === 'say:"a picture"', "the draft is gone");
  must(await agent.inputValue() === "careful", "the choice of the agent is gone");
  await page.getByLabel("Attachments").getByText("dot.png").waitFor();
  await send.click();
  await page.locator(".user img[alt='dot.png']").waitFor();
  await page.locator(".markdown").getByText("a picture", { exact: true }).waitFor();
  must(await message.inputValue() === "", "the message is still there");
  const first = page.url().split("/").pop();

  // Files are dropped and pasted too.
  const dropped = await page.evaluateHandle(() => {
    const d = new DataTransfer();
    d.items.add(new File(["notes"], "notes.txt", { type: "text/plain" }));
    return d;
  });
  await page.getByRole("log").dispatchEvent("drop", { dataTransfer: dropped });
  await page.getByLabel("Attachments").getByText(/notes\.txt \d/).waitFor();
  await page.getByRole("button", { name: "Remove notes.txt" }).click();
  await message.evaluate((e) => {
    const d = new DataTransfer();
    d.items.add(new File(["pasted"], "pasted.txt", { type: "text/plain" }));
    e.dispatchEvent(new ClipboardEvent("paste", { clipboardData: d, bubbles: true, cancelable: true }));
  });
  await page.getByLabel("Attachments").getByText(/pasted\.txt \d/).waitFor();
  await page.getByRole("button", { name: "Remove pasted.txt" }).click();

  // While a turn runs, one steers it, queues a message, or stops it.
  await message.fill('slow:300 say:"' + "word ".repeat(400) + 'end" then say:"read"');
  await send.click();
  await page.getByRole("button", { name: "Steer", exact: true }).waitFor();
  await message.fill("and one more thing");
  await page.getByRole("button", { name: "Steer", exact: true }).click();
  await page.getByText("The running turn reads this at its next step.").waitFor();
  await page.getByText("You added: and one more thing").waitFor();
  await page.getByLabel(/While this turn runs/).selectOption("enqueue");
  await message.fill('say:"queued answer"');
  await page.getByRole("button", { name: "Queue", exact: true }).click();
  await page.getByText("This runs after the turn that runs now.").waitFor();
  await accessible(page, "steer", both);
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.locator(".foot").getByText(/cancelled/).waitFor();
  await page.locator(".markdown").getByText("queued answer", { exact: true }).waitFor();
  await send.waitFor();

  // A message is edited and sent again in a branch, which has what came before it.
  await page.locator(".turn-items").nth(1).hover();
  await page.locator(".turn-items").nth(1).getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Message to send in a branch").fill('say:"in the branch"');
  await page.getByRole("button", { name: "Send in a branch" }).click();
  await page.locator(".turn-items .markdown").getByText("in the branch", { exact: true }).waitFor();
  must(!page.url().endsWith(first), "it is no branch");
  await page.locator(".before").getByText('say:"a picture"').waitFor();
  await page.getByRole("link", { name: "another conversation" }).click();
  await page.locator(".markdown").getByText("queued answer", { exact: true }).waitFor();

  // Commands are offered as they are typed; one that is unknown is no message.
  await message.fill("/ag");
  await page.getByRole("option", { name: /\/agent/ }).waitFor();
  await message.press("Tab");
  await message.pressSequentially("worker");
  await message.press("Enter");
  await page.waitForURL(`${base}/`);
  must(await agent.inputValue() === "worker", `the command chose ${await agent.inputValue()}`);
  await message.fill("/wrong");
  await message.press("Enter");
  await page.getByText("There is no command /wrong.").waitFor();
  await message.fill("");

  // The answer that a call waits for is given where the call is: an unknown outcome, and the approval of a sub-agent.
  await page.goto(`${base}/sessions/${unknown.session}`);
  const lost = page.getByRole("region", { name: "Did this call happen?: shaky__crash" });
  await lost.getByLabel("Result").fill("receipt 18");
  await picture(page, "console-unknown");
  await lost.getByRole("button", { name: "It was done" }).click();
  await page.locator(".markdown").getByText(/receipt 18/).first().waitFor();
  await page.goto(`${base}/sessions/${parent.session}`);
  const card = page.getByRole("region", { name: "Approval needed: mesh__uuid" });
  await card.getByRole("button", { name: "Approve" }).click();
  await page.getByText(/completed · .* tokens/).waitFor();
  await page.locator(".child summary").click();
  await page.locator(".child .tool").getByText("mesh__uuid").first().waitFor();
  await accessible(page, "child", both);

  // The list: renamed, found again.
  await page.goto(`${base}/sessions/${first}`);
  await page.getByText("Conversation", { exact: true }).click();
  await page.getByRole("button", { name: "Rename…" }).click();
  await page.getByLabel("Title").fill("The picture");
  await page.getByRole("button", { name: "Rename", exact: true }).click();
  await page.getByRole("complementary").getByRole("link", { name: /The picture/ }).waitFor();
  const { title } = await api("GET", `/v1/sessions/${first}`);
  must(title === "The picture", `the title is ${title}`);
});
