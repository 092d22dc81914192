package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/suite"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/serialization"
	"go.temporal.io/server/common/persistence/tests"
	"go.temporal.io/server/common/resolver"
)

// newStores returns the stores of a new file.
func newStores(t *testing.T) (persistence.ShardStore, *executionStore) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.db")
	if err := createFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	s := &stores{sql: fileConfig(path)}
	factory := s.NewFactory(config.CustomDatastoreConfig{}, resolver.NewNoopResolver(), clusterName, log.NewNoopLogger(),
		metrics.NoopMetricsHandler, serialization.NewSerializer())
	t.Cleanup(factory.Close)
	shards, err := factory.NewShardStore()
	if err != nil {
		t.Fatal(err)
	}
	executions, err := factory.NewExecutionStore()
	if err != nil {
		t.Fatal(err)
	}
	return shards, executions.(*executionStore)
}

// TestTemporalsSuites runs the suites that Temporal has for its stores.
func TestTemporalsSuites(t *testing.T) {
	t.Parallel()
	for name, newSuite := range map[string]func(*testing.T, persistence.ShardStore, persistence.ExecutionStore) suite.TestingSuite{
		"states": func(t *testing.T, shards persistence.ShardStore, executions persistence.ExecutionStore) suite.TestingSuite {
			return tests.NewExecutionMutableStateSuite(t, shards, executions, serialization.NewSerializer(), log.NewNoopLogger())
		},
		"tasks": func(t *testing.T, shards persistence.ShardStore, executions persistence.ExecutionStore) suite.TestingSuite {
			return tests.NewExecutionMutableStateTaskSuite(t, shards, executions, serialization.NewSerializer(), log.NewNoopLogger())
		},
		"histories": func(t *testing.T, _ persistence.ShardStore, executions persistence.ExecutionStore) suite.TestingSuite {
			return tests.NewHistoryEventsSuite(t, executions, log.NewNoopLogger())
		},
	} {
		t.Run(name, func(t *testing.T) {
			shards, executions := newStores(t)
			suite.Run(t, newSuite(t, shards, executions))
		})
	}
}

// recorder is a store that counts what it is asked for.
type recorder struct {
	persistence.ExecutionStore
	calls    []string
	fails    error
	creating func() // while the workflow is in the store, and its creator does not know it
	done     chan *persistence.CompleteHistoryTaskRequest
}

func (r *recorder) CreateWorkflowExecution(context.Context, *persistence.InternalCreateWorkflowExecutionRequest,
) (*persistence.InternalCreateWorkflowExecutionResponse, error) {
	if r.creating != nil {
		r.creating()
	}
	return &persistence.InternalCreateWorkflowExecutionResponse{}, r.fails
}

func (r *recorder) GetWorkflowExecution(context.Context, *persistence.GetWorkflowExecutionRequest,
) (*persistence.InternalGetWorkflowExecutionResponse, error) {
	r.calls = append(r.calls, "get")
	return &persistence.InternalGetWorkflowExecutionResponse{}, nil
}

func (*recorder) UpdateWorkflowExecution(context.Context, *persistence.InternalUpdateWorkflowExecutionRequest) error {
	return nil
}

func (*recorder) SetWorkflowExecution(context.Context, *persistence.InternalSetWorkflowExecutionRequest) error {
	return nil
}

func (*recorder) DeleteWorkflowExecution(context.Context, *persistence.DeleteWorkflowExecutionRequest) error {
	return nil
}

func (*recorder) ConflictResolveWorkflowExecution(context.Context, *persistence.InternalConflictResolveWorkflowExecutionRequest) error {
	return nil
}

func (r *recorder) CompleteHistoryTask(_ context.Context, request *persistence.CompleteHistoryTaskRequest) error {
	r.done <- request
	return nil
}

