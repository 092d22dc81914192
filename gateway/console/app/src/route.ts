// Each view has its own URL. The gateway serves the same document at all of them: gateway/console/console.go lists the same paths.
import { signal } from "@preact/signals";
import type { ComponentType } from "preact";

export interface PageProps { id: string; params: URLSearchParams }
type Loaded = { default: ComponentType<PageProps> };

export interface Route {
  path: string;
  /** name is what the navigation calls it: only routes with a name are there. */
  name?: string;
  icon?: string;
  /** about helps to find it in the palette. */
  about?: string;
  /** key is what its pages share: going from one to the other keeps what is open. Empty: the path and the id. */
  key?: string;
  /** bare pages have no navigation: people see them who may see nothing else. */
  bare?: boolean;
  load: () => Promise<Loaded>;
}

// One row a path. A page is loaded when it is opened first.
export const routes: Route[] = [
  { path: "/", name: "Chat", icon: "chat", about: "conversations with agents", key: "chat", load: () => import("./page/chat") },
  { path: "/sessions/{id}", key: "chat", load: () => import("./page/chat") },
  { path: "/inbox", name: "Inbox", icon: "inbox", about: "approvals, questions and what else waits for you", key: "inbox", load: () => import("./page/inbox") },
  { path: "/inbox/{id}", key: "inbox", load: () => import("./page/inbox") },
  { path: "/shared/{id}", bare: true, load: () => import("./page/shared") },
  { path: "/ui", about: "the components of these pages", load: () => import("./page/ui") },

  // Of a turn.
  { path: "/turns/{id}", load: () => import("./page/turn") },

  // Lists and administration.
  { path: "/turns", name: "Turns", icon: "turns", about: "all turns, by status, agent and text", load: () => import("./page/turns") },
  { path: "/sessions", about: "all conversations with their sub-agents", load: () => import("./page/sessions") },
  { path: "/agents", name: "Agents", icon: "agents", about: "agents and their revisions", load: () => import("./page/agents") },
  { path: "/agents/{id}", load: () => import("./page/agent") },
  { path: "/tools", name: "Tools", icon: "tools", about: "tools and groups", load: () => import("./page/tools") },
  { path: "/tools/{id}", load: () => import("./page/tool") },
  { path: "/sources", about: "where tools come from", load: () => import("./page/sources") },
  { path: "/sources/{id}", load: () => import("./page/source") },
  { path: "/knowledge", name: "Knowledge", icon: "knowledge", about: "banks, documents and memory", load: () => import("./page/knowledge") },
  { path: "/knowledge/{id}", load: () => import("./page/bank") },
  { path: "/access", name: "Access", icon: "access", about: "policies, decisions and audit", load: () => import("./page/access") },
  { path: "/usage", name: "Usage", icon: "usage", about: "tokens, cost, budgets and quotas", load: () => import("./page/usage") },
  { path: "/system", name: "System", icon: "system", about: "health, configuration, webhooks and events", load: () => import("./page/system") },

  // Of the API.
  { path: "/api", about: "every call of the REST API", load: () => import("./page/api") },
];

/** rail is the order of the navigation. */
export const rail = ["/", "/turns", "/inbox", "/agents", "/tools", "/knowledge", "/access", "/usage", "/system"]
  .flatMap((p) => routes.filter((r) => r.path === p && r.name));

/** matched finds the route of a path, and what stands for {id} in it. */
export function matched(of: string): { route: Route; id: string } | null {
  for (const route of routes) {
    const [prefix = "", variable] = route.path.split("{id}");
    if (variable === undefined) {
      if (of === prefix) return { route, id: "" };
    } else if (of.startsWith(prefix) && of.length > prefix.length && !of.slice(prefix.length).includes("/")) {
      try { return { route, id: decodeURIComponent(of.slice(prefix.length)) }; } catch { return null; }
    }
  }
  return null;
}

export const path = signal(location.pathname);
export const search = signal(location.search);
export const hash = signal(location.hash);

function read() {
  path.value = location.pathname;
  search.value = location.search;
  hash.value = location.hash;
}

addEventListener("popstate", read);
addEventListener("hashchange", read);

export function go(to: string, replace = false) {
  history[replace ? "replaceState" : "pushState"](null, "", to);
  read();
}

/** withParams is the address of this page with other parameters; "" leaves one out. */
export function withParams(changes: Record<string, string>): string {
  const q = new URLSearchParams(search.value);
  for (const [k, v] of Object.entries(changes)) {
    if (v) q.set(k, v);
    else q.delete(k);
  }
  const text = q.toString();
  return path.value + (text && `?${text}`);
}

/** setParams changes the parameters of this page in place, without a new step in the browser's history. */
export const setParams = (changes: Record<string, string>) => go(withParams(changes), true);

/** follow handles clicks on links within the console. */
export function follow(e: MouseEvent) {
  const a = (e.target as Element).closest?.("a");
  if (!a?.hasAttribute("href") || a.target || a.hasAttribute("download") || e.defaultPrevented || e.metaKey || e.ctrlKey || e.shiftKey || e.button !== 0 || a.origin !== location.origin) return;
  if (!matched(a.pathname) || a.hash && a.pathname === location.pathname) return;
  e.preventDefault();
  go(a.pathname + a.search + a.hash);
}
