// A conversation is shared by a link, read, followed and revoked; it is deleted and brought back, found, pinned, archived and exported.
import { accessible, api, base, both, browse, must, session } from "./page.mjs";

const s = await session("careful", 'call:calculator__evaluate {"expression":"6*7"} then say:"the **shared** answer"');
await api("GET", `/v1/turns/${s.turn}?wait=60s`);

await browse(async (page, context) => {
  const menu = async (name) => {
    await page.getByText("Conversation", { exact: true }).click();
    await page.getByRole("button", { name, exact: true }).click();
  };
  const listed = page.getByRole("complementary").locator(`a[href="/sessions/${s.session}"]`);
  await page.goto(`${base}/sessions/${s.session}`);
  await page.locator(".markdown").getByText("shared").waitFor();
  await menu("Share…");
  const dialog = page.getByRole("dialog", { name: "Share this conversation" });
  await dialog.getByLabel("Who may open the link").selectOption("anyone");
  await dialog.getByLabel("Later messages are shown too").check();
  await dialog.getByRole("button", { name: "Create link" }).click();
  const link = new URL(await dialog.getByLabel("Link", { exact: true }).inputValue());
  await accessible(page, "share", both);

  const other = await context.browser().newContext();
  const reader = await other.newPage();
  await reader.goto(base + link.pathname);
  await reader.locator(".markdown").getByText("shared").waitFor();
  await reader.getByText("result left out").waitFor();
  must(await reader.locator("nav, textarea").count() === 0, "a reader has navigation, or can write");
  await accessible(reader, "shared", both);
  await api("POST", `/v1/sessions/${s.session}/turns`, { input: 'say:"said later"' });
  await reader.locator(".markdown").getByText("said later").waitFor();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await reader.getByText("This link opens nothing.").waitFor();
  must(await reader.getByText("said later").count() === 0, "what was shared is still there");
  await other.close();
  await page.keyboard.press("Escape");

  await menu("Delete");
  await page.waitForURL(`${base}/`);
  await listed.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Undo" }).click();
  await page.waitForURL(`${base}/sessions/${s.session}`);
  await page.locator(".markdown").getByText("said later").waitFor();

  await page.getByLabel("Search conversations").fill("shared");
  await listed.waitFor();
  await page.getByLabel("Search conversations").fill("");
  await menu("Pin");
  await listed.getByText(/pinned/).waitFor();
  await menu("Archive");
  await listed.waitFor({ state: "detached" });
  for (const [name, file] of [["Export as Markdown", /\.md$/], ["Export as JSON", /\.json$/]]) {
    const [download] = await Promise.all([page.waitForEvent("download"), menu(name)]);
    must(file.test(download.suggestedFilename()), `the export is ${download.suggestedFilename()}`);
  }
});
