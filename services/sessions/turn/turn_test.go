package turn_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/idempotency"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/step"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
	"github.com/windlass-dev/windlass/workflows/contract"
)

func create(k *sessionstest.Kit, ses store.Session, mode turn.Mode) (turn.View, error) {
	return k.Turns.Create(k.Ctx(), turn.Create{SessionID: ses.ID, Text: "hello", Mode: mode})
}

func TestANewTurnIsActiveOrWaitsItsTurn(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	ses := k.Session()
	first, second := k.Turn(ses, "one"), k.Turn(ses, "two")
	if k.ReadSession(ses.ID).ActiveTurnID != first.ID || first.Place == store.Unplaced || second.Place != store.Unplaced {
		t.Errorf("the turns are %+v and %+v", first, second)
	}
	if got := k.ReadSession(ses.ID).Title; got != "one" {
		t.Errorf("the session is called %q", got)
	}
	if said := k.Bus.Said(contract.EagerRunSubject(first.Tenant)); len(said) != 1 || !strings.Contains(string(said[0]), first.ID) {
		t.Errorf("the workers were told %q", said)
	}
}

func TestWhatAModeDoesAboutAnActiveTurn(t *testing.T) {
	for _, row := range []struct {
		mode    turn.Mode
		begun   bool // a worker has taken the active turn
		reason  faultv1.Reason
		active  string // which turn is active afterwards
		same    bool   // the active turn took the input
		elsewhe bool   // the new turn has a session of its own
	}{
		{mode: "", active: "old"},
		{mode: "enqueue", active: "old"},
		{mode: turn.ModeReject, reason: faultv1.Reason_REASON_TURN_ACTIVE, active: "old"},
		{mode: turn.ModeInterrupt, active: "new"},
		{mode: turn.ModeInterrupt, begun: true, active: "old"},
		{mode: turn.ModeSteer, begun: true, active: "old", same: true},
		{mode: turn.ModeFork, begun: true, active: "old", elsewhe: true},
	} {
		t.Run(string(row.mode), func(t *testing.T) {
			k := sessionstest.New(t, sessionstest.Config{})
			ses := k.Session()
			old := k.Turn(ses, "first")
			if row.begun {
				k.Begin(old, &turnv1.Surface{})
			}
			v, err := create(k, ses, row.mode)
			k.WantFault(err, row.reason)
			active := k.ReadSession(ses.ID).ActiveTurnID
			if row.active == "old" && active != old.ID || row.active == "new" && active != v.ID {
				t.Errorf("turn %s is active, not the %s one", active, row.active)
			}
			if row.reason == 0 && ((v.ID == old.ID) != row.same || (v.SessionID != ses.ID) != row.elsewhe) {
				t.Errorf("the turn is %+v", v.Turn)
			}
			if cancelled := k.Read(old.ID).CancelRequested; cancelled != (row.mode == turn.ModeInterrupt) {
				t.Errorf("the active turn is to be cancelled: %t", cancelled)
			}
		})
	}
}

func TestASessionTakesOnlySoManyUnfinishedTurns(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{MaxQueued: 2})
	ses := k.Session()
	first := k.Turn(ses, "one")
	k.Turn(ses, "two")
	_, err := create(k, ses, "")
	k.WantFault(err, faultv1.Reason_REASON_RATE_LIMITED)
	k.Must(k.Turns.Cancel(k.Ctx(), first, ""))
	_, err = create(k, ses, "")
	k.Must(err)
}

func TestTheSameRequestMakesOneTurn(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	ses := k.Session()
	once, err := idempotency.Of(k.Ctx(), "create", "key", wrapperspb.String("hello"))
	k.Must(err)
	var all sync.WaitGroup
	made := make([]string, 6)
	for i := range made {
		all.Go(func() {
			v, err := k.Turns.Create(k.Ctx(), turn.Create{SessionID: ses.ID, Text: "hello", Once: once})
			if err != nil {
				t.Error(err)
			}
			made[i] = v.ID
		})
	}
	all.Wait()
	slices.Sort(made)
	turns, err := k.Turns.List(k.Ctx(), turn.Filter{SessionID: ses.ID, Page: store.Page{Limit: 10}})
	k.Must(err)
	if len(slices.Compact(made)) != 1 || len(turns) != 1 {
		t.Errorf("the requests made %q", made)
	}
}

func TestNothingOfATurnStandsIfAPartFails(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	ses := k.Session()
	for _, table := range []string{"turns", "turn_inputs", "turn_journal", "messages", "turn_outbox", "turn_idempotency"} {
		once, err := idempotency.Of(k.Ctx(), "create", "key", wrapperspb.String("hello"))
		k.Must(err)
		heal := k.FailWrites("INSERT", table)
		_, err = k.Turns.Create(k.Ctx(), turn.Create{SessionID: ses.ID, Text: "hello", Once: once})
		heal()
		if err == nil {
			t.Fatalf("a turn stands without its row in %s", table)
		}
		if now := k.ReadSession(ses.ID); now.LastSeq != 0 || now.ActiveTurnID != "" || now.ContextBytes != 0 {
			t.Errorf("without a row in %s the session is %+v", table, now)
		}
	}
	k.Turn(ses, "hello")
}

