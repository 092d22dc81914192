// Package execution has the commands for the ledger of tool calls.
package execution

import (
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// Noun returns "windlass execution".
func Noun() command.Noun {
	return command.Noun{
		Name: "execution", Plural: "executions", Short: "Executions: the ledger of tool calls",
		List: &registryv1.ListExecutionsRequest{}, Get: &registryv1.GetExecutionRequest{},
		Filters: append([]command.Filter{
			{Name: "turn", Query: "turn_id", Usage: "only executions of this turn"},
			{Name: "call", Query: "call_id", Usage: "only executions of the call with this ID"},
			{Name: "tool", Usage: "only executions of this tool"},
			{Name: "session", Query: "session_id", Usage: "only executions in this session"},
			{Name: "source", Usage: "only executions of tools of this source"},
			{
				Name: "state", Usage: "only executions in this state: open, done, failed, unresolved or waiting",
				Enum: registryv1.ExecutionState(0).Descriptor(),
			},
			{Name: "errors", Usage: "only executions that failed or returned an error", Bool: true},
		}, command.TimeFilters("executions")[:2]...),
		Header: []string{"ID", "AGE", "TOOL", "EFFECT", "STATE", "ATTEMPTS", "MS", "CODE", "TURN"},
		Read: command.Typed((*registryv1.Execution).GetId, func(m *registryv1.Execution, now time.Time) []string {
			return []string{
				m.GetId(), output.Ago(now, m.GetCreateTime().AsTime()), m.GetTool(), enum.Name(m.GetEffect()), enum.Name(m.GetState()),
				fmt.Sprint(m.GetAttempts()), fmt.Sprint(m.GetLatencyMs()), m.GetCode(), m.GetTurnId(),
			}
		}),
	}
}
