// Package agent has the commands for agents.
package agent

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Noun returns "windlass agent".
func Noun() command.Noun {
	return command.Noun{
		Name: "agent", Plural: "agents", Short: "Agents: whom you talk to", More: commands, Manifest: true,
		List: &sessionsv1.ListAgentsRequest{}, Get: &sessionsv1.GetAgentRequest{}, Remove: &sessionsv1.DeleteAgentRequest{},
		Force:  "delete it although other agents call it; it is a tool of theirs no more",
		Header: []string{"ID", "MODEL", "STRATEGY", "TOOLS", "REVISION", "UPDATED", "DESCRIPTION"},
		Read: command.Typed((*sessionsv1.Agent).GetId, func(m *sessionsv1.Agent, now time.Time) []string {
			return []string{
				m.GetId(), orDefault(m.GetModel()), orDefault(enum.Name(m.GetStrategy())), output.Cell(strings.Join(m.GetTools(), ",")),
				fmt.Sprint(m.GetRevision()), output.Ago(now, m.GetUpdateTime().AsTime()), output.Cell(m.GetDescription()),
			}
		}),
	}
}

func orDefault(s string) string { return cmp.Or(s, "(default)") }

func commands(r *command.Runner) []*cobra.Command {
	return []*cobra.Command{{
		Use: "revisions ID", Short: "List the blueprint revisions of an agent", Args: cobra.ExactArgs(1),
		RunE: r.Run(func(c *command.Call) error {
			return Noun().ListAt(c, &sessionsv1.ListAgentRevisionsRequest{AgentId: c.Args[0]}, nil, command.DefaultLimit)
		}),
	}}
}
