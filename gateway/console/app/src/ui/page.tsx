// The frame of every page, and what a page shows when it has nothing else.
import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Failed } from "../api";
import { isTaken, login, logIn, whomToAsk } from "../store";
import { copy } from "./dialog";
import { Id } from "./show";

/** state is what the browser's tab says of the page that is open. */
export const state = signal<"" | "running" | "waiting" | "failed">("");

/** useTitle names the page in the browser's tab. */
export function useTitle(title: string, of: typeof state.value = "") {
  useEffect(() => {
    document.title = title ? `${title} · Windlass` : "Windlass";
    state.value = of;
  }, [title, of]);
  useEffect(() => () => { state.value = ""; }, []);
}

interface PageProps {
  title: string;
  /** crumbs are the pages above, from the top: text and address. */
  crumbs?: [string, string][];
  /** api is the path of the REST API that gives what the page shows. */
  api?: string;
  actions?: ComponentChildren;
  /** head replaces the title where more than words belong there. */
  head?: ComponentChildren;
  state?: typeof state.value;
  wide?: boolean;
  children?: ComponentChildren;
}

/** Page is a page with its title, what is above it, and what can be done there. */
export function Page({ title, crumbs, api, actions, head, state: of, wide, children }: PageProps) {
  useTitle(title, of);
  return (
    <section class={wide ? "page wide" : "page"} aria-label={title}>
      <div class="page-head">
        <div class="page-title">
          {crumbs && crumbs.length > 0 && (
            <nav class="crumbs" aria-label="Breadcrumbs">
              <ol>{crumbs.map(([text, href]) => <li key={href}><a href={href}>{text}</a></li>)}</ol>
            </nav>
          )}
          <h2>{head ?? title}</h2>
        </div>
        <div class="page-actions">{actions}{api && <ApiMenu path={api} />}</div>
      </div>
      {children}
    </section>
  );
}

/** useMenu closes an open menu on Escape, on a click elsewhere, and after a choice. */
function useMenu() {
  const details = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const elsewhere = (e: Event) => {
      const d = details.current;
      if (d?.open && !d.contains(e.target as Node)) d.open = false;
    };
    const escape = (e: KeyboardEvent) => {
      const d = details.current;
      if (e.key !== "Escape" || !d?.open) return;
      d.open = false;
      d.querySelector("summary")?.focus();
    };
    addEventListener("click", elsewhere);
    addEventListener("keydown", escape);
    return () => {
      removeEventListener("click", elsewhere);
      removeEventListener("keydown", escape);
    };
  }, []);
  return details;
}

/** Menu is a button that shows what else can be done. */
export function Menu({ name, label, children }: { name: ComponentChildren; label?: string; children: ComponentChildren }) {
  const details = useMenu();
  return (
    <details class="menu" ref={details} onClick={(e) => {
      if ((e.target as Element).closest(".menu-items :is(button, a)")) details.current!.open = false;
    }}>
      <summary class="quiet button" aria-label={label}>{name}</summary>
      <div class="menu-items">{children}</div>
    </details>
  );
}

/** ApiMenu gives what a page shows as curl, as JSON and as a link. */
export function ApiMenu({ path }: { path: string }) {
  const curl = `curl -s '${(location.origin + path).replaceAll("'", "%27")}'`;
  return (
    <Menu name="API" label="API: this page as curl, JSON or link">
      <button type="button" onClick={() => copy(curl)}>Copy as curl</button>
      <a href={path} target="_blank" rel="noreferrer">Open as JSON</a>
      <button type="button" onClick={() => copy(location.href)}>Copy link</button>
    </Menu>
  );
}

const titles: Record<number, string> = {
  0: "The server was not reached", 401: "You are not logged in", 403: "You may not see or do this", 404: "This does not exist",
  409: "This does not fit what there is", 412: "This has changed meanwhile", 429: "Too much at once",
};

/** WhomToAsk says who gives a permission that is missing, and which roles have it, or that a rule takes it away. */
export function WhomToAsk({ permission }: { permission: string }) {
  const roles = permission ? whomToAsk(permission) : [];
  return (
    <>
      Ask an administrator of your tenant{permission && <> for the permission <code>{permission}</code></>}.{" "}
      {roles.length > 0 && <>{roles.length > 1 ? "The roles" : "The role"} {roles.slice(0, 5).map((r, i) => <>{i > 0 && ", "}<b key={r}>{r}</b></>)}
        {roles.length > 5 && ` and ${roles.length - 5} more`} {roles.length > 1 ? "have" : "has"} it.</>}
      {permission && !roles.length && (isTaken(permission)
        ? "A rule takes it from you: a further role does not give it, until the rule is changed."
        : "No role has it by itself: a rule or an access policy has to give it to you.")}
    </>
  );
}

/** Problem says what failed, what to do about it, and the id of the request for those who have to find it in a log. */
export function Problem({ of }: { of: Failed }) {
  return (
    <div class="problem" role="alert">
      <strong>{titles[of.status] ?? (of.status >= 500 ? "The server failed" : "This did not work")}</strong>
      <p>{of.message}</p>
      {of.status === 403 && <p><WhomToAsk permission={of.permission} /></p>}
      {of.todo && <p>{of.todo}</p>}
      {of.fields.length > 0 && <ul>{of.fields.map((f) => <li key={f.field}><code>{f.field}</code> {f.message}</li>)}</ul>}
      {of.status === 401 && login && <p><button type="button" onClick={logIn}>Log in</button></p>}
      {of.id && <p class="dim">Request <Id of={of.id} /></p>}
    </div>
  );
}

/** Empty says why there is nothing, and what would change that. */
export const Empty = ({ children }: { children: ComponentChildren }) => <div class="nothing">{children}</div>;

/** Skeleton stands for what is being read, after a moment: what comes at once is shown at once. */
export function Skeleton({ lines = 4 }: { lines?: number }) {
  return (
    <div class="skeleton" aria-hidden="true">{Array.from({ length: lines }, (_, i) => <div key={i} class={`bone bone-${i % 4}`} />)}</div>
  );
}

/** Loading is a skeleton that tells screen readers what it is. */
export const Loading = ({ lines }: { lines?: number }) => <div role="status"><span class="unseen">Reading…</span><Skeleton lines={lines} /></div>;

/** Facts are names with values. Those without a value are left out. */
export function Facts({ of }: { of: [string, ComponentChildren][] }) {
  return <dl class="facts">{of.filter(([, v]) => v != null && v !== "" && v !== false).map(([name, v]) => <div key={name}><dt>{name}</dt><dd>{v}</dd></div>)}</dl>;
}

/** Copy is a button that copies a text. */
export function Copy({ text, name = "Copy" }: { text: string | (() => string); name?: string }) {
  const done = useSignal(false);
  return (
    <button type="button" class="quiet small" onClick={() => {
      copy(typeof text === "string" ? text : text());
      done.value = true;
      setTimeout(() => { done.value = false; }, 2000);
    }}>{done.value ? "Copied" : name}</button>
  );
}
