// What has changed in a text.
import { visible } from "../format";
import { compared, unified, type Line } from "../lines";

const names: Record<string, string> = { "+": "added: ", "-": "removed: " };

/** Diff shows the lines of a unified diff, or those in which two texts differ. */
export function Diff({ label, text, from, to }: { label: string; text?: string; from?: string; to?: string }) {
  const lines: Line[] = text !== undefined ? unified(text) : compared(from ?? "", to ?? "");
  if (lines.every((l) => l.op === " ")) return <p class="dim">Nothing differs.</p>;
  return (
    <pre class="diff" tabIndex={0} role="region" aria-label={label}>
      {lines.map((l, i) => (
        <div key={i} class={l.op === "+" ? "added" : l.op === "-" ? "gone" : ""}>
          {names[l.op] && <span class="unseen">{names[l.op]}</span>}<span aria-hidden="true">{l.op} </span>{visible(l.text)}
        </div>
      ))}
    </pre>
  );
}
