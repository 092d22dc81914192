// Which agent a new conversation is with.
import { agents } from "../store";
import { choice } from "./kept";

const chosen = choice<string>("agent", "");

/** chosenAgent is the agent that was chosen last, if there is one of that name, else "assistant", else the first; "" while there is none. */
export function chosenAgent(): string {
  const all = agents.value ?? [];
  return (all.find((a) => a.id === chosen.value) ?? all.find((a) => a.id === "assistant") ?? all[0])?.id ?? "";
}

export const chooseAgent = (id: string) => { chosen.value = id; };
