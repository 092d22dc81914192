// A conversation: asked by keyboard, approved by keyboard, answered with text of a stranger, and there again after a reload.
import { accessible, browse, must, tabTo } from "./page.mjs";

const hostile = "# Done\n\n**bold** `code` <img src=x onerror=alert(1)> <script>alert(2)</script> [bad](javascript:alert(3)) " +
  "![pixel](https://attacker.example/p.png) [good](https://example.com)\n\n| a | b |\n|---|---|\n| 1 | 2 |";

await browse(async (page, context) => {
  const outside = [];
  page.on("request", (r) => { if (!r.url().startsWith(process.env.WINDLASS_URL)) outside.push(r.url()); });
  await page.goto(process.env.WINDLASS_URL);
  await page.getByRole("heading", { name: "Start a conversation" }).waitFor();
  await accessible(page, "start");

  await page.getByRole("combobox", { name: "Agent", exact: true }).selectOption("careful");
  await page.keyboard.press("/");
  await page.keyboard.type("call:mesh__uuid {} then say:" + JSON.stringify(hostile));
  await page.keyboard.press("Enter");

  const card = page.getByRole("region", { name: "Approval needed: mesh__uuid" });
  await card.getByText("Somebody should look.").waitFor();
  for (const what of ["arguments", "tool"]) await card.getByText(new RegExp(`${what} [0-9a-f]{12}…`)).waitFor();
  await page.getByText("waits for you").first().waitFor();
  await page.getByRole("link", { name: "Inbox" }).locator(".badge").getByText("1").waitFor();
  await accessible(page, "approval");
  await tabTo(page, card.getByRole("button", { name: "Approve" }));
  await page.keyboard.press("Enter");
  await card.getByText("approved").waitFor();

  const check = async (when) => {
    await page.getByRole("heading", { name: "Done", exact: true }).waitFor();
    const answer = page.locator(".markdown").last();
    must(await answer.locator("strong, code, table").count() === 3, `${when}: Markdown is not rendered`);
    must(await answer.locator("img, script, a[href^=javascript]").count() === 0, `${when}: hostile Markdown became elements`);
    const links = await answer.getByRole("link").evaluateAll((all) => all.map((a) => a.protocol + a.rel));
    must(links.every((l) => l === "https:noreferrer noopener"), `${when}: links are ${links}`);
    await page.getByText(/completed · .* tokens/).waitFor();
  };
  await check("as it happens");
  await page.reload();
  await check("after a reload");
  must(outside.length === 0, "the page asked others: " + outside);

  await page.getByLabel("Message", { exact: true }).fill("say:again");
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator(".markdown").getByText("again", { exact: true }).waitFor();
  must(await page.locator(".user").count() === 2, "both messages are there");
  await accessible(page, "chat");

  const other = await context.newPage(); // somebody who comes later sees the list of conversations
  await other.goto(process.env.WINDLASS_URL);
  await other.getByRole("complementary").getByRole("link", { name: /call:mesh__uuid/ }).click();
  await other.locator(".markdown").getByText("again", { exact: true }).waitFor();

  await page.goto(process.env.WINDLASS_URL);
  await page.getByRole("combobox", { name: "Agent", exact: true }).selectOption("guarded");
  await page.getByLabel("Message", { exact: true }).fill("say:falcon");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("Shield falcon redacted the message (pattern).").waitFor();
  await page.getByText(/^Shield away could not check the answer, and let it pass: .+\.$/).waitFor();
});
