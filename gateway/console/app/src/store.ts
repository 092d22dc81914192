// What all views share.
import { computed, signal, type Signal } from "@preact/signals";
import { parse } from "./json";
import { holds, rolesWith, takes } from "./permission";
import { asFailed, get, post, Failed, type Agent, type Approval, type Me, type Ready } from "./api";

/** kill is the path that ends the server's process for good and starts it again, "" where that is not offered. */
export const { kill = "" } = document.body.dataset;
/** login is the path at which browsers log in, "" where that is not offered. */
export const { login = "" } = document.body.dataset;
/** temporal is the URL of the Temporal UI, and workflows that of its page of a workflow up to the id. "" if there is none. */
export const { temporal = "", workflows = "" } = document.body.dataset;
export const agents = signal<Agent[] | null>(null);
/** agentsProblem is why they could not be read now, as the server says; that it does not answer at all, the navigation shows. */
export const agentsProblem = signal<Failed | null>(null);
/** approvals are what waits for people, approvalsRead whether they were read once, and approvalsMore whether there are more than were read. */
export const approvals = signal<Approval[]>([]);
export const approvalsRead = signal(false);
export const approvalsMore = signal(false);
export const approvalsProblem = signal<Failed | null>(null);
export const ready = signal<Ready | null>(null);
/** me is the caller, null while that is not known, and "" if the server does not know them. */
export const me = signal<Me | "" | null>(null);
export const unreached = signal(false);
export const models = signal<Model[]>([]);

export interface Model { name: string; provider: string; default: boolean }

/** can tells whether the caller has a permission. Controls that the server would refuse are not shown; all are until it has said what they have. */
export function can(permission: string): boolean {
  const all = me.value ? me.value.permissions : undefined;
  return !all || holds(all, permission);
}

/** whomToAsk are the roles that would give the caller a permission. */
export const whomToAsk = (permission: string): string[] =>
  me.value ? rolesWith(me.value.permissions ?? [], me.value.roles_with_permissions ?? [], permission) : [];

/** isTaken tells whether a rule takes a permission from the caller, so that no role gives it back. */
export const isTaken = (permission: string): boolean => (me.value ? takes(me.value.permissions ?? [], permission) : false);

/** waiting is how many things wait for people, "" for none. */
export const waiting = computed(() => (approvals.value.length ? `${approvals.value.length}${approvalsMore.value ? "+" : ""}` : ""));

/** quietly keeps what was there when it cannot be read now, and the server's reason in a problem, for the pages that show it. The navigation
 *  shows only that the server does not answer. */
async function quietly(load: () => Promise<void>, problem?: Signal<Failed | null>) {
  try {
    await load();
    if (problem) problem.value = null;
  } catch (e) {
    const of = asFailed(e);
    if (problem && of.code !== "unreachable") problem.value = of;
  }
}

export const loadApprovals = () => quietly(async () => {
  const { approvals: all, next_page_token: next } = await get<{ approvals: Approval[]; next_page_token: string }>("/v1/approvals?status=pending&page_size=100");
  approvals.value = all;
  approvalsMore.value = Boolean(next);
  approvalsRead.value = true;
}, approvalsProblem);

let watch: EventSource | null = null;
let again = 0; // when to try the stream after it was refused

/** watchApprovals follows what waits while the page is in view: browsers have few connections for a server. Without the stream it is polled. */
function watchApprovals() {
  if (document.hidden) {
    watch?.close();
    watch = null;
  } else if (!watch && Date.now() > again) {
    const own = watch = new EventSource("/v1/approvals:watch");
    const take = (e: Event) => {
      const data = parse((e as MessageEvent).data) as Approval & { approval?: Approval };
      const a = data.approval ?? data;
      const others = approvals.value.filter((x) => x.id !== a.id);
      approvals.value = a.status === "pending" ? [...others, a] : others;
    };
    for (const type of ["approval.opened", "approval.changed", "approval.closed"]) own.addEventListener(type, take);
    own.addEventListener("open", () => { void loadApprovals(); });
    own.addEventListener("error", () => {
      if (own.readyState !== EventSource.CLOSED || watch !== own) return;
      watch = null;
      again = Date.now() + 60_000;
    });
  }
}

export async function loadInventory() {
  await quietly(async () => { agents.value = (await get<{ agents: Agent[] }>("/v1/agents?page_size=200")).agents; }, agentsProblem);
  await quietly(async () => { models.value = (await get<{ models: Model[] }>("/v1/models?page_size=200")).models; });
}

const loadMe = () => quietly(async () => {
  try {
    me.value = await get<Me>("/v1/me");
  } catch (e) {
    if (!(e instanceof Failed) || e.status !== 401) throw e;
    me.value = "";
  }
});

/** logIn leaves for the issuer, and comes back to this page. */
export function logIn() {
  location.assign(`${login}?return_to=${encodeURIComponent(location.pathname + location.search)}`);
}

const renewing = "log-in-again";

/** logInAgain is logIn for turns that wait for it: they get the new login when this page is back. */
export function logInAgain() {
  sessionStorage.setItem(renewing, "1");
  logIn();
}

/** renew gives the turns that wait for a login the one that this page has come back with. */
const renew = () => quietly(async () => {
  if (!sessionStorage.getItem(renewing)) return;
  await loadMe();
  if (!me.value || !me.value.subject.includes(":")) return;
  sessionStorage.removeItem(renewing);
  await post("/v1/grants:renew");
  await loadApprovals();
});

/** logOut ends the login here, and leaves for the issuer to end it there. */
export async function logOut() {
  const { location: next } = await post<{ location: string }>("/logout");
  location.assign(next);
}

async function loadReady() {
  try {
    ready.value = await (await fetch("/readyz")).json();
    unreached.value = false;
  } catch {
    unreached.value = true;
  }
}

function every(millis: number, f: () => void) {
  f();
  setInterval(() => { if (!document.hidden) f(); }, millis);
}

export function start() {
  every(10_000, loadReady);
  every(60_000, loadMe);
  every(30_000, loadInventory);
  every(5_000, () => { watchApprovals(); if (watch?.readyState !== EventSource.OPEN) void loadApprovals(); });
  document.addEventListener("visibilitychange", watchApprovals);
  renew();
}
