package convert_test

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testwant"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/rerun"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/step"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
)

// wantAll fails for each field of a message that is not set, but for those that are named.
func wantAll(t *testing.T, m proto.Message, but ...string) {
	t.Helper()
	for _, name := range sessionstest.Unset(m) {
		if !slices.Contains(but, name) {
			t.Errorf("%s.%s is not converted", m.ProtoReflect().Descriptor().Name(), name)
		}
	}
}

// deep is wantAll for the messages in a message too.
func deep(t *testing.T, m protoreflect.Message) {
	t.Helper()
	wantAll(t, m.Interface())
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.Kind() == protoreflect.MessageKind && !fd.IsList() && !fd.IsMap() && fd.ContainingOneof() == nil &&
			fd.Message().ParentFile().Package() == "windlass.sessions.v1" {
			deep(t, v.Message())
		}
		return true
	})
}

func TestAnAgentSurvivesTheWayForthAndBack(t *testing.T) {
	want := sessionstest.Message[*sessionsv1.Agent]()
	got := convert.AgentToProto(store.Agent{
		ID: want.GetId(), Revision: want.GetRevision(), Spec: convert.AgentFromProto(want), CreateTime: want.GetCreateTime().AsTime(),
		UpdateTime: want.GetUpdateTime().AsTime(),
	})
	if !proto.Equal(got, want) {
		t.Errorf("forth and back it is %v\nwant %v", got, want)
	}
	deep(t, got.ProtoReflect())
}

func TestABlueprintSurvivesTheWayForthAndBack(t *testing.T) {
	want := sessionstest.Struct[agentspec.Spec]()
	if got := convert.AgentFromProto(convert.AgentToProto(store.Agent{Spec: want})); !got.Equal(want) {
		t.Errorf("forth and back it is %+v\nwant %+v", got, want)
	}
}

func TestNothingStaysNothing(t *testing.T) {
	switch {
	case convert.LimitsToProto(nil) != nil, convert.LimitsFromProto(nil) != nil:
		t.Error("no limits became some")
	case convert.WindowToProto(nil) != nil, convert.BusyToProto(nil) != nil, convert.Commit(nil) != nil, convert.CommittedToProto(nil) != nil:
		t.Error("no result became one")
	case convert.AgentToProto(store.Agent{}).GetExecutor() != nil, convert.AgentFromProto(&sessionsv1.Agent{}).Executor != nil:
		t.Error("no executor became one")
	case convert.ClientTools(nil) != nil, convert.ComparedCalls(nil) != nil, convert.TurnsToProto(nil) != nil:
		t.Error("an empty list has elements")
	case convert.Usage(store.Turn{}) == nil:
		t.Error("a turn that used nothing has no usage")
	}
}

func TestATurnIsConvertedWithAllItsFields(t *testing.T) {
	v := sessionstest.Struct[turn.View]()
	got := convert.TurnToProto(v)
	wantAll(t, got, "waiting_for", "pending", "citations")
	for what, pair := range map[string][2]string{
		"id": {got.GetId(), v.ID}, "session": {got.GetSessionId(), v.SessionID}, "agent": {got.GetAgentId(), v.AgentID},
		"input": {got.GetInput(), v.Input.Input}, "model": {got.GetModel(), v.Model}, "subject": {got.GetSubject(), v.Subject},
		"output": {got.GetOutput(), v.End.GetOutput()}, "reason": {got.GetStopReason(), v.End.GetStopReason()},
		"schedule": {got.GetScheduleId(), v.Input.ScheduleID}, "rerun": {got.GetRerunOf(), v.Input.Rerun.GetOfTurn()},
		"parent": {got.GetParentTurnId(), v.Link.ParentTurnID}, "parent's session": {got.GetParentSessionId(), v.Link.ParentSessionID},
		"root": {got.GetRootTurnId(), v.Link.RootTurnID},
	} {
		if pair[0] != pair[1] {
			t.Errorf("the %s is %q, want %q", what, pair[0], pair[1])
		}
	}
	if c, s := got.GetCreateTime().AsTime(), got.GetStartTime().AsTime(); !c.Equal(v.CreateTime) || !s.Equal(v.StartTime) {
		t.Errorf("it was made at %s and began at %s", c, s)
	}
	if list := convert.TurnsToProto([]turn.View{v, v}); len(list) != 2 || !proto.Equal(list[1], got) {
		t.Errorf("in a list it is %v", list)
	}
}

