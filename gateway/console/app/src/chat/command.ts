// Commands that one writes in place of a message.

interface Command { name: string; takes: string; about: string }

export const commands: Command[] = [
  { name: "new", takes: "", about: "start a conversation" },
  { name: "agent", takes: "AGENT", about: "start a conversation with another agent" },
  { name: "model", takes: "MODEL", about: "run the last turn again with another model, as a branch" },
  { name: "export", takes: "markdown, json or pdf", about: "save this conversation as a file" },
  { name: "fork", takes: "", about: "continue in a copy of this conversation" },
  { name: "help", takes: "", about: "show the keys and commands" },
];

/** parsed is the command that a text is, null if it is a message. Two slashes begin a message that begins with one. */
export function parsed(text: string): { name: string; rest: string } | null {
  const found = /^\/([a-z]*)(?:\s+([^]*))?$/.exec(text.trim());
  return found ? { name: found[1]!, rest: (found[2] ?? "").trim() } : null;
}

/** message is the text to send for what was written. */
export const message = (text: string) => (text.startsWith("//") ? text.slice(1) : text);

/** offered are the commands and arguments that complete what was written so far. */
export function offered(text: string, agents: string[], models: string[]): { text: string; about: string }[] {
  if (!text.startsWith("/") || text.startsWith("//") || text.includes("\n")) return [];
  const space = text.indexOf(" ");
  if (space < 0) return commands.filter((c) => c.name.startsWith(text.slice(1))).map((c) => ({ text: `/${c.name}${c.takes ? " " : ""}`, about: c.about }));
  const [name, rest] = [text.slice(1, space), text.slice(space + 1).trim().toLowerCase()];
  const all = name === "agent" ? agents : name === "model" ? models : name === "export" ? ["markdown", "json", "pdf"] : [];
  return all.filter((a) => a.toLowerCase().includes(rest) && a !== rest).slice(0, 8).map((a) => ({ text: `/${name} ${a}`, about: "" }));
}