func TestWhatIsFreshIsReadOnce(t *testing.T) {
	t.Parallel()
	id := persistence.GetWorkflowExecutionRequest{ShardID: 1, NamespaceID: "n", WorkflowID: "w", RunID: "r"}
	other := id
	other.RunID = "s"
	create := func(s *executionStore, of persistence.GetWorkflowExecutionRequest) {
		_, _ = s.CreateWorkflowExecution(t.Context(), &persistence.InternalCreateWorkflowExecutionRequest{
			ShardID: of.ShardID, NewWorkflowSnapshot: persistence.InternalWorkflowSnapshot{
				NamespaceID: of.NamespaceID, WorkflowID: of.WorkflowID, RunID: of.RunID, NextEventID: 3, DBRecordVersion: 1,
			},
		})
	}
	update := func(s *executionStore) {
		_ = s.UpdateWorkflowExecution(t.Context(), &persistence.InternalUpdateWorkflowExecutionRequest{
			ShardID: 1, UpdateWorkflowMutation: persistence.InternalWorkflowMutation{NamespaceID: "n", WorkflowID: "w", RunID: "r"},
		})
	}
	cases := map[string]struct {
		store  recorder
		change func(*executionStore)
		asked  int // how often the store is, when the workflow is read twice
	}{
		"created":         {asked: 1},
		"not created":     {store: recorder{fails: errors.New("conflict")}, asked: 2},
		"updated":         {change: update, asked: 2},
		"another created": {change: func(s *executionStore) { create(s, other) }, asked: 1},
		"many created": {change: func(s *executionStore) {
			for range maxFresh {
				create(s, other)
			}
		}, asked: 2},
		"set": {change: func(s *executionStore) {
			_ = s.SetWorkflowExecution(t.Context(), &persistence.InternalSetWorkflowExecutionRequest{})
		}, asked: 2},
		"conflict resolved": {change: func(s *executionStore) {
			_ = s.ConflictResolveWorkflowExecution(t.Context(), &persistence.InternalConflictResolveWorkflowExecutionRequest{})
		}, asked: 2},
		"deleted": {change: func(s *executionStore) {
			_ = s.DeleteWorkflowExecution(t.Context(), &persistence.DeleteWorkflowExecutionRequest{ShardID: 1, NamespaceID: "n", WorkflowID: "w", RunID: "r"})
		}, asked: 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newExecutionStore(&tc.store, &fresh{})
			create(s, id)
			if tc.change != nil {
				tc.change(s)
			}
			for range 2 {
				got, err := s.GetWorkflowExecution(t.Context(), &id)
				if err != nil || got.State != nil && (got.State.NextEventID != 3 || got.DBRecordVersion != 1) {
					t.Errorf("read %+v, %v", got, err)
				}
			}
			if want := slices.Repeat([]string{"get"}, tc.asked); !slices.Equal(tc.store.calls, want) {
				t.Errorf("the store was asked for %v, want %v", tc.store.calls, want)
			}
		})
	}
	t.Run("updated while it is created", func(t *testing.T) {
		t.Parallel()
		store := &recorder{}
		s := newExecutionStore(store, &fresh{})
		store.creating = func() { update(s) }
		create(s, id)
		if _, err := s.GetWorkflowExecution(t.Context(), &id); err != nil || len(store.calls) != 1 {
			t.Errorf("an outdated state was read: %v", err)
		}
	})
}

func TestDoneTasksAreDeleted(t *testing.T) {
	t.Parallel()
	store := &recorder{done: make(chan *persistence.CompleteHistoryTaskRequest, 1)}
	s := newExecutionStore(store, &fresh{})
	for _, bestEffort := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		err := s.CompleteHistoryTask(ctx, &persistence.CompleteHistoryTaskRequest{ShardID: 3, BestEffort: bestEffort})
		cancel() // the request that completed the task is over
		if got := <-store.done; err != nil || got.ShardID != 3 || got.BestEffort {
			t.Errorf("%+v, %v", got, err)
		}
	}
}
