package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/audit"
	"github.com/windlass-dev/windlass/internal/cli/connections"
	"github.com/windlass-dev/windlass/internal/cli/grants"
	"github.com/windlass-dev/windlass/internal/cli/insight"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/policies"
	"github.com/windlass-dev/windlass/internal/cli/quotas"
	"github.com/windlass-dev/windlass/internal/cli/secrets"
	"github.com/windlass-dev/windlass/internal/cli/show"
	"github.com/windlass-dev/windlass/libs/enum"
	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// runner lets the commands of other packages call the server.
func runner(a *app.App) insight.Runner {
	return func(do func(insight.Call) error) func(*cobra.Command, []string) error {
		return run(a, func(c *call) error {
			return do(insight.Call{
				Ctx: c.ctx, Cmd: c.cmd, Args: c.args, Client: c.client, Print: c.print,
				Ago: func(t time.Time) string { return output.Ago(c.now, t) },
			})
		})
	}
}

func nounCommands(a *app.App) []*cobra.Command {
	runner := runner(a)
	var out []*cobra.Command
	for _, n := range nouns() {
		cmd := n.command(a)
		if n.path == policies.Path {
			cmd.AddCommand(policies.Commands(a, runner)...)
		}
		out = append(out, cmd)
	}
	out = append(out, artifactCommand(a), secrets.Command(a, runner), connections.Command(a, runner), grants.Command(runner),
		audit.Command(a, runner), quotas.Command(runner))
	return append(out, insight.Commands(runner)...)
}

// nouns lists all kinds of resources.
func nouns() []noun {
	return []noun{
		agents(), sessions(), turns(), approvals(), tools(), groups(), sources(), models(), decisions(), executions(), budgets(),
		webhooks(), schedules(),
		{
			name: "policy", plural: "access_policies", short: "Access policies: who may use which tools and permissions", path: policies.Path,
			get: true, remove: true, manifest: true, header: policies.Header(), read: typed((*policyv1.AccessPolicy).GetName, policies.Row),
		},
		{
			name: "event", plural: "events", short: "Events: what happened to sources, tools, agents, turns and approvals", path: "/v1/events",
			stream: true, header: []string{"TIME", "TYPE", "SUBJECT", "DATA"},
			filters: []filter{
				{name: "type", query: "types", usage: "only these types or patterns, with commas between, such as 'dev.windlass.source.*'"},
				{name: "source", usage: "only events of this source or pattern, such as /windlass/registry"},
				{name: "subject", usage: "only events about this subject or pattern"},
				{name: "since", usage: "only events from this time on, or from so long ago, such as 2h", when: true},
				{name: "until", usage: "only events before this time, or before so long ago", when: true, listOnly: true},
				{name: "oldest-first", usage: "list the oldest events first", yes: true, listOnly: true},
			},
			read: typed((*eventv1.CloudEvent).GetId, func(m *eventv1.CloudEvent, _ time.Time) []string {
				row := show.DomainEvent(m)
				return append(row[:3], output.Short(row[3], 2*output.CellWidth))
			}),
		},
	}
}

func agents() noun {
	return noun{
		name: "agent", plural: "agents", short: "Agents: whom you talk to", path: "/v1/agents", get: true, remove: true, more: agentCommands,
		manifest: true,
		force:    "delete it although other agents call it; it is a tool of theirs no more",
		header:   []string{"ID", "MODEL", "STRATEGY", "TOOLS", "REVISION", "UPDATED", "DESCRIPTION"},
		read: typed((*sessionsv1.Agent).GetId, func(m *sessionsv1.Agent, now time.Time) []string {
			return []string{
				m.GetId(), orDefault(m.GetModel()), orDefault(enum.Name(m.GetStrategy())), output.Cell(strings.Join(m.GetTools(), ",")),
				fmt.Sprint(m.GetRevision()), output.Ago(now, m.GetUpdateTime().AsTime()), output.Cell(m.GetDescription()),
			}
		}),
	}
}

