package sessions

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/timestamp"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// wait is a row of what turns wait for, with its contents.
type wait struct {
	store.Wait
	request *executionv1.WaitRequest
	answer  *executionv1.Wait // content, result, decisions and action; nothing else is set
	// requesters are those by whose input the call came about.
	requesters []string
}

func readWait(row store.Wait) (*wait, error) {
	w := &wait{Wait: row, request: &executionv1.WaitRequest{}, answer: &executionv1.Wait{}}
	if err := proto.Unmarshal(row.Request, w.request); err != nil {
		return nil, fmt.Errorf("request of %s: %w", row.ID, err)
	}
	if err := proto.Unmarshal(row.Answer, w.answer); err != nil {
		return nil, fmt.Errorf("answer of %s: %w", row.ID, err)
	}
	var err error
	w.requesters, err = readRequesters(row)
	return w, err
}

func (w *wait) kind() turnv1.WaitKind { return turnv1.WaitKind(w.Kind) }

func (w *wait) verdict() turnv1.Verdict { return turnv1.Verdict(w.Verdict) }

func (w *wait) open() bool { return w.Verdict == 0 }

// due tells whether an open wait's time is up.
func (w *wait) due(nowUs int64) bool { return w.open() && w.ExpiresUs > 0 && w.ExpiresUs <= nowUs }

// forPeople tells whether a person is waited for, so that the turn's time does not run.
func (w *wait) forPeople() bool { return w.kind() != turnv1.WaitKind_WAIT_KIND_CHILD }

func (w *wait) ref() *turnv1.WaitRef {
	return &turnv1.WaitRef{Id: w.ID, Kind: w.kind(), ExpireMicros: w.ExpiresUs}
}

// origin is what the event of its end belongs to.
func (w *wait) origin(t store.Turn) journal.Origin {
	return journal.Origin{TurnID: w.TurnID, AgentPath: t.Path(), Step: stepkey.Wait(w.StepKey), Attempt: 1}
}

// save writes verdict, end and answer. The session must be locked.
func (w *wait) save(tx *journal.Tx) error {
	data, err := proto.Marshal(w.answer)
	if err != nil {
		return fmt.Errorf("answer of %s: %w", w.ID, err)
	}
	w.Answer = data
	return tx.SaveWait(tx.Context(), w.Wait)
}

// maxQuorum bounds how many approvals one call may need.
const maxQuorum = 16

// checkWait refuses a wait that does not belong to the step that asks for it.
func checkWait(req *executionv1.CommitStepRequest) error {
	w := req.GetWait()
	switch {
	case w == nil:
		return nil
	case stepkey.Wait(req.GetOutcome().GetKey()) == "":
		return fault.Invalid("wait", "belongs to a tool step, and only to it")
	case len(req.GetMessages()) > 0:
		return fault.Invalid("messages", "a step that waits has none")
	case w.GetExpiresInMs() < 0:
		return fault.Invalid("wait.expires_in_ms", "is negative")
	case w.GetQuorum() > maxQuorum:
		return fault.Invalid("wait.quorum", "is above %d", maxQuorum)
	}
	return nil
}

// beginWait stores the wait that a tool step ends with, appends its event, and returns the reference for the step's outcome.
func (s *Service) beginWait(tx *journal.Tx, t *store.Turn, step store.Step, req *executionv1.WaitRequest) (*turnv1.WaitRef, error) {
	data, err := proto.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("wait of step %s: %w", step.Key, err)
	}
	w := &wait{request: req, answer: &executionv1.Wait{}, Wait: store.Wait{
		Tenant: t.Tenant, ID: ids.New(ids.Approval), TurnID: t.ID, SessionID: t.SessionID, AgentID: t.AgentID,
		Owner: tx.Session.Subject, Requester: t.Subject, StepKey: step.Key, Kind: int32(req.GetKind()), CallID: req.GetCallId(),
		Tool: req.GetTool(), CreateUs: tx.NowUs, Request: data,
	}}
	if in := s.expiresIn(req); in > 0 {
		w.ExpiresUs = tx.NowUs + in.Microseconds()
	}
	if w.Requesters, err = requestersOf(tx, *t); err != nil {
		return nil, err
	}
	if w.requesters, err = readRequesters(w.Wait); err != nil {
		return nil, err
	}
	if err := voidEarlier(tx, *t, w); err != nil {
		return nil, err
	}
	if err := tx.AddWait(tx.Context(), w.Wait, req.GetApproverRoles()); err != nil {
		return nil, err
	}
	if e := w.requested(); e != nil {
		if _, err := tx.Append(journal.OfStep(*t, step), e); err != nil {
			return nil, err
		}
	}
	if err := s.notifyWait(tx, *t, w); err != nil {
		return nil, err
	}
	t.OpenWaits++
	if w.forPeople() {
		if t.PeopleWaits++; t.PeopleWaits == 1 {
			err = pause(tx, t, w)
		}
	}
	return w.ref(), err
}

// expiresIn says how long a wait may last, 0 = for ever.
func (s *Service) expiresIn(req *executionv1.WaitRequest) time.Duration {
	if ms := req.GetExpiresInMs(); ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	switch req.GetKind() {
	case turnv1.WaitKind_WAIT_KIND_APPROVAL:
		return s.cfg.Waits.Approval
	case turnv1.WaitKind_WAIT_KIND_INPUT:
		return s.cfg.Waits.Input
	case turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL:
		return s.cfg.Waits.ClientTool
	case turnv1.WaitKind_WAIT_KIND_RESOLUTION:
		return s.cfg.Waits.Resolution
	}
	return 0
}

