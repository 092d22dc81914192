package contract

// Marks stand in the instructions of model calls that are more than a conversation, so that builtin/scripted, which reads no
// instructions, can tell what it is asked for. To any other model they are a heading.
const (
	// MarkSelect asks for a strategy, as JSON.
	MarkSelect = "[windlass: select a strategy]"
	// MarkRoute asks which agent fits, as JSON. The agents stand behind AgentList, each as a line ToolPrefix, name, ": ", description.
	MarkRoute = "[windlass: choose an agent]"
	// MarkPlan asks for a plan, as JSON.
	MarkPlan = "[windlass: write a plan]"
	// MarkPlanStep asks to work at one step of a plan. The last user message names its goal behind GoalPrefix.
	MarkPlanStep = "[windlass: do one step of a plan]"
	// MarkPlanAnswer asks for the answer over the results of a plan. The last user message holds them behind ResultsPrefix.
	MarkPlanAnswer = "[windlass: answer over all results]"
	// MarkCompact asks for a summary of older messages. The one user message begins with the line CompactPrefix, how many they are, and
	// each of them begins with a line EntryPrefix, who speaks.
	MarkCompact = "[windlass: summarise older messages]"
	// MarkReactText asks for the Thought / Action / Action Input / Observation protocol. The tools stand behind it, each as a line
	// ToolPrefix, name, ": ", description, and a line SchemaPrefix, JSON Schema.
	MarkReactText = "[windlass: think and act in text]"
)

// Beginnings of lines that builtin/scripted looks for.
const (
	// GoalPrefix is followed by the goal of the plan step to do, on one line.
	GoalPrefix = "Goal: "
	// ResultsPrefix is a line of its own; the results of all steps follow.
	ResultsPrefix = "Results so far:"
	// PlanRest ends the last user message when the rest of a plan is asked for.
	PlanRest = "Plan the rest."
	// NoTools stands in the instructions of a selector or planner when there are no tools.
	NoTools = "The agent has no tools."
	// AgentList is a line of its own; the agents follow.
	AgentList = "The agents are:"
	// ToolPrefix is followed by a tool's name, ": " and its description on one line.
	ToolPrefix = "- "
	// SchemaPrefix is followed by a tool's input schema on one line.
	SchemaPrefix = "  input schema: "
	// CompactPrefix is followed by how many messages are to be summarised.
	CompactPrefix = "Messages to summarise: "
	// EntryPrefix is followed by who speaks: "user", "assistant", "tool NAME", or "earlier summary".
	EntryPrefix = "### "
	// SummaryPrefix is the first line of a user's message that is a summary of what was said before.
	SummaryPrefix = "Summary of the conversation so far (older messages were left out to save room):"
)
