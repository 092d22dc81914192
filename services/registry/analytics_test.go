package registry_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/authn"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

func TestAnalytics(t *testing.T) { both(t, analytics) }

func analytics(t *testing.T, w *world) {
	c := newCached(t, w)
	r := c.replica()
	r.notes()
	c.ask(r, "notes__read")
	c.ask(r, "notes__read")
	w.bridge.set(func() {
		w.bridge.call = func(context.Context, *mcpbridgev1.CallToolRequest, func(float64, float64, string)) (*mcpbridgev1.CallToolResult, error) {
			out := answer(strings.Repeat("no ", 2000))
			out.IsError = true
			return out, nil
		}
	})
	c.ask(r, "notes__send", func(req *registryv1.CallToolRequest) { req.TurnId, req.SessionId = "trn_no", "ses_no" })

	got, err := r.analytics.GetToolAnalytics(t.Context(), &registryv1.GetToolAnalyticsRequest{Period: durationpb.New(time.Hour)})
	if err != nil || len(got.GetTools()) != 2 || got.GetTruncated() {
		t.Fatalf("got %v, %v", got, err)
	}
	read, send := got.GetTools()[0], got.GetTools()[1]
	if read.GetTool() != "notes__read" || read.GetCalls() != 2 || read.GetCacheHits() != 1 || read.GetCacheHitRate() != 0.5 ||
		read.GetErrors() != 0 || read.GetMeanLatencyMs() <= 0 || read.GetP95LatencyMs() < read.GetMeanLatencyMs() {
		t.Errorf("got %v", read)
	}
	if send.GetTool() != "notes__send" || send.GetSource() != "notes" || send.GetCalls() != 1 || send.GetErrorRate() != 1 {
		t.Errorf("got %v", send)
	}
	recent, err := r.analytics.ListRecentExecutions(t.Context(), &registryv1.ListRecentExecutionsRequest{})
	if err != nil || len(recent.GetExecutions()) != 3 {
		t.Fatalf("got %v, %v", recent, err)
	}
	last, hit := recent.GetExecutions()[0], recent.GetExecutions()[1]
	if last.GetSessionId() != "ses_no" || last.GetInput() != `{"text":"hi"}` || len(last.GetOutput()) != 2048 || !last.GetIsError() {
		t.Errorf("the last call: %v", last)
	}
	if hit.GetCache() != registryv1.CacheUse_CACHE_USE_HIT || hit.GetOutput() != "ok" || hit.GetSource() != "notes" {
		t.Errorf("the hit: %v", hit)
	}
	whole, err := r.analytics.GetExecution(t.Context(), &registryv1.GetExecutionRequest{ExecutionId: last.GetId()})
	if err != nil || len(whole.GetOutput()) != 6000 {
		t.Errorf("got %d bytes of output, %v", len(whole.GetOutput()), err)
	}
	_, err = r.analytics.GetExecution(t.Context(), &registryv1.GetExecutionRequest{ExecutionId: "exe_no"})
	if status.Code(err) != codes.NotFound {
		t.Errorf("an execution that does not exist: %v", err)
	}

	now := timestamppb.Now()
	for what, row := range map[string]struct {
		req  *registryv1.ListExecutionsRequest
		want int
	}{
		"all":                {&registryv1.ListExecutionsRequest{}, 3},
		"of a session":       {&registryv1.ListExecutionsRequest{SessionId: "ses_no"}, 1},
		"of a source":        {&registryv1.ListExecutionsRequest{Source: "notes"}, 3},
		"of another source":  {&registryv1.ListExecutionsRequest{Source: "other"}, 0},
		"that are done":      {&registryv1.ListExecutionsRequest{State: registryv1.ExecutionState_EXECUTION_STATE_DONE}, 3},
		"that failed":        {&registryv1.ListExecutionsRequest{Errors: true}, 1},
		"from now on":        {&registryv1.ListExecutionsRequest{StartTime: now}, 0},
		"until now":          {&registryv1.ListExecutionsRequest{EndTime: now}, 3},
		"of a tool and turn": {&registryv1.ListExecutionsRequest{Tool: "notes__send", TurnId: "trn_no"}, 1},
	} {
		list, err := r.tools.ListExecutions(t.Context(), row.req)
		if err != nil || len(list.GetExecutions()) != row.want {
			t.Errorf("executions %s: %v, %v; want %d", what, list, err, row.want)
		}
		for _, e := range list.GetExecutions() {
			if e.GetInput() != "" || e.GetOutput() != "" {
				t.Errorf("executions %s have content: %v", what, e)
			}
		}
	}

	if _, err := r.calls.ForgetTurns(t.Context(), &registryv1.ForgetTurnsRequest{
		Tenant: authn.Local().GetTenant(), TurnIds: []string{"trn_no"},
	}); err != nil {
		t.Fatal(err)
	}
	whole, err = r.analytics.GetExecution(t.Context(), &registryv1.GetExecutionRequest{ExecutionId: last.GetId()})
	if err != nil || whole.GetInput() != "" || whole.GetOutput() != "" || whole.GetTool() != "notes__send" {
		t.Errorf("after its session was deleted: %v, %v", whole, err)
	}
}
