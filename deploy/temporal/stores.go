package main

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/serialization"
	"go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/resolver"
)

const (
	// storeName names the stores in the configuration.
	storeName = "windlass"

	// maxFresh bounds the workflows that are kept until they are read for the first time.
	maxFresh = 128

	// deleteTimeout bounds the deletion of a task that is done.
	deleteTimeout = 10 * time.Second
)

// stores are Temporal's for SQL, with two differences for workflows: see executionStore.
type stores struct {
	sql   *config.SQL
	fresh fresh
}

// NewFactory implements client.AbstractDataStoreFactory. Each service of the server has a factory; they share what is fresh.
func (s *stores) NewFactory(_ config.CustomDatastoreConfig, r resolver.ServiceResolver, cluster string, logger log.Logger,
	handler metrics.Handler, serializer serialization.Serializer,
) persistence.DataStoreFactory {
	return &storeFactory{Factory: sql.NewFactory(*s.sql, r, cluster, logger, handler, serializer), fresh: &s.fresh}
}

type storeFactory struct {
	*sql.Factory
	fresh *fresh
}

// NewExecutionStore implements persistence.DataStoreFactory.
func (f *storeFactory) NewExecutionStore() (persistence.ExecutionStore, error) {
	store, err := f.Factory.NewExecutionStore()
	if err != nil {
		return nil, err
	}
	return newExecutionStore(store, f.fresh), nil
}

// executionStore spares reading a workflow that was just created, which takes nine queries: the server forgets its state, and reads it when
// the first task is completed. And it deletes the timer of a task when the task is completed, where Temporal's store for SQL lets it fire:
// by then most workflows have left the cache, and are read again.
type executionStore struct {
	persistence.ExecutionStore
	fresh    *fresh
	deleting chan struct{} // tasks that are being deleted
}

// maxDeleting bounds the tasks that are deleted at a time.
const maxDeleting = 64

func newExecutionStore(store persistence.ExecutionStore, f *fresh) *executionStore {
	return &executionStore{ExecutionStore: store, fresh: f, deleting: make(chan struct{}, maxDeleting)}
}

// CreateWorkflowExecution implements persistence.ExecutionStore.
func (s *executionStore) CreateWorkflowExecution(ctx context.Context, r *persistence.InternalCreateWorkflowExecutionRequest,
) (*persistence.InternalCreateWorkflowExecutionResponse, error) {
	w := &r.NewWorkflowSnapshot
	key := freshKey{r.ShardID, w.NamespaceID, w.WorkflowID, w.RunID}
	s.fresh.announce(key)
	response, err := s.ExecutionStore.CreateWorkflowExecution(ctx, r)
	if err != nil {
		s.fresh.take(key)
		return nil, err
	}
	s.fresh.put(key, stateOf(w))
	return response, nil
}

// GetWorkflowExecution implements persistence.ExecutionStore.
func (s *executionStore) GetWorkflowExecution(ctx context.Context, r *persistence.GetWorkflowExecutionRequest,
) (*persistence.InternalGetWorkflowExecutionResponse, error) {
	if state := s.fresh.take(freshKey{r.ShardID, r.NamespaceID, r.WorkflowID, r.RunID}); state != nil {
		return &persistence.InternalGetWorkflowExecutionResponse{State: state, DBRecordVersion: state.DBRecordVersion}, nil
	}
	return s.ExecutionStore.GetWorkflowExecution(ctx, r)
}

// UpdateWorkflowExecution implements persistence.ExecutionStore.
func (s *executionStore) UpdateWorkflowExecution(ctx context.Context, r *persistence.InternalUpdateWorkflowExecutionRequest) error {
	m := &r.UpdateWorkflowMutation
	s.fresh.take(freshKey{r.ShardID, m.NamespaceID, m.WorkflowID, m.RunID})
	return s.ExecutionStore.UpdateWorkflowExecution(ctx, r)
}

