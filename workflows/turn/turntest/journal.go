package turntest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// Journal is an ExecutionService in memory: one lock for all, real leases and fences.
type Journal struct {
	executionv1.UnimplementedExecutionServiceServer
	mesh *Mesh

	mu    sync.Mutex
	turns map[string]*turnRecord
	past  map[string][]*turnv1.Message
	// renewed is called for each renewal of a lease.
	renewed func()
}

// OnRenew has f called for each renewal of a lease from now on.
func (j *Journal) OnRenew(f func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.renewed = f
}

type turnRecord struct {
	in      contract.TurnInput
	load    *executionv1.LoadTurnResponse
	steps   map[string]*stepRecord
	history []*turnv1.Message
	events  []*turnv1.Event
	ending  *turnv1.Ending
	waits   []*waitRecord
	inputs  []*turnv1.StepOutcome
	// what was kept whole beside results
	artifacts []*executionv1.NewArtifact
	// recorded results of a re-run, by call id
	recorded map[string]*turnv1.ToolResult
	summary  *turnv1.ContextCompacted
	leftOut  int
}

type stepRecord struct {
	owner   string
	fence   uint32
	attempt uint32
	expires time.Time
	done    *turnv1.StepOutcome
	commits int
	rests   bool
	rest    time.Duration
}

func newJournal(m *Mesh) *Journal {
	return &Journal{mesh: m, turns: map[string]*turnRecord{}, past: map[string][]*turnv1.Message{}}
}

// Add accepts a turn.
func (j *Journal) Add(in contract.TurnInput, agent *sessionsv1.Agent, input string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	agent.Id = in.AgentID
	j.turns[in.TurnID] = &turnRecord{
		in: in, steps: map[string]*stepRecord{},
		load: &executionv1.LoadTurnResponse{
			Turn: &sessionsv1.Turn{
				Id: in.TurnID, SessionId: in.SessionID, AgentId: in.AgentID, Status: turnv1.TurnStatus_TURN_STATUS_QUEUED, Input: input,
			},
			Agent: withLimits(agent), Principal: authn.Local(),
		},
		history: append(j.past[in.TurnID], &turnv1.Message{
			Id: "msg_in_" + in.TurnID, SessionId: in.SessionID, TurnId: in.TurnID, Role: turnv1.Role_ROLE_USER,
			Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: input}}},
		}),
	}
}

// withLimits returns the agent with complete limits, as the sessions service does.
func withLimits(agent *sessionsv1.Agent) *sessionsv1.Agent {
	agent = proto.CloneOf(agent)
	l := cmp.Or(agent.GetLimits(), &sessionsv1.Limits{})
	l.MaxSteps, l.MaxParallelTools = cmp.Or(l.GetMaxSteps(), 25), cmp.Or(l.GetMaxParallelTools(), 16)
	l.MaxIdenticalCalls, l.TurnSeconds = cmp.Or(l.GetMaxIdenticalCalls(), 3), cmp.Or(l.GetTurnSeconds(), 1800)
	agent.Limits = l
	return agent
}

// Offer gives a turn a sub-agent that it may hand over to.
func (j *Journal) Offer(turn string, agent *executionv1.AgentTool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.turns[turn].load.AgentTools = append(j.turns[turn].load.AgentTools, agent)
}

// Cancel accepts a cancel.
func (j *Journal) Cancel(turn string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := j.turns[turn]
	t.load.CancelRequested = true
	j.append(t, "", 0, &turnv1.Event{Data: &turnv1.Event_TurnCancelRequested{TurnCancelRequested: &turnv1.TurnCancelRequested{}}})
}

// Seize gives a step to an owner, as if that one had claimed it; it has the lease for so long.
func (j *Journal) Seize(turn, step, owner string, ttl time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.step(j.turns[turn], step)
	s.owner, s.fence, s.attempt, s.expires = owner, s.fence+1, s.attempt+1, time.Now().Add(ttl)
}

// Complete commits a step for the worker that seized it.
func (j *Journal) Complete(turn string, o *turnv1.StepOutcome) {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := j.turns[turn]
	j.settle(t, j.step(t, o.GetKey()), o)
}

// End ends a turn without a finish step, as the sessions service may.
func (j *Journal) End(turn string, status turnv1.TurnStatus, reason string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := j.turns[turn]
	t.load.Turn.Status, t.load.Turn.StopReason, t.ending = status, reason, &turnv1.Ending{StopReason: reason}
}

// Ending is how a turn ended, nil while it runs.
func (j *Journal) Ending(turn string) *turnv1.Ending {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.turns[turn].ending
}

// Commits counts how often each step was committed.
func (j *Journal) Commits(turn string) map[string]int {
	j.mu.Lock()
	defer j.mu.Unlock()
	counts := map[string]int{}
	for key, s := range j.turns[turn].steps {
		counts[key] = s.commits
	}
	return counts
}

// EndRest lets a step that rests after a failure be begun at once, and gives how long it should have rested in all.
func (j *Journal) EndRest(turn, step string) time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.turns[turn].steps[step]
	if s == nil || !s.rests {
		return 0
	}
	s.rests = false
	return s.rest
}

// Released reports whether nobody holds a step.
func (j *Journal) Released(turn, step string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.step(j.turns[turn], step).owner == ""
}

// Events are a turn's durable events so far.
func (j *Journal) Events(turn string) []*turnv1.Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]*turnv1.Event(nil), j.turns[turn].events...)
}