func sessions() noun {
	return noun{
		name: "session", plural: "sessions", short: "Sessions: conversations with agents", path: "/v1/sessions", get: true, remove: true,
		more: sessionCommands,
		filters: []filter{
			{name: "agent", query: "agent_id", usage: "only sessions with this agent"},
			{name: "label", usage: "only sessions with this label, as key=value or key"},
			{name: "active", usage: "only sessions in which a turn is active", yes: true},
		},
		header: []string{"ID", "AGENT", "ACTIVE TURN", "EVENTS", "UPDATED", "TITLE"},
		read: typed((*sessionsv1.Session).GetId, func(m *sessionsv1.Session, now time.Time) []string {
			return []string{
				m.GetId(), m.GetAgentId(), m.GetActiveTurnId(), fmt.Sprint(m.GetLastSeq()), output.Ago(now, m.GetUpdateTime().AsTime()),
				output.Cell(m.GetTitle()),
			}
		}),
	}
}

func turns() noun {
	return noun{
		name: "turn", plural: "turns", short: "Turns: one input until its answer", path: "/v1/turns", get: true, more: turnCommands,
		wait: waitTurn,
		filters: []filter{
			{name: "session", query: "session_id", usage: "only turns of this session"},
			{name: "agent", query: "agent_id", usage: "only turns of this agent"},
			{name: "label", usage: "only turns of sessions with this label, as key=value or key"},
			{name: "status", usage: "only turns that are queued, running, waiting, completed, failed or cancelled"},
			{name: "view", usage: "full: inputs and outputs are not cut to 200 characters"},
		},
		header: []string{"ID", "SESSION", "STATUS", "STOP", "TOOLS", "TOKENS", "AGE", "INPUT"},
		read: typed((*sessionsv1.Turn).GetId, func(m *sessionsv1.Turn, now time.Time) []string {
			return []string{
				m.GetId(), m.GetSessionId(), enum.Name(m.GetStatus()), m.GetStopReason(), fmt.Sprint(m.GetUsage().GetToolCalls()),
				fmt.Sprint(m.GetUsage().GetInputTokens() + m.GetUsage().GetOutputTokens()), output.Ago(now, m.GetCreateTime().AsTime()),
				output.Cell(m.GetInput()),
			}
		}),
	}
}

func tools() noun {
	return noun{
		name: "tool", plural: "tools", short: "Tools: what agents may call", path: "/v1/tools", get: true, more: toolCommands,
		filters: []filter{
			{name: "source", usage: "only tools of this source"},
			{name: "tag", usage: "only tools with this tag"},
			{name: "effect", usage: "only tools of this effect class: read, idempotent or once"},
		},
		header: []string{"NAME", "EFFECT", "AVAILABLE", "DESCRIPTION"},
		read: typed((*registryv1.Tool).GetName, func(m *registryv1.Tool, _ time.Time) []string {
			return []string{
				m.GetName(), enum.Name(m.GetEffect()), output.YesNo(m.GetAvailable()), output.Short(m.GetDescription(), 2*output.CellWidth),
			}
		}),
	}
}

func sources() noun {
	return noun{
		name: "source", plural: "sources", short: "Sources: where tools come from", path: "/v1/sources", get: true, remove: true,
		manifest: true, partial: true,
		more:   sourceCommands,
		header: []string{"NAME", "KIND", "STATE", "TOOLS", "SYNCED", "WHERE", "ERROR"},
		read: typed((*registryv1.Source).GetName, func(m *registryv1.Source, now time.Time) []string {
			where, state := m.GetUrl(), enum.Name(m.GetState())
			if where == "" {
				where = strings.Join(m.GetCommand(), " ")
			}
			if where == "" {
				where = m.GetBaseUrl()
			}
			if b := m.GetBreaker(); b != "" && b != "closed" {
				state += ", calls stopped"
			}
			if n := m.GetDriftedCount(); n > 0 {
				state += fmt.Sprintf(", %d drifted", n)
			}
			if n := len(m.GetWarnings()); n > 0 {
				state += fmt.Sprintf(", %d skipped", n)
			}
			if m.GetDisabled() {
				state = "disabled"
			}
			return []string{
				m.GetName(), m.GetKind(), state, fmt.Sprint(m.GetToolCount()), output.Ago(now, m.GetSyncTime().AsTime()),
				output.Cell(where), output.Short(m.GetLastError(), 2*output.CellWidth),
			}
		}),
	}
}

