// Runs a turn with the generated client and follows its events.
import { client } from "./client/client.gen";
import { createAgent, createSession, createTurn, getTurn, watchTurn } from "./client/sdk.gen";

declare const process: { env: Record<string, string | undefined> };

client.setConfig({ baseUrl: process.env.WINDLASS_URL });

async function main(): Promise<void> {
  const agent = await createAgent({ body: { id: "typescript", instructions: "be brief" }, throwOnError: true });
  const session = await createSession({ body: { agent_id: agent.data.id, title: "from TypeScript" }, throwOnError: true });
  const queued = await createTurn({ path: { session_id: session.data.id }, body: { input: "hello" }, throwOnError: true });
  const { stream } = await watchTurn({ path: { turn_id: queued.data.id } });
  let text = "";
  for await (const event of stream) {
    switch (event.type) {
      case "message.delta":
        text += event.data.text;
        break;
      case "message.reset":
        text = "";
        break;
      case "message.completed": // a turn that is over has no deltas any more
        text = event.data.message?.content?.map((part) => ("text" in part ? part.text : "")).join("") ?? "";
        break;
      case "turn.failed":
        throw new Error(event.data.error?.message);
    }
    if (event.type === "turn.completed") break;
  }
  const turn = await getTurn({ path: { turn_id: queued.data.id }, throwOnError: true });
  console.log(JSON.stringify({ status: turn.data.status, output: turn.data.output, text }));
}

main().catch((error: unknown) => {
  console.log(JSON.stringify({ error: String(error) }));
});
