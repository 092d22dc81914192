package registry_test

import (
	"log/slog"
	"net"
	"strings"
	"testing"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	sdk "go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/testtemporal"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// refund is a workflow that says its id.
func refund(ctx sdk.Context, in map[string]any) (map[string]any, error) {
	return map[string]any{"order": in["order"], "workflow": sdk.GetInfo(ctx).WorkflowExecution.ID}, nil
}

// refunds runs Temporal and a worker with the workflow.
func refunds(t *testing.T) string {
	t.Helper()
	address := testtemporal.Server(t)
	c, err := client.DialContext(t.Context(), client.Options{
		HostPort: address, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w := worker.New(c, "shop", worker.Options{})
	w.RegisterWorkflowWithOptions(refund, sdk.RegisterOptions{Name: "Refund"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return address
}

// TestWorkflowsBecomeTools: a real Temporal, its workflows as tools of a source, and what a source of any kind can do.
func TestWorkflowsBecomeTools(t *testing.T) {
	address := refunds(t)
	w := newWorld(t)
	r := w.start(config())
	src, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: &registryv1.Source{
		Name: "shop", Kind: "workflow", Temporal: &registryv1.Temporal{Address: address}, Pin: true, Exclude: []string{"hidden"},
		Workflows: []*registryv1.Workflow{
			{
				Name: "refund", WorkflowType: "Refund", TaskQueue: "shop", Tags: []string{"money"},
				InputSchema: args(t, map[string]any{
					"type": "object", "required": []any{"order"}, "properties": map[string]any{"order": map[string]any{"type": "string"}},
				}),
			},
			{Name: "later", WorkflowType: "Refund", TaskQueue: "shop", Mode: "poll", Effect: turnv1.EffectClass_EFFECT_CLASS_ONCE},
			{Name: "hidden", TaskQueue: "shop"},
		},
	}})
	if err != nil || enum.Name(src.GetState()) != "ready" || src.GetToolCount() != 3 ||
		!strings.HasPrefix(src.GetServerVersion(), "Temporal ") {
		t.Fatalf("created: %v, %v", src, err)
	}
	list, err := r.tools.ListTools(t.Context(), &registryv1.ListToolsRequest{Source: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range list.GetTools() {
		got = append(got, tool.GetName()+" "+enum.Name(tool.GetEffect())+" "+strings.Join(tool.GetTags(), ","))
	}
	if want := "shop__later once |shop__later_result read |shop__refund idempotent money"; strings.Join(got, "|") != want {
		t.Errorf("the tools are %q", got)
	}
	s := r.callAPI("shop__refund", `{"order":"7"}`)
	fields := s.completed.GetResult().GetStructuredContent().GetStructValue().GetFields()
	if fields["order"].GetStringValue() != "7" || !strings.HasPrefix(fields["workflow"].GetStringValue(), "shop__refund-") {
		t.Errorf("called: %+v", s)
	}
	if s := r.callAPI("shop__refund", `{"order":7}`); s.completed.GetCode() != "invalid_tool_arguments" ||
		!strings.Contains(s.text(), "arguments/order") {
		t.Errorf("wrong arguments: %+v", s)
	}
	started := r.callAPI("shop__later", `{}`).completed.GetResult().GetStructuredContent().GetStructValue().GetFields()
	id := started["workflow_id"].GetStringValue()
	if s := r.callAPI("shop__later_result", `{"workflow_id":"`+id+`"}`); !strings.Contains(s.text(), `"status":"completed"`) {
		t.Errorf("the result: %+v", s)
	}

	src.Workflows[0].Description = "Pays an order back."
	src, err = r.sources.UpdateSource(t.Context(), &registryv1.UpdateSourceRequest{
		Source: src, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"workflows"}},
	})
	if err != nil || src.GetDriftedCount() != 1 {
		t.Fatalf("updated: %v, %v", src, err)
	}
	diff, err := r.sources.DiffSource(t.Context(), &registryv1.DiffSourceRequest{SourceId: "shop"})
	if err != nil || len(diff.GetTools()) != 1 || diff.GetTools()[0].GetName() != "shop__refund" {
		t.Errorf("the diff: %v, %v", diff, err)
	}
	src.Disabled = true
	src, err = r.sources.UpdateSource(t.Context(), &registryv1.UpdateSourceRequest{
		Source: src, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"disabled"}},
	})
	if err != nil || !src.GetDisabled() {
		t.Errorf("disabled: %v, %v", src, err)
	}
	if _, err := r.sources.DeleteSource(t.Context(), &registryv1.DeleteSourceRequest{SourceId: "shop"}); err != nil {
		t.Error(err)
	}
}

// TestTemporalThatIsAway: the source says so, its tools stay, and their calls certainly did not run.
func TestTemporalThatIsAway(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	r := newWorld(t).start(config())
	source := &registryv1.Source{
		Name: "away", Kind: "workflow", Temporal: &registryv1.Temporal{Address: closed.Addr().String()},
		Workflows: []*registryv1.Workflow{{Name: "a", TaskQueue: "q"}},
	}
	src, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: source})
	if err != nil || enum.Name(src.GetState()) != "unreachable" || !strings.Contains(src.GetLastError(), `"away"`) ||
		!strings.Contains(src.GetLastError(), "connection refused") {
		t.Errorf("created: %v, %v", src, err)
	}
	source = &registryv1.Source{
		Name: "secret", Kind: "workflow", Temporal: &registryv1.Temporal{Address: closed.Addr().String(), Tls: true},
		Auth: &registryv1.SourceAuth{Kind: "bearer", Secret: "${env:WINDLASS_TOOL_NONE}"}, Workflows: source.GetWorkflows(),
	}
	src, err = r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: source})
	if err != nil || !strings.Contains(src.GetLastError(), "WINDLASS_TOOL_NONE") {
		t.Errorf("without its secret: %v, %v", src, err)
	}
}
