// An MCP server of the TypeScript SDK that verifies access tokens itself: signature by the issuer's keys, issuer, and its own audience.
// It prints a line of JSON for each request: the claims of its token, and its headers.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import { InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { createRemoteJWKSet, jwtVerify } from "jose";
import express from "express";

const [issuer, audience] = process.argv.slice(2);
const { jwks_uri } = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
const keys = createRemoteJWKSet(new URL(jwks_uri));
const verifier = {
  async verifyAccessToken(token) {
    try {
      const { payload } = await jwtVerify(token, keys, { issuer, audience });
      return { token, clientId: payload.client_id, scopes: (payload.scope ?? "").split(" "), expiresAt: payload.exp, extra: payload };
    } catch (err) {
      throw new InvalidTokenError(err.message);
    }
  },
};

const app = express();
app.use(express.json());
app.post("/mcp", requireBearerAuth({ verifier }), async (req, res) => {
  const claims = req.auth.extra;
  console.log(JSON.stringify({ method: req.body.method, claims, sent: JSON.stringify(req.headers) + JSON.stringify(req.body) }));
  const server = new McpServer({ name: "ledger", version: "1" });
  server.registerTool("whoami", { description: "Says for whom it is called." }, async () => ({
    content: [{ type: "text", text: `you are ${claims.sub} through ${claims.act?.sub}` }],
  }));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
  res.on("close", () => { transport.close(); server.close(); });
  await server.connect(transport);
  await transport.handleRequest(req, res, req.body);
});
app.all("/mcp", (_req, res) => res.status(405).end());
const listening = app.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${listening.address().port}/mcp`));
