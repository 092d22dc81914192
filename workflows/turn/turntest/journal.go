package turntest

import (
	"cmp"
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
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

// Journal is an ExecutionService in memory. It passes executiontest, as the sessions service does. It has no budgets, no sub-agents and
// no schedules: CreateChild and FireSchedule are not implemented. One lock guards all turns.
type Journal struct {
	executionv1.UnimplementedExecutionServiceServer
	mesh *Mesh

	mu    sync.Mutex
	turns map[string]*turnRecord
	// earlier has messages for turns that are not added yet; see Recall.
	earlier map[string][]*turnv1.Message
	// renewed is called on each renewal of a lease, committing before each commit.
	renewed    func()
	committing func(*executionv1.CommitStepRequest)
	// now returns the time.
	now func() time.Time
}

type turnRecord struct {
	in contract.TurnInput
	// load is what LoadTurn returns, without what is computed for each call.
	load *executionv1.LoadTurnResponse
	// steps are by key; claims counts those that were claimed or recorded, which gives them their order.
	steps  map[string]*stepRecord
	claims int
	// history is the conversation, in the order in which models read it, apart from results of tool calls.
	history []*turnv1.Message
	events  []*turnv1.Event
	usage   *turnv1.Usage
	ending  *turnv1.Ending
	waits   []*waitRecord
	// paused is since when the turn waits for people, zero while it does not; pause is the sum of the pauses that are over.
	paused    time.Time
	pause     time.Duration
	inputs    []*turnv1.StepOutcome
	artifacts []*executionv1.NewArtifact
	// recorded has the results of a re-run, by call ID.
	recorded map[string]*turnv1.ToolResult
	summary  *turnv1.ContextCompacted
	// leftOut is how many of the oldest messages models do not read.
	leftOut int
}

type stepRecord struct {
	key     string
	kind    turnv1.StepKind
	tool    string
	order   int
	owner   string
	fence   uint32
	attempt uint32
	expires time.Time
	// rest is the backoff with which the step was released.
	rest time.Duration
	// made are the attempts with which it was released.
	made    []*turnv1.ModelAttempt
	done    *turnv1.StepOutcome
	commits int
}

func newJournal(m *Mesh) *Journal {
	return &Journal{mesh: m, turns: map[string]*turnRecord{}, earlier: map[string][]*turnv1.Message{}, now: time.Now}
}

// SetClock has leases, backoffs and waits follow another clock than the machine's.
func (j *Journal) SetClock(now func() time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.now = now
}

// OnRenew has f called on each renewal of a lease from now on.
func (j *Journal) OnRenew(f func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.renewed = f
}

// OnCommit has f called before each commit from now on.
func (j *Journal) OnCommit(f func(*executionv1.CommitStepRequest)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.committing = f
}

// Add accepts a turn.
func (j *Journal) Add(in contract.TurnInput, agent *sessionsv1.Agent, input string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	agent.Id = in.AgentID
	j.turns[in.TurnID] = &turnRecord{
		in: in, steps: map[string]*stepRecord{}, usage: &turnv1.Usage{},
		load: &executionv1.LoadTurnResponse{
			Turn: &sessionsv1.Turn{
				Id: in.TurnID, SessionId: in.SessionID, AgentId: in.AgentID, Status: turnv1.TurnStatus_TURN_STATUS_QUEUED, Input: input,
			},
			Agent: withLimits(agent), Principal: authn.Local(),
		},
		history: append(j.earlier[in.TurnID], &turnv1.Message{
			Id: inputID(in.TurnID), SessionId: in.SessionID, TurnId: in.TurnID, Role: turnv1.Role_ROLE_USER, Content: executiontest.Text(input),
		}),
	}
}

// inputID returns the ID of the message that a turn starts with.
func inputID(turn string) string { return "msg_in_" + turn }

// withLimits returns the agent with complete limits.
func withLimits(agent *sessionsv1.Agent) *sessionsv1.Agent {
	agent = proto.CloneOf(agent)
	l := cmp.Or(agent.GetLimits(), &sessionsv1.Limits{})
	l.MaxSteps, l.MaxParallelTools = cmp.Or(l.GetMaxSteps(), 25), cmp.Or(l.GetMaxParallelTools(), 16)
	l.MaxIdenticalCalls, l.TurnSeconds = cmp.Or(l.GetMaxIdenticalCalls(), 3), cmp.Or(l.GetTurnSeconds(), 1800)
	agent.Limits = l
	return agent
}

// Offer gives a turn a sub-agent to call.
func (j *Journal) Offer(turn string, agent *executionv1.AgentTool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.turns[turn].load.AgentTools = append(j.turns[turn].load.AgentTools, agent)
}

// ClientTools gives a turn tools that its client runs.
func (j *Journal) ClientTools(turn string, tools ...*sessionsv1.ClientTool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.turns[turn].load.ClientTools = tools
}

// Rerun makes a turn a re-run of another one; recorded has the results of that one, by call ID.
func (j *Journal) Rerun(turn string, event *turnv1.TurnRerun, recorded map[string]*turnv1.ToolResult) {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := j.turns[turn]
	t.load.Rerun, t.recorded = event, recorded
}

// Recall puts messages of earlier turns before those of a turn, which may be added later.
func (j *Journal) Recall(turn string, messages ...*turnv1.Message) {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := j.turns[turn]
	if t == nil {
		j.earlier[turn] = messages
		return
	}
	t.history = append(messages[:len(messages):len(messages)], t.history...)
}

// LeaveOut has models not read so many of the oldest messages of a turn's conversation, until it is compacted.
func (j *Journal) LeaveOut(turn string, messages int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.turns[turn].leftOut = messages
}

// Ending returns how a turn ended, nil while it runs.
func (j *Journal) Ending(turn string) *turnv1.Ending {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.turns[turn].ending
}

// Commits returns how often each step was committed.
func (j *Journal) Commits(turn string) map[string]int {
	j.mu.Lock()
	defer j.mu.Unlock()
	counts := map[string]int{}
	for key, s := range j.turns[turn].steps {
		counts[key] = s.commits
	}
	return counts
}

// Events returns the durable events of a turn so far.
func (j *Journal) Events(turn string) []*turnv1.Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.turns[turn].events)
}

// Artifacts returns the artifacts of a turn so far.
func (j *Journal) Artifacts(turn string) []*executionv1.NewArtifact {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.turns[turn].artifacts)
}

// Messages returns the conversation of a turn so far.
func (j *Journal) Messages(turn string) []*turnv1.Message {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.turns[turn].history)
}

func notFound(turn string) error { return fault.NotFound("turn %q does not exist", turn) }

func leaseLost() error {
	return fault.New(codes.Aborted, faultv1.Reason_REASON_LEASE_LOST, "the lease is lost")
}

func turnEnded() error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_TURN_ENDED, "the turn has ended")
}

// find takes the next planned error of an RPC, or locks the journal and returns a turn with the function that unlocks it.
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
