// The frame of all pages: the navigation, and the page of the address.
import { render, type ComponentType } from "preact";
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import "./app.css";
import "./pages.css";
import { follow, matched, path, rail, search, type PageProps, type Route } from "./route";
import { logIn, logOut, login, me, ready, start, temporal, unreached, waiting } from "./store";
import { Questions, Toasts, toast } from "./ui/dialog";
import { Help, openHelp } from "./ui/help";
import { Icon } from "./ui/icons";
import { onKey } from "./ui/keys";
import "./ui/notify";
import { Loading, Menu, state, useTitle } from "./ui/page";
import { Palette, PaletteButton } from "./ui/palette";
import { chooseTheme, theme, type Theme } from "./ui/theme";

const loaded = new Map<Route, ComponentType<PageProps>>();

function App() {
  const found = matched(path.value);
  useFavicon();
  if (found?.route.bare) return <><main id="main" class="bare" tabIndex={-1}><Body route={found.route} id={found.id} /></main><Toasts /></>;
  return (
    <>
      <a class="skip" href="#main">Skip to content</a>
      <Rail />
      <main id="main" tabIndex={-1}>
        <Trouble />
        {found ? <Body route={found.route} id={found.id} /> : <NoPage />}
      </main>
      <Toasts />
      <Questions />
      <Palette />
      <Help />
    </>
  );
}

/** Body is the page of a route, loaded when it is opened first. */
function Body({ route, id }: { route: Route; id: string }) {
  const seen = useSignal(0);
  const Found = loaded.get(route);
  useEffect(() => {
    if (loaded.has(route)) return;
    route.load().then((m) => {
      loaded.set(route, m.default);
      seen.value++;
    }, () => toast("error", "This page could not be loaded. The server may have a new version.", { name: "Reload", run: () => location.reload() }));
  }, [route]);
  const key = route.key ?? path.value;
  useArrival(key);
  void seen.value;
  if (!Found) return <div class="page"><Loading /></div>;
  return <Found key={key} id={id} params={new URLSearchParams(search.value)} />;
}

/** useArrival moves the focus to another page when it is opened, so that screen readers begin there. */
function useArrival(key: string) {
  const before = useRef(key);
  useLayoutEffect(() => {
    if (before.current === key) return;
    before.current = key;
    document.getElementById("main")?.focus({ preventScroll: true });
  }, [key]);
}

function NoPage() {
  useTitle("Not found");
  return (
    <section class="page" aria-label="Not found">
      <div class="page-head"><h2>There is no page here</h2></div>
      <p>Nothing is at <code>{path.value}</code>. Go to <a href="/">conversations</a>, or press <kbd>Ctrl</kbd> <kbd>K</kbd> to find something.</p>
    </section>
  );
}

/** useFavicon shows in the browser's tab what the open page shows, or that something waits. */
function useFavicon() {
  const of = state.value || (waiting.value && "waiting");
  useEffect(() => {
    const link = document.querySelector<HTMLLinkElement>("link[rel=icon]");
    if (link) link.href = `/assets/icon${of && `-${of}`}.svg`;
  }, [of]);
}

function Rail() {
  const open = useSignal(false);
  const at = path.value;
  const current = (p: string) => (p === "/" ? at === "/" || at.startsWith("/sessions/") : at === p || at.startsWith(`${p}/`));
  return (
    <header class={open.value ? "rail open" : "rail"}>
      <h1><a href="/"><img src="/assets/icon.svg" alt="" width="26" height="26" />Windlass</a></h1>
      <PaletteButton />
      <nav aria-label="Pages" onClick={() => { open.value = false; }}>
        {rail.map((r) => (
          <a key={r.path} href={r.path} aria-current={current(r.path) ? "page" : undefined}>
            <Icon of={r.icon ?? ""} /><span>{r.name}</span>
            {r.path === "/inbox" && waiting.value && <span class="badge">{waiting.value}<span class="unseen"> waiting</span></span>}
          </a>
        ))}
      </nav>
      <button type="button" class="rail-more" aria-expanded={open.value} onClick={() => { open.value = !open.value; }}><Icon of="menu" /><span>More</span></button>
      <div class="rail-foot">
        <Health />
        <User />
        <Menu name="Help and theme">
          <button type="button" onClick={openHelp}>Keys and commands</button>
          <a href="/api">API</a>
          <a href="/docs" target="_blank">Documentation</a>
          <a href="/openapi.json" target="_blank">OpenAPI document</a>
          {temporal && <a href={temporal} target="_blank" rel="noreferrer">Temporal</a>}
          <label class="menu-row">Theme <select value={theme.value} onChange={(e) => chooseTheme(e.currentTarget.value as Theme)}>
            {["system", "light", "dark"].map((t) => <option key={t} selected={t === theme.value}>{t}</option>)}
          </select></label>
        </Menu>
      </div>
    </header>
  );
}

/** User says who is logged in. */
function User() {
  const failed = useSignal("");
  const out = () => { logOut().catch((e: Error) => { failed.value = e.message; }); };
  const who = me.value;
  if (who === null) return null;
  if (who === "") {
    return (
      <div class="account">
        <span role="status">You are not logged in.</span>
        {login && <><button type="button" onClick={logIn}>Log in</button><button type="button" class="quiet" onClick={out}>Go on without</button></>}
      </div>
    );
  }
  const known = who.subject.includes(":");
  return (
    <div class="account">
      <span title={`tenant ${who.tenant}${who.roles?.length ? `, ${who.roles.join(", ")}` : ""}`}>{who.subject}</span>
      {login && (known ? <button type="button" class="quiet small" onClick={out}>Log out</button> : <button type="button" class="quiet small" onClick={logIn}>Log in</button>)}
      {failed.value && <span role="alert">{failed.value}</span>}
    </div>
  );
}

function Health() {
  const status = unreached.value ? "not reached" : ready.value?.status ?? "checking…";
  const tone = status === "ready" ? "ok" : status === "degraded" ? "warn" : status === "checking…" ? "" : "bad";
  return <span class={`pill ${tone}`} role="status">{status}</span>;
}

/** Trouble names each failed check with its cause. */
function Trouble() {
  const causes = Object.entries(ready.value?.causes ?? {});
  if (unreached.value) return <div class="trouble" role="alert">The server does not answer. What runs goes on; this page shows it when the server is back.</div>;
  if (!causes.length) return null;
  return (
    <div class="trouble" role="alert">
      {causes.map(([name, c]) => <div key={name}><b>{name}</b>: {c.cause}. {c.action}</div>)}
    </div>
  );
}

addEventListener("click", follow);
addEventListener("keydown", onKey);
start();
render(<App />, document.body);
