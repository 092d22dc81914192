// Markdown of models is text of strangers: no HTML, no images, only links that open elsewhere.
import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";

const parser = new MarkdownIt({ html: false, linkify: true, breaks: true }).disable("image");

// The page has headings of its own above those of an answer.
parser.core.ruler.push("demote", (state) => {
  for (const t of state.tokens) if (/^h[1-6]$/.test(t.tag)) t.tag = `h${Math.min(6, Number(t.tag[1]) + 2)}`;
});

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName !== "A") return;
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noreferrer noopener");
});

/** longest is the length from which text is shown as it is: parsing more would stop the page. */
const longest = 200_000;

export function markdown(text: string): string {
  if (text.length > longest) return "";
  return DOMPurify.sanitize(parser.render(text), {
    ALLOWED_TAGS: [
      "p", "br", "a", "strong", "em", "s", "code", "pre", "ul", "ol", "li", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "hr",
      "table", "thead", "tbody", "tr", "th", "td",
    ],
    ALLOWED_ATTR: ["href", "start"],
    ALLOWED_URI_REGEXP: /^(https?|mailto):/i,
  });
}
