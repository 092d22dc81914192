package schedule

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/temporal/historytest"
)

// sessions is the sessions service; the first calls fail.
type sessions struct {
	executionv1.ExecutionServiceClient
	away int
	got  []*executionv1.FireScheduleRequest
}

func (s *sessions) FireSchedule(_ context.Context, req *executionv1.FireScheduleRequest,
	_ ...grpc.CallOption,
) (*executionv1.FireScheduleResponse, error) {
	s.got = append(s.got, req)
	if len(s.got) <= s.away {
		return nil, errors.New("away")
	}
	return &executionv1.FireScheduleResponse{Outcome: sessionsv1.FireOutcome_FIRE_OUTCOME_STARTED, TurnId: "trn_1"}, nil
}

func TestFireTellsSessionsUntilItAnswers(t *testing.T) {
	at := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	for name, row := range map[string]struct {
		attributes []temporal.SearchAttributeUpdate
		want       time.Time
	}{
		"with the time that the schedule named": {
			attributes: []temporal.SearchAttributeUpdate{temporal.NewSearchAttributeKeyTime("TemporalScheduledStartTime").ValueSet(at)}, want: at,
		},
		"by hand, with the time of its start": {want: at.Add(time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestWorkflowEnvironment()
			env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // a busy machine is no deadlock
			env.SetStartTime(at.Add(time.Minute))
			env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: contract.ScheduleID("default", "morning") + "-2026-03-01T09:30:00Z"})
			if len(row.attributes) > 0 {
				if err := env.SetTypedSearchAttributesOnStart(temporal.NewSearchAttributes(row.attributes...)); err != nil {
					t.Fatal(err)
				}
			}
			s := &sessions{away: 3}
			if err := Register(env, s); err != nil {
				t.Fatal(err)
			}
			env.ExecuteWorkflow(contract.ScheduleWorkflow, contract.ScheduleInput{Tenant: "default", ScheduleID: "morning"})
			var out contract.ScheduleResult
			if err := env.GetWorkflowResult(&out); err != nil || out.TurnID != "trn_1" || out.Outcome != "started" {
				t.Errorf("result %v, %v", out, err)
			}
			last := s.got[len(s.got)-1]
			if len(s.got) != 4 || last.GetScheduleId() != "morning" || last.GetTenant() != "default" || !last.GetDueTime().AsTime().Equal(row.want) {
				t.Errorf("%d calls, the last %v", len(s.got), last)
			}
		})
	}
}

// TestAForeignWorkflowFiresNothing: an input that was copied from a schedule starts no turn under another name.
func TestAForeignWorkflowFiresNothing(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // a busy machine is no deadlock
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: contract.ScheduleID("default", "other") + "-2026-03-01T09:30:00Z"})
	s := &sessions{}
	if err := Register(env, s); err != nil {
		t.Fatal(err)
	}
	env.ExecuteWorkflow(contract.ScheduleWorkflow, contract.ScheduleInput{Tenant: "default", ScheduleID: "morning"})
	err, ok := errors.AsType[*temporal.ApplicationError](env.GetWorkflowError())
	if !ok || err.Type() != typeForeign || len(s.got) != 0 {
		t.Errorf("calls %v, %v", s.got, env.GetWorkflowError())
	}
}

// TestHistoriesReplay: a changed workflow must be able to go on with what its predecessors began. TestShapesOfTheMesh in test/e2e
// makes them.
func TestHistoriesReplay(t *testing.T) {
	historytest.Replay(t, "testdata/histories", func(r worker.WorkflowReplayer) {
		r.RegisterWorkflowWithOptions(Fire, workflow.RegisterOptions{Name: contract.ScheduleWorkflow})
	})
}
