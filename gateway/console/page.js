"use strict";
// The start page. It uses only the public API: REST, and an EventSource for a turn's events.

const $ = (id) => document.getElementById(id);
const state = { session: "", turn: "", stream: null, parts: new Map() };

function el(tag, className, text) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

async function call(method, path, body) {
  const init = { method, headers: {} };
  if (body !== undefined) {
    init.headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(body);
  }
  const r = await fetch(path, init);
  const json = await r.json().catch(() => ({}));
  if (!r.ok) throw new Error([json.detail || r.statusText, json.todo].filter(Boolean).join(". "));
  return json;
}

// --- what runs here

function fill(id, items) {
  $(id).replaceChildren(...(items.length ? items : [el("li", "none", "none yet")]));
}

async function ready() {
  const pill = $("ready");
  try {
    const r = await fetch("/readyz");
    const s = await r.json();
    pill.textContent = s.status;
    pill.className = "pill " + (r.ok ? "ok" : "bad");
    fill("parts", Object.keys(s.checks).sort().map((name) => {
      const li = el("li", s.checks[name] === "ok" ? "dot" : "dot bad", name);
      li.title = s.checks[name];
      return li;
    }));
  } catch {
    pill.textContent = "not reached";
    pill.className = "pill bad";
  }
}

function named(name, title) {
  const li = el("li", "", name);
  li.title = title || name;
  return li;
}

async function inventory() {
  const get = (path, key) => call("GET", path).then((r) => r[key] || []).catch(() => []);
  const [agents, tools, models] = await Promise.all([
    get("/v1/agents?page_size=200", "agents"), get("/v1/tools?page_size=200", "tools"), get("/v1/models", "models"),
  ]);
  fill("agents", agents.map((a) => named(a.id, a.description)));
  fill("tools", tools.map((t) => named(t.name, t.description)));
  fill("models", models.map((m) => named(m.name + (m.default ? " · default" : ""))));
  $("agent-count").textContent = agents.length || "";
  $("tool-count").textContent = tools.length || "";
  const select = $("agent"), before = select.value;
  select.replaceChildren(...agents.map((a) => {
    const o = el("option", "", a.display_name || a.id);
    o.value = a.id;
    return o;
  }));
  if (agents.some((a) => a.id === before)) select.value = before;
  select.disabled = $("send").disabled = agents.length === 0;
  $("none").hidden = agents.length > 0;
}

// --- a conversation

function add(node) {
  const log = $("log");
  log.querySelector(".empty")?.remove();
  const follow = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
  log.append(node);
  if (follow) log.scrollTop = log.scrollHeight;
  return node;
}

function follow() {
  const log = $("log");
  if (log.scrollHeight - log.scrollTop - log.clientHeight < 120) log.scrollTop = log.scrollHeight;
}

function note(text, bad) { return add(el("div", bad ? "note bad" : "note", text)); }

function message(id) {
  let m = state.parts.get(id);
  if (!m) {
    m = { root: el("div", "answer open"), reasoning: el("div", "reasoning"), text: el("div", "bubble") };
    m.reasoning.hidden = true;
    m.root.append(m.reasoning, m.text);
    state.parts.set(id, m);
    add(m.root);
  }
  return m;
}

function tool(id, name) {
  let t = state.parts.get(id);
  if (!t) {
    t = { root: el("details", "tool"), state: el("span", "state", "asked"), args: el("pre"), result: el("pre") };
    const summary = el("summary");
    t.name = el("span", "name", name || "tool");
    summary.append(t.name, t.state);
    t.args.hidden = t.result.hidden = true;
    t.root.append(summary, t.args, t.result);
    state.parts.set(id, t);
    add(t.root);
  }
  if (name) t.name.textContent = name;
  return t;
}

function show(pre, text) {
  pre.textContent = text;
  pre.hidden = !text;
}

function plain(content) {
  return (content || []).map((p) => p.text ?? (p.link ? p.link.uri : p.blob ? "[" + p.blob.media_type + "]" : "")).join("\n");
}