// ConflictResolveWorkflowExecution implements persistence.ExecutionStore.
func (s *executionStore) ConflictResolveWorkflowExecution(ctx context.Context,
	r *persistence.InternalConflictResolveWorkflowExecutionRequest,
) error {
	s.fresh.clear()
	return s.ExecutionStore.ConflictResolveWorkflowExecution(ctx, r)
}

// SetWorkflowExecution implements persistence.ExecutionStore.
func (s *executionStore) SetWorkflowExecution(ctx context.Context, r *persistence.InternalSetWorkflowExecutionRequest) error {
	s.fresh.clear()
	return s.ExecutionStore.SetWorkflowExecution(ctx, r)
}

// DeleteWorkflowExecution implements persistence.ExecutionStore.
func (s *executionStore) DeleteWorkflowExecution(ctx context.Context, r *persistence.DeleteWorkflowExecutionRequest) error {
	s.fresh.take(freshKey{r.ShardID, r.NamespaceID, r.WorkflowID, r.RunID})
	return s.ExecutionStore.DeleteWorkflowExecution(ctx, r)
}

// CompleteHistoryTask implements persistence.ExecutionStore. Nobody waits for the deletion of a task that may as well fire.
func (s *executionStore) CompleteHistoryTask(ctx context.Context, r *persistence.CompleteHistoryTaskRequest) error {
	if !r.BestEffort {
		return s.ExecutionStore.CompleteHistoryTask(ctx, r)
	}
	select {
	case s.deleting <- struct{}{}:
	default:
		return nil // the database is slow: the task fires, and has nothing to do
	}
	done := *r
	done.BestEffort = false
	go func() {
		defer func() { <-s.deleting }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteTimeout)
		defer cancel()
		_ = s.ExecutionStore.CompleteHistoryTask(ctx, &done) // a task that remains fires, and has nothing to do
	}()
	return nil
}

// fresh are the states of the newest workflows that nobody has read.
type fresh struct {
	mu     sync.Mutex
	states map[freshKey]*persistence.InternalWorkflowMutableState
	order  [maxFresh]freshKey // the newest ones, round and round
	next   int
}

type freshKey struct {
	shard                    int32
	namespace, workflow, run string
}

// announce makes room for a workflow that is being created, until it is put, or taken by who is faster.
func (f *fresh) announce(key freshKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.states == nil {
		f.states = map[freshKey]*persistence.InternalWorkflowMutableState{}
	}
	delete(f.states, f.order[f.next])
	f.order[f.next] = key
	f.next = (f.next + 1) % maxFresh
	f.states[key] = nil
}

func (f *fresh) put(key freshKey, state *persistence.InternalWorkflowMutableState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.states[key]; ok {
		f.states[key] = state
	}
}

func stateOf(w *persistence.InternalWorkflowSnapshot) *persistence.InternalWorkflowMutableState {
	return &persistence.InternalWorkflowMutableState{
		ActivityInfos: w.ActivityInfos, TimerInfos: w.TimerInfos, ChildExecutionInfos: w.ChildExecutionInfos,
		RequestCancelInfos: w.RequestCancelInfos, SignalInfos: w.SignalInfos, ChasmNodes: w.ChasmNodes,
		SignalRequestedIDs: slices.Collect(maps.Keys(w.SignalRequestedIDs)), ExecutionInfo: w.ExecutionInfoBlob,
		ExecutionState: w.ExecutionStateBlob, NextEventID: w.NextEventID, Checksum: w.Checksum, DBRecordVersion: w.DBRecordVersion,
	}
}

// take returns a state, and forgets it: who reads it, keeps it, and who changes the workflow, outdates it.
func (f *fresh) take(key freshKey) *persistence.InternalWorkflowMutableState {
	f.mu.Lock()
	defer f.mu.Unlock()
	state := f.states[key]
	delete(f.states, key)
	return state
}

func (f *fresh) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.states)
}
