import { render } from "preact";
import { useSignal } from "@preact/signals";
import { follow, path } from "./route";
import { agents, logIn, logOut, login, me, models, ready, start, temporal, tools, unreached, waiting } from "./store";
import { Chat, SessionList } from "./view/chat";
import { Inbox } from "./view/inbox";
import { TurnPage } from "./view/turn";

function App() {
  const [, view, id = ""] = path.value.split("/");
  const menu = useSignal(false);
  const session = view === "sessions" ? id : "";
  return (
    <>
      <a class="skip" href="#main">Skip to content</a>
      <header>
        <button type="button" class="quiet menu" aria-expanded={menu.value} aria-controls="side" onClick={() => { menu.value = !menu.value; }}>Menu</button>
        <img src="/assets/icon.svg" alt="" width="28" height="28" />
        <h1><a href="/">Windlass</a></h1>
        <Health />
        <nav aria-label="Pages">
          <a href="/inbox" aria-current={view === "inbox" ? "page" : undefined}>Inbox{waiting.value > 0 && <span class="badge">{waiting.value}</span>}</a>
          <a href="/openapi.json" target="_blank">API</a>
          {temporal && <a href={temporal} target="_blank" rel="noreferrer">Temporal</a>}
        </nav>
        <User />
      </header>
      <Trouble />
      <div class="body">
        <aside id="side" class={menu.value ? "open" : ""} aria-label="Conversations and what runs here" onClick={() => { menu.value = false; }}>
          <section><h2>Conversations</h2><SessionList current={session} /></section>
          <Here />
        </aside>
        <main id="main" tabIndex={-1}>
          {view === "inbox" ? <Inbox /> : view === "turns" ? <TurnPage key={id} id={id} /> : <Chat key={session} session={session} />}
        </main>
      </div>
    </>
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
      {login && (known ? <button type="button" class="quiet" onClick={out}>Log out</button> : <button type="button" class="quiet" onClick={logIn}>Log in</button>)}
      {failed.value && <span role="alert">{failed.value}</span>}
    </div>
  );
}

function Health() {
  const status = unreached.value ? "not reached" : ready.value?.status ?? "checking…";
  const look = status === "ready" ? "ok" : status === "degraded" ? "warn" : status === "checking…" ? "" : "bad";
  return <span class={`pill ${look}`} role="status">{status}</span>;
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

function Here() {
  const lists: [string, string[]][] = [
    ["Agents", agents.value?.map((a) => a.id) ?? []], ["Tools", tools.value], ["Models", models.value],
  ];
  return (
    <>
      {lists.map(([name, items]) => (
        <details key={name}>
          <summary><h2>{name} <span class="count">{items.length || ""}</span></h2></summary>
          <ul class="list">{items.length ? items.map((i) => <li key={i} title={i}>{i}</li>) : <li class="none">none yet</li>}</ul>
        </details>
      ))}
    </>
  );
}

addEventListener("click", follow);
start();
render(<App />, document.body);
