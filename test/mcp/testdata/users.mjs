// Clients of two users at once, two for each. Prints what each of them may see and do.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const users = { alice: process.argv[2], bob: process.argv[3] };
const calls = { calculator__evaluate: { expression: "6*7" }, faulty__echo: { message: "hello" } };

async function use(name, url) {
  const client = new Client({ name, version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport);
  const seen = { tools: (await client.listTools()).tools.map((t) => t.name), results: {} };
  await Promise.all(Object.entries(calls).map(async ([tool, args]) => {
    try {
      const result = await client.callTool({ name: tool, arguments: args });
      seen.results[tool] = (result.isError ? "error: " : "") + result.content[0].text;
    } catch (err) {
      seen.results[tool] = `code ${err.code}`;
    }
  }));
  return { seen, client, session: transport.sessionId };
}

const all = await Promise.all(Object.entries(users).flatMap(([name, url]) => [use(name, url), use(name, url)]));
const [alice] = all;
// The session of one user gives another one nothing.
const stolen = await fetch(users.bob, {
  method: "POST",
  headers: {
    "Content-Type": "application/json", Accept: "application/json, text/event-stream",
    "Mcp-Session-Id": alice.session, "Mcp-Protocol-Version": "2025-11-25",
  },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
});
console.log(JSON.stringify({ all: all.map((c) => c.seen), stolen: await stolen.text() }));
await Promise.all(all.map((c) => c.client.close()));
