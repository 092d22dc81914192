// Two clients use one mesh at once, each with answers and listeners of its own. Prints what each of them saw.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

const url = new URL(process.argv[2]);

async function connect(name, action) {
  const client = new Client({ name, version: "1" }, { capabilities: { elicitation: {}, sampling: {} } });
  const seen = { progress: [], answers: [], changed: 0, logs: [] };
  client.setRequestHandler(ElicitRequestSchema, async () =>
    action === "accept" ? { action, content: { username: name, email: `${name}@example.com` } } : { action });
  client.setRequestHandler(CreateMessageRequestSchema, async () => (
    { role: "assistant", model: "test", content: { type: "text", text: `model of ${name}` } }));
  client.setNotificationHandler(LoggingMessageNotificationSchema, (n) => { seen.logs.push(n.params.data); });
  const changed = new Promise((resolve) => {
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => { seen.changed++; resolve(); });
  });
  await client.connect(new StreamableHTTPClientTransport(url));
  return { client, seen, changed };
}

async function allTools(client) {
  let tools = 0, cursor;
  do {
    const page = await client.listTools(cursor ? { cursor } : {});
    tools += page.tools.length;
    cursor = page.nextCursor;
  } while (cursor);
  return tools;
}

async function use({ client, seen }) {
  seen.tools = await allTools(client);
  await Promise.all([0, 1, 2].map(async (i) => {
    seen.progress[i] = [];
    await client.callTool({ name: "faulty__progress", arguments: { count: 10 + i } }, undefined,
      { onprogress: (p) => seen.progress[i].push(p.progress) });
  }));
  const asked = await client.callTool({ name: "legacy__test_elicitation", arguments: { message: "who?" } });
  seen.answers.push(asked.content[0].text);
  const sampled = await client.callTool({ name: "modern__test_sampling", arguments: { prompt: "hello" } });
  seen.answers.push(sampled.content[0].text);
  const prompt = await client.getPrompt({ name: "legacy__test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" } });
  seen.prompt = prompt.messages[0].content.text;
  const resource = await client.readResource({ uri: "modern+test://static-text" });
  seen.resource = resource.contents[0].text;
}

const alice = await connect("alice", "accept"), bob = await connect("bob", "decline");
await Promise.all([use(alice), use(bob)]);
await alice.client.callTool({ name: "modern__test_trigger_tool_change", arguments: {} });
await Promise.all([alice.changed, bob.changed]);
console.log(JSON.stringify({ alice: alice.seen, bob: bob.seen }));
await Promise.all([alice.client.close(), bob.client.close()]);
