// Things within things: sub-agents of a session, budgets of a budget.
import type { ComponentChildren } from "preact";

export interface Branch {
  id: string;
  /** head is what is said of it, in one line. */
  head: ComponentChildren;
  children?: Branch[];
  /** closed branches show their children on request. */
  closed?: boolean;
}

export function Tree({ label, of }: { label: string; of: Branch[] }) {
  return <ul class="tree" aria-label={label}>{of.map((b) => <Node key={b.id} of={b} />)}</ul>;
}

function Node({ of }: { of: Branch }) {
  if (!of.children?.length) return <li class="leaf">{of.head}</li>;
  return (
    <li>
      <details open={!of.closed}>
        <summary>{of.head}</summary>
        <ul>{of.children.map((b) => <Node key={b.id} of={b} />)}</ul>
      </details>
    </li>
  );
}
