// Package decision has the commands for recorded decisions about access.
package decision

import (
	"time"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Noun returns "windlass decision".
func Noun() command.Noun {
	return command.Noun{
		Name: "decision", Plural: "decisions", Short: "Decisions: who was allowed what, and why",
		List: &policyv1.ListDecisionsRequest{}, Get: &policyv1.GetDecisionRequest{},
		Filters: []command.Filter{
			{Name: "turn", Query: "turn_id", Usage: "only decisions of this turn"},
			{Name: "call", Query: "call_id", Usage: "only decisions about the call with this ID"},
			{Name: "denied-only", Usage: "only refusals", Bool: true},
		},
		Header: []string{"ID", "AGE", "SUBJECT", "KIND", "RESOURCE", "ALLOWED", "REASON"},
		Read: command.Typed((*policyv1.Decision).GetId, func(m *policyv1.Decision, now time.Time) []string {
			return []string{
				m.GetId(), output.Ago(now, m.GetCreateTime().AsTime()), m.GetSubject(), enum.Name(m.GetKind()), m.GetResource(),
				output.YesNo(m.GetAllowed()), output.Short(m.GetReason(), 2*output.CellWidth),
			}
		}),
	}
}