func TestAComparedTurnHasADurationOnceItIsOver(t *testing.T) {
	v := sessionstest.Struct[turn.View]()
	v.StartTime, v.EndTime = time.UnixMilli(1000), time.UnixMilli(3500)
	got := convert.ComparedTurn(v)
	wantAll(t, got, "steps", "model_calls")
	if got.GetDurationMs() != 2500 {
		t.Errorf("it took %d ms", got.GetDurationMs())
	}
	for _, times := range [][2]time.Time{{}, {time.UnixMicro(1), {}}, {{}, time.UnixMicro(1)}} {
		v.StartTime, v.EndTime = times[0], times[1]
		if got := convert.ComparedTurn(v).GetDurationMs(); got != 0 {
			t.Errorf("from %s to %s it took %d ms", times[0], times[1], got)
		}
	}
}

func TestASessionIsConvertedWithAllItsFields(t *testing.T) {
	ses := sessionstest.Struct[store.Session]()
	ses.Params = `{"team":"red"}`
	got, err := convert.SessionToProto(ses)
	if err != nil {
		t.Fatal(err)
	}
	wantAll(t, got)
	if got.GetParams().AsMap()["team"] != "red" || got.GetForkedFromSession() != ses.ForkedFrom || got.GetParentTurnId() != ses.ParentTurn {
		t.Errorf("it is %v", got)
	}
	ses.Params = "{"
	if _, err := convert.SessionToProto(ses); err == nil {
		t.Error("params that cannot be read are converted")
	}
}

func TestAWaitIsConvertedForPeopleAndForWorkers(t *testing.T) {
	w := sessionstest.Struct[store.Wait]()
	w.Kind, w.Request.SchemaJson = turnv1.WaitKind_WAIT_KIND_APPROVAL, `{"type":"object"}`
	people := convert.ApprovalToProto(w)
	wantAll(t, people)
	if people.GetQuorum() != w.Request.GetQuorum() || people.GetRequester() != w.Requester || people.GetMessage() != w.Request.GetMessage() {
		t.Errorf("people see %v", people)
	}
	workers := convert.WaitToProto(w)
	wantAll(t, workers)
	wantAll(t, workers.GetRequest())
	if workers.GetRef().GetId() != w.ID || workers.GetVerdict() != w.Verdict {
		t.Errorf("workers see %v", workers)
	}
}

func TestAnApprovalAlwaysHasArgumentsAndAQuorum(t *testing.T) {
	w := store.Wait{Kind: turnv1.WaitKind_WAIT_KIND_APPROVAL, Request: &store.WaitRequest{}, Answer: &store.WaitAnswer{}}
	if got := convert.ApprovalToProto(w); got.GetArguments() == nil || got.GetQuorum() != 1 || enum.Name(got.GetStatus()) != "pending" {
		t.Errorf("it is %v", got)
	}
	w.Kind = turnv1.WaitKind_WAIT_KIND_INPUT
	if got := convert.ApprovalToProto(w); got.GetArguments() != nil || got.GetQuorum() != 0 {
		t.Errorf("a question is %v", got)
	}
}

// TestAWaitOfACommitIsTheWaitThatWorkersRead goes from the request to what is stored and back.
func TestAWaitOfACommitIsTheWaitThatWorkersRead(t *testing.T) {
	want := sessionstest.Message[*executionv1.WaitRequest]()
	stored := convert.Commit(&executionv1.CommitStepRequest{Wait: want}).Wait
	wantAll(t, stored)
	if got := convert.WaitToProto(store.Wait{Request: stored, Answer: &store.WaitAnswer{}}).GetRequest(); !proto.Equal(got, want) {
		t.Errorf("it comes back as %v\nwant %v", got, want)
	}
}

func TestAClaimIsConvertedWithAllItsFields(t *testing.T) {
	req := sessionstest.Message[*executionv1.ClaimStepRequest]()
	got := convert.Claim(req)
	testwant.Equal(t, "TurnID", got.TurnID, req.GetTurnId())
	testwant.Equal(t, "Owner", got.Owner, req.GetOwner())
	testwant.Equal(t, "Model", got.Model, req.GetModel())
	testwant.Equal(t, "Step", got.Step, req.GetStep())
	testwant.Equal(t, "ToolCall", got.ToolCall, req.GetToolCall())
	testwant.Equal(t, "TTL", got.TTL, req.GetTtl().AsDuration())
}