func TestAChatOpensASessionOrGoesOnWithIt(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	k.Agent(sessionstest.Assistant, agentspec.Spec{})
	k.Agent("other", agentspec.Spec{})
	v, err := k.Turns.Chat(k.Ctx(), turn.Chat{Message: "hello", AgentID: "other"})
	k.Must(err)
	if v.AgentID != "other" || v.Input.Input != "hello" || k.ReadSession(v.SessionID).Subject != sessionstest.Owner {
		t.Errorf("the turn is %+v", v)
	}
	next, err := k.Turns.Chat(k.Ctx(), turn.Chat{Message: "more", SessionID: v.SessionID, AgentID: "other"})
	k.Must(err)
	if next.SessionID != v.SessionID {
		t.Errorf("the turn is in session %s", next.SessionID)
	}
	for _, row := range []struct {
		name   string
		ctx    context.Context
		chat   turn.Chat
		reason faultv1.Reason
		fields []string
	}{
		{"nothing said", k.Ctx(), turn.Chat{Message: " "}, faultv1.Reason_REASON_INVALID_ARGUMENT, []string{"message"}},
		{
			"another agent", k.Ctx(),
			turn.Chat{Message: "x", SessionID: v.SessionID, AgentID: sessionstest.Assistant},
			faultv1.Reason_REASON_INVALID_ARGUMENT,
			[]string{"agent_id"},
		},
		{
			"params", k.Ctx(),
			turn.Chat{Message: "x", SessionID: v.SessionID, Params: &structpb.Struct{}},
			faultv1.Reason_REASON_INVALID_ARGUMENT,
			[]string{"params"},
		},
		{"no such agent", k.Ctx(), turn.Chat{Message: "x", AgentID: "none"}, faultv1.Reason_REASON_NOT_FOUND, nil},
		{"somebody else's session", k.As("eve"), turn.Chat{Message: "x", SessionID: v.SessionID}, faultv1.Reason_REASON_NOT_FOUND, nil},
	} {
		t.Log(row.name)
		_, err := k.Turns.Chat(row.ctx, row.chat)
		k.WantFault(err, row.reason, row.fields...)
	}
}

func TestATurnThatNoWorkerHasTakenEndsWithItsCancel(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	ses := k.Session()
	first, second := k.Turn(ses, "one"), k.Turn(ses, "two")
	k.Must(k.Turns.Cancel(k.Ctx(), second, "changed my mind")) // it waits
	if now := k.Read(second.ID); now.Status != turnv1.TurnStatus_TURN_STATUS_CANCELLED || now.Place != store.Unplaced {
		t.Errorf("the turn that waited is %+v", now)
	}
	k.Must(k.Turns.Cancel(k.Ctx(), first, ""))
	if now := k.Read(first.ID); now.Status != turnv1.TurnStatus_TURN_STATUS_CANCELLED || k.ReadSession(ses.ID).ActiveTurnID != "" {
		t.Errorf("the active turn is %+v", now)
	}
	k.WantFault(k.Turns.Cancel(k.Ctx(), first, ""), faultv1.Reason_REASON_TURN_ENDED)
	k.WantFault(k.Turns.Cancel(k.Ctx(), store.Turn{Tenant: first.Tenant, ID: "trn_none"}, ""), faultv1.Reason_REASON_NOT_FOUND)
}

func TestARunningTurnIsAskedToEndOnce(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	own := k.Begun("hello")
	for range 2 {
		k.Must(k.Turns.Cancel(k.Ctx(), own, "enough"))
	}
	now := k.Read(own.ID)
	if now.Ended() || !now.CancelRequested {
		t.Errorf("the turn is %+v", now)
	}
	if said := k.Bus.Said(contract.CancelSubject(own.Tenant, own.SessionID)); len(said) != 1 || string(said[0]) != own.ID {
		t.Errorf("the workers were told %q", said)
	}
}

func TestACancelThatCannotBeWrittenIsNone(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	own := k.Begun("hello")
	heal := k.FailWrites("INSERT", "turn_journal")
	err := k.Turns.Cancel(k.Ctx(), own, "enough")
	heal()
	if err == nil || k.Read(own.ID).CancelRequested {
		t.Errorf("got %v, and the turn is %+v", err, k.Read(own.ID))
	}
}

