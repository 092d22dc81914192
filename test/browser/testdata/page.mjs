// What the scenarios share: a browser, a page that must not complain, and checks for accessibility.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(process.env.PACKAGES + "/");
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export const base = process.env.WINDLASS_URL;
export const folder = process.env.SCREENSHOTS ?? "";

/** whole says that nothing is left to chance: `make nightly` sets it. Otherwise a part of each check is drawn by the day. */
export const whole = process.env.WINDLASS_TEST_WHOLE === "1" || folder !== "";

export function must(ok, what) {
  if (!ok) throw new Error(what);
}

export async function api(method, path, body) {
  const r = await fetch(base + path, {
    method, headers: { "Content-Type": "application/json", Accept: "application/json" }, body: body && JSON.stringify(body),
  });
  const json = await r.json();
  must(r.ok, `${method} ${path}: ${JSON.stringify(json)}`);
  return json;
}

/** session starts a conversation with a first message, and returns its ids. */
export async function session(agent, input, more = {}) {
  const s = await api("POST", "/v1/sessions", { agent_id: agent });
  const t = await api("POST", `/v1/sessions/${s.id}/turns`, { input, ...more });
  return { session: s.id, turn: t.id };
}

// What no test sees costs processor time: a process for the GPU and for each site, and their reports of crashes.
const args = [
  "--no-sandbox", "--disable-gpu", "--disable-software-rasterizer", "--in-process-gpu", "--process-per-site", "--disable-site-isolation-trials",
  "--disable-breakpad", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

let browser; // one for all scenarios of the process

/** close ends the browser, and with it the process. */
export async function close() { await browser?.close(); }

/** browse runs a scenario in a page. What the page throws or logs as an error fails it, unless allowed says that it may. */
export async function browse(scenario, { allowed = () => false, ...options } = {}) {
  browser ??= await chromium.launch({ executablePath: process.env.CHROMIUM, args });
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, reducedMotion: "reduce", ...options });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(180_000); // only a scenario that fails waits so long
    const complaints = [];
    page.on("pageerror", (e) => { if (!allowed(String(e))) complaints.push(String(e)); });
    page.on("dialog", (d) => { complaints.push("dialog: " + d.message()); d.dismiss(); });
    // A page polls what waits while the server refuses the stream of it, or is away; and a turn's page asks for budgets, which not all users may list.
    const polled = (m) => /\/v1\/(approvals:watch|budgets\?page_size=\d+)$/.test(m.location().url);
    page.on("console", (m) => { if (m.type() === "error" && !polled(m) && !allowed(m.text())) complaints.push(`${m.text()} ${m.location().url}`); });
    await scenario(page, context);
    must(complaints.length === 0, "the page complains: " + complaints.join("\n"));
  } finally {
    for (const each of browser.contexts()) await each.close();
  }
}

/** both are each theme once and each width once, for scripts that check many pages. */
export const both = [["light", 1200], ["dark", 360]];

/** today is the number of the day that the seed of the tests is, as in testmain.Share. */
const today = ((seed) => {
  const [, year, month, day] = /^(\d{4})(\d\d)(\d\d)$/.exec(seed) ?? [];
  return year ? Date.UTC(+year, +month - 1, +day) / 86_400_000 : Number(seed) || 0;
})(process.env.WINDLASS_TEST_SHUFFLE ?? "");

/** draw is a number below n that depends on a name, the next one on the next day. */
const draw = (name, n) => (today + createHash("sha256").update(name).digest().readUInt32BE()) % n;

/** due says whether a thing is checked today, which it is on one day of n. */
export const due = (name, n) => whole || draw(name, n) === 0;

/** accessible checks that nothing of a page is wider than the window at any width, and the page with axe in one of the views, drawn by the day. */
export async function accessible(page, name, views = [["light", 1200], ["light", 360], ["dark", 1200], ["dark", 360]]) {
  const narrow = async (width) => {
    await page.setViewportSize({ width, height: 900 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    must(wide <= width, `${name}: ${wide} pixels wide at ${width}`);
  };
  for (const width of new Set(views.map(([, width]) => width))) await narrow(width);
  for (const [colorScheme, width] of whole ? views : [views[draw(name, views.length)]]) {
    await page.emulateMedia({ colorScheme });
    await narrow(width);
    if (!await page.evaluate(() => "axe" in globalThis)) await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ["violations"] }));
    must(violations.length === 0, `${name}, ${colorScheme}, ${width}: ` +
      violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html + " " + n.failureSummary).join("; ")}`).join("\n"));
    if (folder) await page.screenshot({ path: `${folder}/${name}-${colorScheme}-${width}.png` });
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1200, height: 900 });
}

/** picture takes a screenshot for the documentation, when `make screenshots` asks for them. */
export async function picture(page, name) {
  if (!process.env.PICTURES) return;
  await page.setViewportSize({ width: 1200, height: 760 });
  await page.screenshot({ path: `${process.env.PICTURES}/${name}.png` });
}

/** tabTo presses Tab until the focus is on what the selector finds. */
export async function tabTo(page, locator) {
  for (let i = 0; i < 60; i++) {
    if (await locator.evaluate((e) => e === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not reach ${locator}`);
}