func TestACommitIsConvertedWithAllThatFollows(t *testing.T) {
	req := sessionstest.Message[*executionv1.CommitStepRequest]()
	got := convert.Commit(req)
	switch {
	case got.TurnID != req.GetTurnId(), got.Fence != req.GetFence(), got.Duration != req.GetDuration().AsDuration(),
		got.Inputs != req.GetInputs():
		t.Errorf("the numbers are those of %+v", got)
	case !proto.Equal(got.Outcome, req.GetOutcome()), !proto.Equal(got.Ending, req.GetEnding()), len(got.Events) != 2, len(got.Messages) != 2:
		t.Errorf("the content is that of %+v", got)
	case got.Claim == nil, got.Claim.Owner != req.GetClaim().GetOwner(), len(got.Next) != 2, got.Next[1].Owner != req.GetNext()[1].GetOwner():
		t.Errorf("the claims are those of %+v", got)
	case got.Then == nil, got.Then.Fence != req.GetThen().GetFence():
		t.Errorf("then comes %+v", got.Then)
	case len(got.Tools) != 2, len(got.Agents) != 2, len(got.Artifacts) != 2:
		t.Fatalf("the lists are those of %+v", got)
	}
	for i := range 2 {
		wantAll(t, got.Tools[i])
		wantAll(t, got.Agents[i])
		a, want := got.Artifacts[i], req.GetArtifacts()[i]
		testwant.Equal(t, "the artifact: ID", a.ID, want.GetId())
		testwant.Equal(t, "the artifact: CallID", a.CallID, want.GetCallId())
		testwant.Equal(t, "the artifact: Name", a.Name, want.GetName())
		testwant.Equal(t, "the artifact: MediaType", a.MediaType, want.GetMediaType())
		testwant.Equal(t, "the artifact: string(a.Data)", string(a.Data), string(want.GetData()))
	}
}

func TestAClaimHasOneOfThreeResults(t *testing.T) {
	lease := step.Lease{
		Fence: 1, Attempt: 2, BaseSeq: 3, MessageID: "msg_1", MaxOutputTokens: 4, ProviderData: []byte("sealed"),
		ModelAttempts: []*turnv1.ModelAttempt{{Model: "a/b"}},
	}
	got := convert.ClaimedToProto(step.Claimed{Lease: &lease, CancelRequested: true})
	wantAll(t, got, "current_time") // which the server adds
	wantAll(t, got.GetLease())
	got = convert.ClaimedToProto(step.Claimed{Busy: &step.Busy{Owner: "w1", ExpiresIn: 1500 * time.Millisecond, BudgetID: "bud_1"}})
	wantAll(t, got.GetBusy())
	if in := got.GetBusy().GetExpiresIn().AsDuration(); in != 1500*time.Millisecond {
		t.Errorf("it expires in %s", in)
	}
	outcome := &turnv1.StepOutcome{Key: "infer-1"}
	if got := convert.ClaimedToProto(step.Claimed{Done: outcome, Busy: &step.Busy{}}); !proto.Equal(got.GetDone(), outcome) {
		t.Errorf("a step that is done is %v", got)
	}
	if got := convert.ClaimedToProto(step.Claimed{}); got.GetResult() != nil {
		t.Errorf("no result is %v", got)
	}
}

func TestTheResultOfACommitIsConvertedWithAllItsFields(t *testing.T) {
	one := step.Committed{
		Outcome: &turnv1.StepOutcome{Key: "infer-1"}, NextTurnID: "trn_2", Adopted: true, Busy: &step.Busy{Owner: "w1"}, Stale: true,
		Next: []step.Claimed{{CancelRequested: true}}, Inputs: []*turnv1.StepOutcome{{Key: "steer-1"}},
	}
	then := one
	one.Then = &then
	got := convert.CommittedToProto(&one)
	wantAll(t, got)
	wantAll(t, got.GetThen(), "then")
}

func TestWhatIsLoadedIsConvertedWithAllItsFields(t *testing.T) {
	l := step.Loaded{
		Turn: sessionstest.Struct[store.Turn](), Session: sessionstest.Struct[store.Session](), Input: sessionstest.Struct[store.TurnInput](),
		Agent: sessionstest.Struct[store.Agent](), Params: sessionstest.Message[*sessionsv1.Session]().GetParams(), ExecutorSealed: true,
		Unresolved: fault.New(3, faultv1.Reason_REASON_INVALID_BLUEPRINT, "no such param").Hint("Set it."),
		Surface:    sessionstest.Message[*turnv1.Surface](), Tools: []*store.PinnedTool{sessionstest.Message[*store.PinnedTool]()},
		Agents: []*store.AgentTool{sessionstest.Message[*store.AgentTool]()}, Outcomes: []*turnv1.StepOutcome{{Key: "begin"}},
		Context: &conversation.Window{Messages: []*turnv1.Message{{Id: "msg_1"}}, Truncated: true, Inputs: 2, Compacted: 3}, MayRunAhead: true,
		ModelChosen: true,
	}
	l.Turn.AgentPath = "outer/inner"
	got := convert.LoadedToProto(&l)
	wantAll(t, got, "current_time", "now_micros", "executor_session_id") // which the server adds
	wantAll(t, got.GetTools()[0])
	wantAll(t, got.GetAgentTools()[0])
	wantAll(t, got.GetContext())
	if !slices.Equal(got.GetAgentPath(), []string{"outer", "inner"}) {
		t.Errorf("the path is %q", got.GetAgentPath())
	}
	if e := got.GetUnresolved(); e.GetCode() != fault.CodeName(faultv1.Reason_REASON_INVALID_BLUEPRINT) ||
		e.GetMessage() != "no such param. Set it." {
		t.Errorf("it is not resolved because of %v", e)
	}
}

