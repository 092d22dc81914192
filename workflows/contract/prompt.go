package contract

// Marks say in the instructions of a model call what it is for. builtin/scripted does not understand instructions and recognizes such calls
// by the marks; for other models they are headings. Conversations without a special purpose have none.
const (
	// MarkSelect requests a strategy, as JSON.
	MarkSelect = "[windlass: select a strategy]"
	// MarkRoute requests the agent that fits best, as JSON. The agents follow AgentList, one per line: ToolPrefix, name, ": ", description.
	MarkRoute = "[windlass: choose an agent]"
	// MarkPlan requests a plan, as JSON.
	MarkPlan = "[windlass: write a plan]"
	// MarkPlanStep requests one step of a plan. The last user message has its goal after GoalPrefix.
	MarkPlanStep = "[windlass: do one step of a plan]"
	// OutputRepairPrefix begins the user message which says what of an answer does not fit its schema.
	OutputRepairPrefix = "Your answer does not fit its schema"
	// MarkPlanAnswer requests the answer from the results of a plan. The last user message has them after ResultsPrefix.
	MarkPlanAnswer = "[windlass: answer over all results]"
	// MarkCompact requests a summary of older messages. The only user message starts with a line of CompactPrefix and their number; each of
	// them starts with a line of EntryPrefix and its author.
	MarkCompact = "[windlass: summarise older messages]"
	// MarkMemory is followed by the facts about the user that a turn has recalled: a line of words, then one per line, ToolPrefix and a
	// FactLine.
	MarkMemory = "[windlass: what is remembered about the user]"
	// MarkReactText requests the Thought / Action / Action Input / Observation protocol. The tools follow, each as two lines: ToolPrefix,
	// name, ": ", description; and SchemaPrefix, JSON Schema.
	MarkReactText = "[windlass: think and act in text]"
)

// Texts in prompts that builtin/scripted looks for.
const (
	// GoalPrefix is followed by the goal of the current plan step, on the same line.
	GoalPrefix = "Goal: "
	// ResultsPrefix is a line of its own, followed by the results of all steps.
	ResultsPrefix = "Results so far:"
	// PlanRest ends the last user message when the remaining plan is requested.
	PlanRest = "Plan the rest."
	// NoTools is in the instructions for selecting a strategy or planning when the agent has no tools.
	NoTools = "The agent has no tools."
	// AgentList is a line of its own, followed by the agents.
	AgentList = "The agents are:"
	// ToolPrefix is followed by the name of a tool or agent, ": " and its description, on the same line.
	ToolPrefix = "- "
	// SchemaPrefix is followed by the input schema of a tool, on the same line.
	SchemaPrefix = "  input schema: "
	// CompactPrefix is followed by the number of messages to summarise.
	CompactPrefix = "Messages to summarise: "
	// EntryPrefix is followed by the author of a message: "user", "assistant", "tool NAME" or "earlier summary".
	EntryPrefix = "### "
	// SummaryPrefix is the first line of a user message that summarises earlier messages.
	SummaryPrefix = "Summary of the conversation so far (older messages were left out to save room):"
)
