package registry_test

import (
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/sqldb"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// TestTextThatNoDatabaseKeeps reads and writes text with NUL, which is never an internal error on any engine.
func TestTextThatNoDatabaseKeeps(t *testing.T) {
	engines := map[string]func() string{
		sqldb.SQLite:   func() string { return tables.SQLite(t) },
		sqldb.Postgres: func() string { return tables.Postgres(t) },
	}
	for engine, url := range engines {
		t.Run(engine, func(t *testing.T) {
			r, ctx := newWorldOn(t, url()).start(config()), t.Context()
			for name, call := range map[string]func() error{
				"executions of a tool": func() error {
					_, err := r.tools.ListExecutions(ctx, &registryv1.ListExecutionsRequest{Tool: "a\x00b"})
					return err
				},
				"executions of a turn": func() error {
					_, err := r.tools.ListExecutions(ctx, &registryv1.ListExecutionsRequest{TurnId: "\x00"})
					return err
				},
				"tools of a source": func() error {
					_, err := r.tools.ListTools(ctx, &registryv1.ListToolsRequest{Source: "\x00"})
					return err
				},
				"a tool": func() error {
					_, err := r.tools.GetTool(ctx, &registryv1.GetToolRequest{Name: "a__\x00"})
					return err
				},
				"a source": func() error {
					_, err := r.sources.GetSource(ctx, &registryv1.GetSourceRequest{SourceId: "\x00"})
					return err
				},
				"a group's description": func() error {
					_, err := r.groups.CreateToolGroup(ctx, &registryv1.CreateToolGroupRequest{ToolGroup: &registryv1.ToolGroup{
						Name:        "g1",
						Description: "\x00",
					}})
					return err
				},
				"a group's tool": func() error {
					_, err := r.groups.CreateToolGroup(ctx, &registryv1.CreateToolGroupRequest{ToolGroup: &registryv1.ToolGroup{
						Name:  "g2",
						Tools: []string{"a\x00"},
					}})
					return err
				},
			} {
				if code := fault.Status(call()).Code(); code != codes.OK && code != codes.InvalidArgument && code != codes.NotFound {
					t.Errorf("%s: %v", name, code)
				}
			}
		})
	}
}
