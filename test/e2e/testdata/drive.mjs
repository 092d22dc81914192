// The client that the conformance suite starts: it has the test connect a mesh to the suite's server, and reports how that went.
const answer = await fetch(process.env.WINDLASS_TEST_DRIVER, {
  method: "POST",
  body: JSON.stringify({
    url: process.argv.at(-1), name: process.env.MCP_CONFORMANCE_SCENARIO, context: process.env.MCP_CONFORMANCE_CONTEXT ?? "{}",
  }),
});
console.error(await answer.text());
process.exit(answer.ok ? 0 : 1);
