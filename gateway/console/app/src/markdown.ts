// Markdown of models is text of strangers: no HTML, no images, and links only to hosts that an operator has listed. An address can carry
// away what was said before, so all others are shown in full and lead nowhere.
import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";

const parser = new MarkdownIt({ html: false, linkify: true, breaks: true }).disable("image");

// The page has headings of its own above those of an answer.
parser.core.ruler.push("demote", (state) => {
  for (const t of state.tokens) if (/^h[1-6]$/.test(t.tag)) t.tag = `h${Math.min(6, Number(t.tag[1]) + 2)}`;
});

const { links = "" } = document.body.dataset;
const listed = links.split(" ").filter(Boolean);

/** leads tells whether an answer may link to an address: to this server, and to hosts in gateway.link_hosts. */
export function leads(address: string): boolean {
  let url: URL;
  try { url = new URL(address); } catch { return false; }
  if (url.username || url.password || !/^https?:$/.test(url.protocol)) return false;
  return url.origin === location.origin || listed.some((h) => h === "*" || h === url.hostname || h[0] === "." && url.hostname.endsWith(h));
}

// A link that leads nowhere becomes its text, followed by the address unless that is the text.
parser.core.ruler.push("unlink", (state) => {
  for (const { children } of state.tokens) {
    let address = "", shown = "";
    for (const t of children ?? []) {
      if (t.type === "link_open" && !leads(String(t.attrGet("href")))) {
        [address, shown] = [String(t.attrGet("href")), ""];
        [t.type, t.tag, t.nesting, t.content] = ["text", "", 0, ""];
      } else if (t.type === "link_close" && address) {
        [t.type, t.tag, t.nesting, t.content] = ["text", "", 0, [shown, `http://${shown}`, `mailto:${shown}`].includes(address) ? "" : ` (${address})`];
        address = "";
      } else if (address) shown += t.content;
    }
  }
});

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName !== "A") return;
  if (!leads(node.getAttribute("href") ?? "")) node.removeAttribute("href");
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noreferrer noopener");
});

/** longest is the length from which text is shown as it is: parsing more would stop the page. */
export const longest = 200_000;

const clean = (html: string) => DOMPurify.sanitize(html, {
  ALLOWED_TAGS: [
    "p", "br", "a", "strong", "em", "s", "code", "pre", "ul", "ol", "li", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "hr",
    "table", "thead", "tbody", "tr", "th", "td",
  ],
  ALLOWED_ATTR: ["href", "start"],
  ALLOWED_URI_REGEXP: /^https?:/i,
});

export function markdown(text: string): string {
  return text.length > longest ? "" : clean(parser.render(text));
}

/** firstBlocks renders text that may still grow: `done` are the blocks that more text does not change, which take `length` characters, and
 *  `open` is the last one. Lines end with \n. */
export function firstBlocks(text: string): { done: string; length: number; open: string } {
  const env = {};
  const tokens = parser.parse(text, env);
  let at = tokens.length;
  while (--at > 0 && !(tokens[at]!.level === 0 && tokens[at]!.nesting >= 0 && tokens[at]!.map));
  const html = (of: typeof tokens) => clean(parser.renderer.render(of, parser.options, env));
  if (at <= 0) return { done: "", length: 0, open: html(tokens) };
  let length = 0;
  for (let line = tokens[at]!.map![0]; line > 0; line--) length = text.indexOf("\n", length) + 1;
  return { done: html(tokens.slice(0, at)), length, open: html(tokens.slice(at)) };
}