// Artifacts are what was kept beside the turn's results so far.
func (j *Journal) Artifacts(turn string) []*executionv1.NewArtifact {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]*executionv1.NewArtifact(nil), j.turns[turn].artifacts...)
}

// Messages are the conversation so far.
func (j *Journal) Messages(turn string) []*turnv1.Message {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]*turnv1.Message(nil), j.turns[turn].history...)
}

func (j *Journal) step(t *turnRecord, key string) *stepRecord {
	s, ok := t.steps[key]
	if !ok {
		s = &stepRecord{}
		t.steps[key] = s
	}
	return s
}

// append writes an event and tells the bus. The caller holds the lock.
func (j *Journal) append(t *turnRecord, step string, attempt uint32, e *turnv1.Event) uint32 {
	e = proto.Clone(e).(*turnv1.Event)
	e.Seq, e.TurnId, e.SessionId, e.Step, e.Attempt = uint32(len(t.events)+1), t.in.TurnID, t.in.SessionID, step, attempt
	t.events = append(t.events, e)
	data, err := proto.Marshal(e)
	if err == nil {
		err = j.mesh.Bus.Publish(contract.EventSubject(t.in.Tenant, t.in.SessionID), contract.PackEvents(nil, data))
	}
	if err == nil && e.GetTurnCancelRequested() != nil {
		err = j.mesh.Bus.Publish(contract.CancelSubject(t.in.Tenant, t.in.SessionID), []byte(t.in.TurnID))
	}
	if err != nil {
		panic(fmt.Sprintf("publish: %v", err))
	}
	return e.GetSeq()
}

func (j *Journal) settle(t *turnRecord, s *stepRecord, o *turnv1.StepOutcome) {
	s.done, s.owner = o, ""
	o.CommittedMicros = time.Now().UnixMicro()
	s.commits++
	j.append(t, o.GetKey(), s.attempt, &turnv1.Event{Data: &turnv1.Event_StepFinished{StepFinished: &turnv1.StepFinished{}}})
}

func notFound(turn string) error { return fault.NotFound("turn %q does not exist", turn) }

func leaseLost() error {
	return fault.New(codes.Aborted, faultv1.Reason_REASON_LEASE_LOST, "the lease is lost")
}

// find returns a turn under the lock, after a planned fault if there is one.
func (j *Journal) find(rpc, turn string) (*turnRecord, func(), error) {
	if err := j.mesh.fault(rpc); err != nil {
		return nil, nil, err
	}
	j.mu.Lock()
	t, ok := j.turns[turn]
	if !ok {
		j.mu.Unlock()
		return nil, nil, notFound(turn)
	}
	return t, j.mu.Unlock, nil
}

// LoadTurn implements ExecutionService.
func (j *Journal) LoadTurn(_ context.Context, req *executionv1.LoadTurnRequest) (*executionv1.LoadTurnResponse, error) {
	t, unlock, err := j.find("LoadTurn", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	load := proto.CloneOf(t.load)
	load.Outcomes, load.ContextBytes, load.NowMicros = t.outcomes(), t.bytes(), time.Now().UnixMicro()
	if a := load.GetAgent(); req.GetWithContext() && len(load.GetOutcomes()) == 0 && a.GetExecutor() == nil &&
		a.GetStrategy() <= turnv1.Strategy_STRATEGY_REACT_TEXT {
		load.Context = t.shown()
	}
	return load, nil
}

// GetOutcomes implements ExecutionService.
func (j *Journal) GetOutcomes(_ context.Context, req *executionv1.GetOutcomesRequest) (*executionv1.GetOutcomesResponse, error) {
	t, unlock, err := j.find("GetOutcomes", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	resp := &executionv1.GetOutcomesResponse{
		Outcomes: t.outcomes(), Held: map[string]*executionv1.Busy{}, Ended: t.ending != nil, NowMicros: time.Now().UnixMicro(),
	}
	for key, s := range t.steps {
		if left := time.Until(s.expires); s.done == nil && (s.owner != "" || s.rests) && left > 0 {
			resp.Held[key] = &executionv1.Busy{Owner: s.owner, ExpiresInMs: int32(left.Milliseconds()) + 1}
		}
	}
	return resp, nil
}

// outcomes are those of the steps that are done, in the order in which they were committed.
func (t *turnRecord) outcomes() []*turnv1.StepOutcome {
	var out []*turnv1.StepOutcome
	for _, s := range t.steps {
		if s.done != nil {
			out = append(out, proto.CloneOf(s.done))
		}
	}
	slices.SortFunc(out, func(a, b *turnv1.StepOutcome) int { return cmp.Compare(a.GetCommittedMicros(), b.GetCommittedMicros()) })
	return out
}

// GetContext implements ExecutionService.
func (j *Journal) GetContext(_ context.Context, req *executionv1.GetContextRequest) (*executionv1.GetContextResponse, error) {
	t, unlock, err := j.find("GetContext", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	return t.shown(), nil
}

// GetToolCall implements ExecutionService.
func (j *Journal) GetToolCall(_ context.Context, req *executionv1.GetToolCallRequest) (*turnv1.ToolCall, error) {
	t, unlock, err := j.find("GetToolCall", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, m := range t.history {
		for _, call := range m.GetToolCalls() {
			if m.GetId() == req.GetMessageId() && call.GetCallId() == req.GetCallId() {
				return call, nil
			}
		}
	}
	return nil, fault.NotFound("no such call")
}
