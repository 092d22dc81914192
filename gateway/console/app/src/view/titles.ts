/** titles say what a wait asks of a person, by its kind. */
export const titles: Record<string, string> = {
  approval: "Approval needed", input: "Question", client_tool: "A client runs this tool", resolution: "Did this call happen?",
  authorization: "Login needed",
};