const on = {
  "message.started": (d) => message(d.message_id),
  "message.delta": (d) => { message(d.message_id).text.textContent += d.text; },
  "reasoning.delta": (d) => {
    const m = message(d.message_id);
    m.reasoning.hidden = false;
    m.reasoning.textContent += d.text;
  },
  "message.reset": (d) => {
    const m = message(d.message_id);
    m.text.textContent = m.reasoning.textContent = "";
    m.reasoning.hidden = true;
  },
  "message.completed": (d) => {
    if (d.message.role !== "assistant") return;
    const m = message(d.message.id);
    m.root.classList.remove("open");
    m.text.textContent = plain(d.message.content);
    if (!m.text.textContent && m.reasoning.hidden) m.root.remove();
  },
  "tool_call.arguments.delta": (d) => {
    const t = tool(d.call_id, d.tool);
    show(t.args, t.args.textContent + d.text);
  },
  "tool_call.started": (d) => {
    const t = tool(d.call_id, d.tool);
    if (d.arguments) show(t.args, JSON.stringify(d.arguments, null, 2));
    t.state.textContent = "started";
  },
  "tool_call.executing": (d) => { tool(d.call_id).state.textContent = "running…"; },
  "tool_call.progress": (d) => {
    tool(d.call_id).state.textContent = d.message || (d.total ? Math.round(100 * d.progress / d.total) + " %" : "running…");
  },
  "tool_call.completed": (d) => {
    const t = tool(d.result.call_id, d.result.tool);
    t.root.classList.add(d.result.is_error ? "failed" : "ok");
    t.state.textContent = (d.result.is_error ? d.code || "error" : d.cached ? "cached" : "done") + " · " + d.latency_ms + " ms";
    show(t.result, plain(d.result.content) || (d.result.structured_content ? JSON.stringify(d.result.structured_content, null, 2) : ""));
  },
  "tool_call.unresolved": (d) => {
    const t = tool(d.call_id, d.tool);
    t.root.classList.add("failed");
    t.state.textContent = "outcome unknown";
  },
  "turn.recovered": () => note("Another worker goes on."),
  "turn.completed": (d) => ended(d),
  "turn.failed": (d) => {
    note(d.error ? d.error.code + ": " + d.error.message : "The turn failed.", true);
    ended(d);
  },
  "turn.cancelled": (d) => ended(d),
};

function ended(d) {
  const u = d.usage || {};
  note([d.status, d.stop_reason !== "end" && d.stop_reason !== d.status ? d.stop_reason : "",
    u.model_calls ? u.model_calls + (u.model_calls === 1 ? " model call" : " model calls") : "",
    u.input_tokens || u.output_tokens ? u.input_tokens + " → " + u.output_tokens + " tokens" : "", state.turn].filter(Boolean).join(" · "));
  if (d.limit_reached) note(d.limit_reached.message + " " + d.limit_reached.hint);
}

function watch(turn) {
  state.stream?.close();
  state.parts.clear(); // ids of calls are unique in a turn only
  const s = state.stream = new EventSource("/v1/turns/" + encodeURIComponent(turn) + "/events");
  for (const type of Object.keys(on)) {
    s.addEventListener(type, (e) => {
      on[type](JSON.parse(e.data).data);
      follow();
    });
  }
  s.addEventListener("error-status", (e) => note(JSON.parse(e.data).detail + " Reconnecting…", true));
  s.addEventListener("end", () => { s.close(); busy(""); });
  s.addEventListener("error", () => { if (s.readyState === EventSource.CLOSED) busy(""); });
}

function busy(turn) {
  state.turn = turn || state.turn;
  $("cancel").hidden = !turn;
  $("send").hidden = !!turn;
  for (const m of document.querySelectorAll(".answer.open")) if (!turn) m.classList.remove("open");
}

async function send(text) {
  if (!state.session) {
    const s = await call("POST", "/v1/sessions", { agent_id: $("agent").value });
    state.session = s.id;
    $("session").textContent = s.id;
    $("fresh").hidden = false;
  }
  const turn = await call("POST", "/v1/sessions/" + encodeURIComponent(state.session) + "/turns", { input: text });
  const user = el("div", "user");
  user.append(el("div", "bubble", text));
  add(user);
  busy(turn.id);
  watch(turn.id);
}

function fresh() {
  state.stream?.close();
  state.session = "";
  state.parts.clear();
  $("session").textContent = "";
  $("fresh").hidden = true;
  $("log").replaceChildren();
  busy("");
}

$("form").addEventListener("submit", async (e) => {
  e.preventDefault();
  const text = $("input").value.trim();
  if (!text || $("send").hidden || $("send").disabled) return;
  $("send").disabled = true;
  try {
    await send(text);
    $("input").value = "";
  } catch (err) {
    note(err.message, true);
  }
  $("send").disabled = false;
});
$("input").addEventListener("keydown", (e) => {
  if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
    e.preventDefault();
    $("form").requestSubmit();
  }
});
$("cancel").addEventListener("click", () => {
  call("POST", "/v1/turns/" + encodeURIComponent(state.turn) + ":cancel", {}).catch((err) => note(err.message, true));
});
$("fresh").addEventListener("click", fresh);
$("agent").addEventListener("change", fresh);
$("make").addEventListener("click", () => {
  call("POST", "/v1/agents", { id: "assistant", description: "A first agent with all tools.", tools: ["*"] })
    .then(inventory).catch((err) => note(err.message, true));
});

ready();
inventory();
setInterval(ready, 15000);
setInterval(() => { if (!document.hidden) inventory(); }, 30000);
