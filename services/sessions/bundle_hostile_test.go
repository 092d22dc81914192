//go:build !race

package sessions_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// countingGroups is a registry whose tool groups begin with "g", and counts how often it is asked.
type countingGroups struct {
	registryv1.ToolGroupServiceClient
	asked atomic.Int64
}

func (g *countingGroups) GetToolGroup(_ context.Context, req *registryv1.GetToolGroupRequest, _ ...grpc.CallOption) (*registryv1.ToolGroup,
	error,
) {
	g.asked.Add(1)
	if !strings.HasPrefix(req.GetName(), "g") {
		return nil, fault.NotFound("no such group")
	}
	return &registryv1.ToolGroup{Name: req.GetName()}, nil
}

// TestAHostileBundleAsksLittleOfOthers: what a bundle of 1 MiB names again and again, or in lists that are too long, is not asked
// for each time.
func TestAHostileBundleAsksLittleOfOthers(t *testing.T) {
	groups := &countingGroups{}
	k := newKit(t, options{groups: groups})
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
		}
		return b.String()
	}
	for _, row := range []struct {
		name, yaml, want string
		asked            int64
	}{
		{"a list that is too long", "kind: agent\nid: a\ntools: [" + many(20_000, "group:g#,") + "]", "no more than 256", 0},
		{"sub-agents that are too many", "kind: agent\nid: a\nagents: [" + many(40_000, "a#,") + "]", "no more than 64", 0},
		{"one mistake, and groups elsewhere", "kind: agent\nid: A\n---\nkind: agent\nid: b\ntools: [" + many(200, "group:g#,") + "]", "id", 0},
		{"the same groups in many agents", many(110, "---\nkind: agent\nid: a#\ntools: ["+many(200, "group:g#,")+"]\n"), "", 200},
		{
			"groups that do not exist", many(110, "---\nkind: agent\nid: a#\ntools: ["+many(200, "group:x#,")+"]\n"), "there are more mistakes",
			200,
		},
		{"agents that do not exist", many(900, "---\nkind: agent\nid: a#\nagents: ["+many(40, "x#,")+"]\n"), "there are more mistakes", 0},
		{"approval rules", many(100, "---\nkind: agent\nid: a#\napprovals: ["+many(60, "{name: r#, condition: x},")+"]\n"), "approval rules", 0},
		{"wrong agents", many(900, "---\nkind: agent\nid: A#\n"), "there are more mistakes", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			groups.asked.Store(0)
			_, err := k.agents.ApplyBundle(t.Context(), &sessionsv1.ApplyBundleRequest{Yaml: row.yaml, DryRun: true})
			if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("%.300v, want %q", err, row.want)
			}
			if n := groups.asked.Load(); n > row.asked {
				t.Errorf("asked for %d groups, want at most %d", n, row.asked)
			}
		})
	}
}