func TestUrgentTurnsGoFirstTheNewestBeforeTheOthers(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	ses := k.Session()
	first := k.Turn(ses, "one")
	k.Begin(first, &turnv1.Surface{})
	plain := k.Turn(ses, "two")
	old, err := create(k, ses, turn.ModeInterrupt)
	k.Must(err)
	young, err := create(k, ses, turn.ModeInterrupt)
	k.Must(err)
	last := first
	for _, want := range []string{young.ID, old.ID, plain.ID, ""} {
		out := k.Commit(last, "finish", func(c *step.Commit) {
			c.Ending = &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_CANCELLED, StopReason: "cancelled"}
		})
		if out.NextTurnID != want {
			t.Fatalf("behind %s comes %s, want %s", last.ID, out.NextTurnID, want)
		}
		if want != "" {
			last = k.Read(want)
			k.Begin(last, &turnv1.Surface{})
		}
	}
}

func TestTheEndOfATurnTellsWhatItDid(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	own := k.Begun("hello")
	k.Answer(own, "infer-1", "let me see", &turnv1.ToolCall{CallId: "c1", Tool: "calc__add", ArgumentsJson: "{}"},
		&turnv1.ToolCall{CallId: "c2", Tool: "calc__add"})
	for _, key := range []string{"tool-1.1", "tool-1.2"} {
		k.Commit(own, key, nil)
	}
	k.Answer(own, "infer-2", "it is 3")
	k.Clock.Advance(time.Second)
	k.Finish(own)
	end := k.Read(own.ID).End
	if end.GetOutput() != "it is 3" || !slices.Equal(end.GetToolsUsed(), []string{"calc__add"}) || end.GetStopReason() != turn.StopEnd {
		t.Errorf("the end is %v", end)
	}
	if u := end.GetUsage(); u.GetModelCalls() != 2 || u.GetToolCalls() != 2 || u.GetInputTokens() != 20 || u.GetOutputTokens() != 10 {
		t.Errorf("it used %v", u)
	}
}

func TestATurnWithoutAnAnswerHasNoOutput(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	ses := k.Session()
	first := k.Turn(ses, "one")
	k.Begin(first, &turnv1.Surface{})
	k.Answer(first, "infer-1", "an answer of another turn")
	k.Finish(first)
	second := k.Turn(ses, "two")
	k.Begin(second, &turnv1.Surface{})
	k.Finish(second)
	if got := k.Read(second.ID).End.GetOutput(); got != "" {
		t.Errorf("it says %q", got)
	}
}

func TestAListHasTheTurnsOfTheCaller(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	first := k.NewTurn("one")
	k.Clock.Advance(time.Second)
	second := k.NewTurn("two")
	k.Must(k.Turns.Cancel(k.Ctx(), first, ""))
	for _, row := range []struct {
		name   string
		ctx    context.Context
		filter turn.Filter
		want   []string
	}{
		{"all", k.Ctx(), turn.Filter{}, []string{second.ID, first.ID}},
		{"of an administrator", k.As("bill", "admin"), turn.Filter{}, []string{second.ID, first.ID}},
		{"of somebody else", k.As("eve"), turn.Filter{}, nil},
		{"of a session", k.Ctx(), turn.Filter{SessionID: first.SessionID}, []string{first.ID}},
		{"cancelled ones", k.Ctx(), turn.Filter{Status: turnv1.TurnStatus_TURN_STATUS_CANCELLED}, []string{first.ID}},
		{"queued ones", k.Ctx(), turn.Filter{Status: turnv1.TurnStatus_TURN_STATUS_QUEUED}, []string{second.ID}},
		{"the next page", k.Ctx(), turn.Filter{Page: store.Page{After: second.CreateTime, AfterID: second.ID}}, []string{first.ID}},
	} {
		row.filter.Limit = 10
		turns, err := k.Turns.List(row.ctx, row.filter)
		k.Must(err)
		var got []string
		for _, t := range turns {
			got = append(got, t.ID)
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
	_, err := k.Turns.List(k.As("eve"), turn.Filter{SessionID: first.SessionID, Page: store.Page{Limit: 10}})
	k.WantFault(err, faultv1.Reason_REASON_NOT_FOUND)
}

func TestAForkGoesOnFromItsSession(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	own := k.Begun("hello")
	k.Answer(own, "infer-1", "hi")
	k.Finish(own)
	v, err := create(k, store.Session{ID: own.SessionID}, turn.ModeFork)
	k.Must(err)
	ses := k.ReadSession(v.SessionID)
	if ses.ForkedFrom != own.SessionID || ses.ActiveTurnID != v.ID {
		t.Errorf("the session is %+v", ses)
	}
	made, err := k.Sessions.Create(k.Ctx(), session.Spec{AgentID: sessionstest.Assistant}, store.Once{})
	k.Must(err)
	_, err = k.Sessions.Delete(k.Ctx(), made.ID, false)
	k.Must(err)
	_, err = create(k, made, turn.ModeFork)
	k.WantFault(err, faultv1.Reason_REASON_NOT_FOUND)
}
