// One box that finds anything: pages, ids, agents, tools, conversations.
import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { get, part, query } from "../api";
import { go, matched, routes } from "../route";
import { agents } from "../store";
import { Dialog } from "./dialog";
import { openHelp } from "./help";
import { Icon } from "./icons";
import { chooseTheme } from "./theme";

interface Found { kind: string; name: string; about: string; href?: string; run?: () => void }

const open = signal(false);
export const openPalette = () => { open.value = true; };

const acts: Found[] = [
  { kind: "action", name: "New conversation", about: "", href: "/" },
  { kind: "action", name: "Keys and commands", about: "?", run: openHelp },
  { kind: "action", name: "Light theme", about: "", run: () => chooseTheme("light") },
  { kind: "action", name: "Dark theme", about: "", run: () => chooseTheme("dark") },
  { kind: "action", name: "Theme of the system", about: "", run: () => chooseTheme("system") },
  { kind: "page", name: "Documentation", about: "how-tos and reference", href: "/docs" },
];

const capital = (s: string) => s.charAt(0).toUpperCase() + s.slice(1);
const pages = (): Found[] => routes.filter((r) => r.about && !r.path.includes("{")).map((r) => ({ kind: "page", name: r.name ?? capital(r.path.slice(1)), about: r.about ?? "", href: r.path }));

/** kinds are the pages of ids by their prefixes. */
const kinds: Record<string, [string, string]> = {
  ses: ["conversation", "/sessions/"], trn: ["turn", "/turns/"], apr: ["approval", "/inbox/"], src: ["source", "/sources/"],
};

/** ofId is the page of an id, or of an address of this console that was pasted. */
function ofId(text: string): Found[] {
  try {
    const url = new URL(text);
    if (url.origin === location.origin) return [{ kind: "link", name: url.pathname, about: "open this address", href: url.pathname + url.search + url.hash }];
  } catch { /* it is no address */ }
  const kind = kinds[/^([a-z]{3})_[0-9a-z]+$/.exec(text)?.[1] ?? ""];
  return kind ? [{ kind: kind[0], name: text, about: `open this ${kind[0]}`, href: kind[1] + part(text) }] : [];
}

/** titled finds conversations, by the titles of recent ones, else by their text. */
async function titled(q: string, signal: AbortSignal): Promise<Found[]> {
  type List = { sessions: { id: string; title: string; agent_id: string }[] };
  const read = (of: Record<string, string | number>) => get<List>(`/v1/sessions${query(of)}`, signal).then((a) => a.sessions, () => []);
  const recent = (await read({ page_size: 50 })).filter((s) => s.title.toLowerCase().includes(q));
  const all = recent.length ? recent : await read({ page_size: 6, q });
  return all.slice(0, 6).map((s) => ({ kind: "conversation", name: s.title || s.id, about: s.agent_id, href: `/sessions/${s.id}` }));
}

/** searched asks the server; what it does not answer is left out. */
async function searched(q: string, signal: AbortSignal): Promise<Found[]> {
  const ask = <T,>(path: string, take: (answer: T) => Found[]) => get<T>(path, signal).then(take).catch(() => []);
  const all = await Promise.all([
    titled(q, signal),
    ask<{ tools: { tool: { name: string; description: string } }[] }>(`/v1/tools:search${query({ query: q, limit: 6 })}`, (a) => a.tools.map(({ tool: t }) => ({
      kind: "tool", name: t.name, about: t.description.slice(0, 80), href: `/tools/${part(t.name)}` }))),
    ask<{ banks: { id: string; description?: string }[] }>(`/v1/banks${query({ page_size: 50 })}`, (a) => a.banks.filter((b) => b.id.includes(q)).map((b) => ({
      kind: "bank", name: b.id, about: b.description ?? "", href: `/knowledge/${part(b.id)}` }))),
    ask<{ sources: { id: string; name: string; kind: string }[] }>(`/v1/sources${query({ page_size: 100 })}`, (a) => a.sources.filter((s) => s.name.includes(q)).map((s) => ({
      kind: "source", name: s.name, about: s.kind, href: `/sources/${part(s.id)}` }))),
  ]);
  return all.flat();
}

export function Palette() {
  return open.value ? <Box /> : null;
}

function Box() {
  const text = useSignal("");
  const remote = useSignal<Found[]>([]);
  const at = useSignal(0);
  const list = useRef<HTMLUListElement>(null);
  const q = text.value.trim().toLowerCase();
  useEffect(() => {
    remote.value = [];
    if (q.length < 2) return;
    const own = new AbortController();
    const timer = setTimeout(() => { searched(q, own.signal).then((f) => { if (!own.signal.aborted) remote.value = f; }, () => undefined); }, 150);
    return () => {
      clearTimeout(timer);
      own.abort();
    };
  }, [q]);
  useEffect(() => { list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }); }, [at.value]);
  const fits = (f: Found) => !q || `${f.name} ${f.about} ${f.kind}`.toLowerCase().includes(q);
  const ofAgents = (agents.value ?? []).map((a): Found => ({ kind: "agent", name: a.id, about: a.description, href: `/agents/${part(a.id)}` }));
  const all = [...ofId(text.value.trim()), ...pages().filter(fits), ...acts.filter(fits), ...ofAgents.filter((f) => q && fits(f)), ...remote.value];
  const close = () => { open.value = false; };
  const choose = (f: Found | undefined) => {
    if (!f) return;
    close();
    if (f.run) f.run();
    else if (matched(new URL(f.href!, location.origin).pathname)) go(f.href!);
    else location.assign(f.href!);
  };
  const key = (e: KeyboardEvent) => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      at.value = (at.value + (e.key === "ArrowDown" ? 1 : all.length - 1)) % Math.max(1, all.length);
    } else if (e.key === "Enter") {
      e.preventDefault();
      choose(all[at.value]);
    }
  };
  return (
    <Dialog title="Find" onClose={close} wide>
      <input class="palette-text" type="text" autofocus {...{ role: "combobox" }} aria-expanded="true" aria-controls="palette-list" aria-label="Find a page, an id, an agent, a tool or a conversation"
        aria-activedescendant={all.length ? `found-${at.value}` : undefined} placeholder="A page, an id, an agent, a tool, a conversation…"
        value={text.value} onInput={(e) => { text.value = e.currentTarget.value; at.value = 0; }} onKeyDown={key} />
      <ul class="palette-list" id="palette-list" role="listbox" aria-label="Found" ref={list}>
        {all.map((f, i) => (
          <li key={f.kind + f.name + (f.href ?? "")} id={`found-${i}`} role="option" aria-selected={i === at.value} onClick={() => choose(f)}>
            <span class="grow"><b>{f.name}</b> <span class="dim">{f.about}</span></span><span class="tag">{f.kind}</span>
          </li>
        ))}
      </ul>
      {!all.length && <p class="dim" role="status">Nothing is called so.</p>}
    </Dialog>
  );
}

/** PaletteButton opens the palette for those who do not know its key. */
export const PaletteButton = () => <button type="button" class="quiet rail-find" onClick={openPalette}><Icon of="search" /><span>Find</span><kbd>Ctrl K</kbd></button>;
