package sessions

import (
	"context"
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/placeholder"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// checkGroups finds tool groups that an agent names and that do not exist. Whoever writes the agent must be allowed to read them.
func (s *Service) checkGroups(ctx context.Context, prefix string, a *sessionsv1.Agent, seen existing) ([]fault.Field, error) {
	var wrong []fault.Field
	for i, tool := range a.GetTools() {
		name, isGroup := strings.CutPrefix(tool, "group:")
		if !isGroup || seen.groups[name] || placeholder.In(name) { // what it will be is known when a turn begins
			continue
		}
		path := fmt.Sprintf("%stools[%d]", prefix, i)
		if name == "" || s.groups == nil {
			wrong = append(wrong, fault.Field{Path: path, Message: "want the name of a tool group, as in \"group:reading\""})
			continue
		}
		_, err := s.groups.GetToolGroup(ctx, &registryv1.GetToolGroupRequest{Name: name})
		switch {
		case fault.Is(err, faultv1.Reason_REASON_NOT_FOUND):
			wrong = append(wrong, fault.Field{Path: path, Message: fmt.Sprintf("there is no tool group %q: create it first", name)})
		case err != nil:
			return nil, fmt.Errorf("look for tool group %q: %w", name, err)
		default:
			seen.groups[name] = true
		}
	}
	return wrong, nil
}
