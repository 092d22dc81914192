// The keys of these pages.
import { signal } from "@preact/signals";
import { commands } from "../chat/command";
import { Dialog } from "./dialog";

const open = signal(false);

export const openHelp = () => { open.value = true; };

/** keys are what keys do, by where they do it. */
export const keys: [string, [string, string][]][] = [
  ["Everywhere", [["Ctrl K", "find anything: a page, an id, an agent, a tool, a conversation"], ["?", "show this"], ["g then c", "chat"], ["g then t", "turns"], ["g then i", "inbox"],
    ["g then a", "agents"], ["g then o", "tools"], ["g then k", "knowledge"], ["g then u", "usage"], ["g then s", "system"], ["Escape", "close what is open"]]],
  ["Chat", [["Enter", "send, or steer while a turn runs"], ["Ctrl Enter", "queue in place of steer, or the other way round"], ["Shift Enter", "a new line"], ["/", "move to the message; in it, a command"],
    ["n", "a new conversation"]]],
  ["Inbox", [["j or k", "the next or the one before"], ["a", "approve, or it was done"], ["d", "deny, or it was not done"], ["Enter", "move into what is chosen"]]],
];

const Keys = ({ of }: { of: string }) => <>{of.split(" ").map((k, i) => (/^(then|or)$/.test(k) ? <span key={i}> {k} </span> : <kbd key={i}>{k}</kbd>))}</>;

export function Help() {
  if (!open.value) return null;
  return (
    <Dialog title="Keys and commands" onClose={() => { open.value = false; }} wide>
      <div class="columns keys">
        {keys.map(([name, all]) => (
          <section key={name} aria-label={name}><h3>{name}</h3><dl>{all.map(([k, what]) => <div key={k}><dt><Keys of={k} /></dt><dd>{what}</dd></div>)}</dl></section>
        ))}
        <section aria-label="Commands"><h3>Commands in a message</h3><dl>{commands.map((c) => <div key={c.name}><dt><code>/{c.name}</code></dt><dd>{c.about}</dd></div>)}</dl></section>
      </div>
    </Dialog>
  );
}