func TestComparedCallsAreConvertedWithBothSides(t *testing.T) {
	both := sessionstest.Struct[rerun.ComparedCall]()
	got := convert.ComparedCalls([]rerun.ComparedCall{both, {Tool: "one", A: both.A}})
	wantAll(t, got[0])
	wantAll(t, got[0].GetA())
	wantAll(t, got[0].GetB())
	if got[1].GetA() == nil || got[1].GetB() != nil {
		t.Errorf("a call of one turn is %v", got[1])
	}
}

func TestAToolOfTheClientIsConvertedWithAllItsFields(t *testing.T) {
	want := sessionstest.Message[*sessionsv1.ClientTool]()
	got := convert.ClientTools([]*sessionsv1.ClientTool{want})[0]
	wantAll(t, got)
	if got.GetName() != want.GetName() || got.GetDescription() != want.GetDescription() {
		t.Errorf("it is %v, want %v", got, want)
	}
}

func TestAWebhookIsItsCallers(t *testing.T) {
	want := sessionstest.Message[*sessionsv1.Webhook]()
	got := convert.WebhookFromProto(authn.With(t.Context(), authn.User("ann")), want)
	testwant.Equal(t, "Tenant", got.Tenant, authn.DefaultTenant)
	testwant.Equal(t, "CreatedBy", got.CreatedBy, "ann")
	testwant.Equal(t, "ID", got.ID, want.GetId())
	testwant.Equal(t, "PerTurn", got.PerTurn, want.GetPerTurn())
	testwant.Equal(t, "URL", got.URL, want.GetUrl())
	testwant.Equal(t, "Events", got.Events, want.GetEvents())
	testwant.Equal(t, "AgentID", got.AgentID, want.GetAgentId())
	testwant.Equal(t, "Description", got.Description, want.GetDescription())
	testwant.Equal(t, "Disabled", got.Disabled, want.GetDisabled())
}

func TestAScheduleIsConvertedWithAllThatItsOwnerSets(t *testing.T) {
	want := sessionstest.Message[*sessionsv1.Schedule]()
	got := convert.ScheduleFromProto(want)
	testwant.Equal(t, "DisplayName", got.DisplayName, want.GetDisplayName())
	testwant.Equal(t, "Description", got.Description, want.GetDescription())
	testwant.Equal(t, "AgentID", got.AgentID, want.GetAgentId())
	testwant.Equal(t, "SessionID", got.SessionID, want.GetSessionId())
	testwant.Equal(t, "Input", got.Input, want.GetInput())
	testwant.Equal(t, "Params", got.Params, want.GetParams())
	testwant.Equal(t, "Cron", got.Cron, want.GetCron())
	testwant.Equal(t, "TimeZone", got.TimeZone, want.GetTimeZone())
	testwant.Equal(t, "Interval", got.Interval, want.GetInterval())
	testwant.Equal(t, "string(got.Overlap)", string(got.Overlap), want.GetOverlap())
	testwant.Equal(t, "Paused", got.Paused, want.GetPaused())
}

func TestAnApprovalHasAStatusForEveryVerdict(t *testing.T) {
	seen := map[sessionsv1.ApprovalStatus]bool{}
	for i := range turnv1.Verdict(0).Descriptor().Values().Len() {
		verdict := turnv1.Verdict(turnv1.Verdict(0).Descriptor().Values().Get(i).Number())
		w := store.Wait{Verdict: verdict, Request: &store.WaitRequest{}, Answer: &store.WaitAnswer{}}
		status := convert.ApprovalToProto(w).GetStatus()
		if status == 0 || seen[status] || convert.VerdictOf(status) != verdict {
			t.Errorf("%v has the status %v, which is that of %v", verdict, status, convert.VerdictOf(status))
		}
		seen[status] = true
	}
}
