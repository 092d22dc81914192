// Clients that log in. Prints what each of them sees and may do. Arguments: a JSON object, see oauth_test.go.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";

const { url, other, users, calls, expire } = JSON.parse(process.argv[2]);

// Person is the OAuth client of a program, and the person who types a password into the page that it opens.
class Person {
  constructor(name, password) {
    Object.assign(this, { name, password, logins: 0 });
  }
  get redirectUrl() { return "http://localhost:4711/callback"; }
  get clientMetadata() {
    return {
      client_name: `The editor of ${this.name}`, redirect_uris: [this.redirectUrl], grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"], token_endpoint_auth_method: "none",
    };
  }
  clientInformation() { return this.client; }
  saveClientInformation(client) { this.client = client; }
  tokens() { return this.saved; }
  saveTokens(tokens) { this.saved = tokens; }
  codeVerifier() { return this.verifier; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  state() { return `state of ${this.name}`; }
  async redirectToAuthorization(to) {
    this.logins++;
    this.authorization = Object.fromEntries(to.searchParams);
    const login = await fetch(to, { redirect: "manual" });
    const page = new URL(login.headers.get("location"), to);
    this.page = await (await fetch(page)).text();
    const sent = await fetch(new URL("/login", page), {
      method: "POST", redirect: "manual", headers: { Origin: page.origin },
      body: new URLSearchParams({ id: page.searchParams.get("id"), username: this.name, password: this.password, decision: "allow" }),
    });
    this.back = new URL(sent.headers.get("location"));
  }
}

async function connect(person, to) {
  const client = new Client({ name: person.name, version: "1" });
  let transport = new StreamableHTTPClientTransport(new URL(to), { authProvider: person });
  try {
    await client.connect(transport);
  } catch (err) {
    if (!(err instanceof UnauthorizedError)) throw err;
    await transport.finishAuth(person.back.searchParams.get("code"));
    transport = new StreamableHTTPClientTransport(new URL(to), { authProvider: person });
    await client.connect(transport);
  }
  return client;
}

async function call(client, name, args) {
  try {
    const result = await client.callTool({ name, arguments: args });
    return (result.isError ? "error: " : "") + result.content[0].text;
  } catch (err) {
    return `code ${err.code}: ${err.message}`;
  }
}

const raw = (to, token) => fetch(to, {
  method: "POST",
  headers: {
    "Content-Type": "application/json", Accept: "application/json, text/event-stream", "Mcp-Protocol-Version": "2025-11-25",
    Authorization: `Bearer ${token}`,
  },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
});

async function use(name, password) {
  const person = new Person(name, password);
  const client = await connect(person, url);
  const seen = {
    tools: (await client.listTools()).tools.map((t) => t.name), results: {}, page: person.page, authorization: person.authorization,
    iss: person.back.searchParams.get("iss"),
  };
  for (const [tool, args] of Object.entries(calls)) seen.results[tool] = await call(client, tool, args);
  const token = person.saved.access_token;
  const refused = await raw(other, token);
  seen.elsewhere = `${refused.status} ${refused.headers.get("www-authenticate")}`;
  if (expire) {
    const until = Date.now() + 90_000;
    while ((await raw(url, token)).status === 200 && Date.now() < until) await new Promise((done) => setTimeout(done, 500));
    seen.expired = (await raw(url, token)).status;
    seen.after = (await client.listTools()).tools.map((t) => t.name);
    seen.refreshed = person.saved.access_token !== token;
  }
  seen.logins = person.logins;
  await client.close();
  return [name, seen];
}

console.log(JSON.stringify(Object.fromEntries(await Promise.all(Object.entries(users).map(([name, password]) => use(name, password))))));