// pause notes that the turn waits for people from now on.
func pause(tx *journal.Tx, t *store.Turn, w *wait) error {
	t.PausedUs, t.Status = tx.NowUs, int32(turnv1.TurnStatus_TURN_STATUS_WAITING)
	_, err := tx.Append(journal.OfTurn(*t), &turnv1.Event{Data: &turnv1.Event_TurnPaused{TurnPaused: &turnv1.TurnPaused{
		WaitingFor: w.kind(), ApprovalId: w.ID,
	}}})
	return err
}

// voidEarlier marks approvals as void that were given for other arguments, or another definition of the tool, than the call has now.
func voidEarlier(tx *journal.Tx, t store.Turn, now *wait) error {
	if now.kind() != turnv1.WaitKind_WAIT_KIND_APPROVAL {
		return nil
	}
	rows, err := tx.WaitsOf(tx.Context(), now.Tenant, now.TurnID)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.CallID != now.CallID || turnv1.Verdict(row.Verdict) != turnv1.Verdict_VERDICT_APPROVED {
			continue
		}
		w, err := readWait(row)
		if err != nil {
			return err
		}
		same := w.request.GetArgumentsHash() == now.request.GetArgumentsHash() && w.request.GetDefinitionHash() == now.request.GetDefinitionHash()
		if same {
			continue
		}
		w.Verdict = int32(turnv1.Verdict_VERDICT_VOID)
		if err := w.save(tx); err != nil {
			return err
		}
		if _, err := tx.Append(w.origin(t), w.resolved("")); err != nil {
			return err
		}
	}
	return nil
}

// requested is the event that asks for what is waited for; nil where there is none.
func (w *wait) requested() *turnv1.Event {
	r := w.request
	switch w.kind() {
	case turnv1.WaitKind_WAIT_KIND_APPROVAL:
		return &turnv1.Event{Data: &turnv1.Event_ApprovalRequested{ApprovalRequested: &turnv1.ApprovalRequested{
			ApprovalId: w.ID, CallId: r.GetCallId(), Tool: r.GetTool(), Arguments: r.GetArguments(), ArgumentsHash: r.GetArgumentsHash(),
			DefinitionHash: r.GetDefinitionHash(), Effect: r.GetEffect(), Rule: r.GetRule(), Reason: r.GetMessage(),
			ApproverRoles: r.GetApproverRoles(), Quorum: max(r.GetQuorum(), 1), ExpireTime: timestamp.OfMicros(w.ExpiresUs),
		}}}
	case turnv1.WaitKind_WAIT_KIND_INPUT, turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL:
		return &turnv1.Event{Data: &turnv1.Event_InputRequested{InputRequested: &turnv1.InputRequested{
			ApprovalId: w.ID, Kind: w.kind(), CallId: r.GetCallId(), Tool: r.GetTool(), Message: r.GetMessage(), Schema: w.schema(),
			Arguments: r.GetArguments(), ExpireTime: timestamp.OfMicros(w.ExpiresUs),
		}}}
	case turnv1.WaitKind_WAIT_KIND_RESOLUTION:
		return &turnv1.Event{Data: &turnv1.Event_ToolCallUnresolved{ToolCallUnresolved: &turnv1.ToolCallUnresolved{
			CallId: r.GetCallId(), Tool: r.GetTool(), ExecutionId: r.GetExecutionId(), ApprovalId: w.ID,
		}}}
	}
	return nil
}

// resolved is the event of its end; nil where there is none.
func (w *wait) resolved(subject string) *turnv1.Event {
	switch w.kind() {
	case turnv1.WaitKind_WAIT_KIND_APPROVAL:
		return &turnv1.Event{Data: &turnv1.Event_ApprovalResolved{ApprovalResolved: &turnv1.ApprovalResolved{
			ApprovalId: w.ID, CallId: w.CallID, Verdict: w.verdict(), Decisions: w.answer.GetDecisions(),
		}}}
	case turnv1.WaitKind_WAIT_KIND_INPUT, turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL:
		return &turnv1.Event{Data: &turnv1.Event_InputProvided{InputProvided: &turnv1.InputProvided{
			ApprovalId: w.ID, CallId: w.CallID, Verdict: w.verdict(), Subject: subject,
		}}}
	case turnv1.WaitKind_WAIT_KIND_RESOLUTION:
		return &turnv1.Event{Data: &turnv1.Event_ToolCallResolved{ToolCallResolved: &turnv1.ToolCallResolved{
			ApprovalId: w.ID, CallId: w.CallID, Tool: w.Tool, Verdict: w.verdict(), Subject: subject,
		}}}
	}
	return nil
}

// schema is the schema of the answer, nil when there is none that is a JSON object.
func (w *wait) schema() *structpb.Struct {
	text := w.request.GetSchemaJson()
	if text == "" {
		return nil
	}
	out := &structpb.Struct{}
	if err := protojson.Unmarshal([]byte(text), out); err != nil {
		return nil // a schema may be true or false too; it is still checked against
	}
	return out
}