func models() noun {
	return noun{
		name: "model", plural: "models", short: "Models that can be asked", path: "/v1/models",
		header: []string{"NAME", "DEFAULT", "TOOLS", "CONTEXT"},
		read: typed((*inferencev1.Model).GetName, func(m *inferencev1.Model, _ time.Time) []string {
			window := ""
			if m.GetContextWindow() > 0 {
				window = fmt.Sprint(m.GetContextWindow())
			}
			return []string{m.GetName(), output.YesNo(m.GetDefault()), output.YesNo(m.GetSupportsTools()), window}
		}),
	}
}

func decisions() noun {
	return noun{
		name: "decision", plural: "decisions", short: "Decisions: who was allowed what, and why", path: "/v1/decisions", get: true,
		filters: []filter{
			{name: "turn", query: "turn_id", usage: "only decisions of this turn"}, {name: "denied-only", usage: "only refusals", yes: true},
		},
		header: []string{"ID", "AGE", "SUBJECT", "KIND", "RESOURCE", "ALLOWED", "REASON"},
		read: typed((*policyv1.Decision).GetId, func(m *policyv1.Decision, now time.Time) []string {
			return []string{
				m.GetId(), output.Ago(now, m.GetCreateTime().AsTime()), m.GetSubject(), enum.Name(m.GetKind()), m.GetResource(),
				output.YesNo(m.GetAllowed()),
				output.Short(m.GetReason(), 2*output.CellWidth),
			}
		}),
	}
}

func executions() noun {
	return noun{
		name: "execution", plural: "executions", short: "Executions: the ledger of tool calls", path: "/v1/executions", get: true,
		filters: []filter{
			{name: "turn", query: "turn_id", usage: "only executions of this turn"},
			{name: "tool", usage: "only executions of this tool"},
			{name: "session", query: "session_id", usage: "only executions in this session"},
			{name: "source", usage: "only executions of tools of this source"},
			{name: "state", usage: "only executions in this state: open, done, failed, unresolved or waiting"},
			{name: "errors", usage: "only executions that failed or returned an error", yes: true},
		},
		header: []string{"ID", "AGE", "TOOL", "EFFECT", "STATE", "ATTEMPTS", "MS", "CODE", "TURN"},
		read: typed((*registryv1.Execution).GetId, func(m *registryv1.Execution, now time.Time) []string {
			return []string{
				m.GetId(), output.Ago(now, m.GetCreateTime().AsTime()), m.GetTool(), enum.Name(m.GetEffect()), enum.Name(m.GetState()),
				fmt.Sprint(m.GetAttempts()),
				fmt.Sprint(m.GetLatencyMs()), m.GetCode(), m.GetTurnId(),
			}
		}),
	}
}

// messages lists a session's conversation; it has no commands of its own.
func messages() noun {
	return noun{
		name: "message", plural: "messages",
		header: []string{"SEQ", "ROLE", "TEXT"},
		read: typed((*turnv1.Message).GetId, func(m *turnv1.Message, _ time.Time) []string {
			return []string{fmt.Sprint(m.GetSeq()), enum.Name(m.GetRole()), output.Short(show.Message(m), 2*output.CellWidth)}
		}),
	}
}

func orDefault(s string) string {
	if s == "" {
		return "(default)"
	}
	return s
}
