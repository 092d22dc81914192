package sessions_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/authn"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

func TestBadInputIsRefusedByName(t *testing.T) {
	k := newKit(t, options{})
	k.agent("one")
	k.agent("two")
	ses, err := k.sessions.CreateSession(t.Context(), &sessionsv1.CreateSessionRequest{AgentId: "one"})
	must(t, err)
	ctx := t.Context()
	turn := func(r *sessionsv1.CreateTurnRequest) error {
		if r.SessionId == "" {
			r.SessionId = ses.GetId()
		}
		_, err := k.turns.CreateTurn(ctx, r)
		return err
	}
	claim := func(s *turnv1.StepRef, ttl time.Duration) error {
		_, err := k.exec.ClaimStep(ctx, &executionv1.ClaimStepRequest{TurnId: "trn_x", Owner: "w", Step: s, Ttl: durationpb.New(ttl)})
		return err
	}
	agent := func(a *sessionsv1.Agent) error {
		_, err := k.agents.CreateAgent(ctx, &sessionsv1.CreateAgentRequest{Agent: a})
		return err
	}
	for _, row := range []struct {
		name   string
		call   func() error
		code   string
		fields []string
	}{
		{"turn without input", func() error { return turn(&sessionsv1.CreateTurnRequest{}) }, "invalid_argument", []string{"input"}},
		{
			"turn with input twice",
			func() error { return turn(&sessionsv1.CreateTurnRequest{Input: "a", Content: executiontest.Text("b")}) },
			"invalid_argument",
			[]string{"input"},
		},
		{"input of space", func() error { return turn(&sessionsv1.CreateTurnRequest{Input: " \n\t"}) }, "invalid_argument", []string{"input"}},
		{
			"content of space", func() error {
				return turn(&sessionsv1.CreateTurnRequest{Content: append(executiontest.Text(""), executiontest.Text(" ")...)})
			},
			"invalid_argument",
			[]string{"content"},
		},
		{"a chat of space", func() error {
			_, err := k.turns.Chat(t.Context(), &sessionsv1.ChatRequest{Message: " "})
			return err
		}, "invalid_argument", []string{"message"}},
		{
			"input over 1 MiB", func() error { return turn(&sessionsv1.CreateTurnRequest{Input: strings.Repeat("x", 1<<20+1)}) }, "too_large",
			[]string{"input"},
		},
		{
			"content over 1 MiB", func() error {
				return turn(&sessionsv1.CreateTurnRequest{Content: executiontest.Text(strings.Repeat("x", 1<<20))})
			},
			"too_large",
			[]string{"content"},
		},
		{
			"an empty part", func() error { return turn(&sessionsv1.CreateTurnRequest{Content: []*turnv1.ContentPart{{}}}) }, "invalid_argument",
			[]string{"content[0]"},
		},
		{
			"unknown mode", func() error { return turn(&sessionsv1.CreateTurnRequest{Input: "a", Mode: "steal"}) }, "invalid_argument",
			[]string{"mode"},
		},
		{"unknown session", func() error { return turn(&sessionsv1.CreateTurnRequest{SessionId: "ses_nope", Input: "a"}) }, "not_found", nil},
		{
			"session id that no database holds", func() error { return turn(&sessionsv1.CreateTurnRequest{SessionId: "s\x00", Input: "a"}) },
			"not_found", nil,
		},
		{"unknown turn", func() error {
			_, err := k.turns.GetTurn(ctx, &sessionsv1.GetTurnRequest{TurnId: "trn_nope"})
			return err
		}, "not_found", nil},
		{"cancel of an unknown turn", func() error {
			_, err := k.turns.CancelTurn(ctx, &sessionsv1.CancelTurnRequest{TurnId: "trn_nope"})
			return err
		}, "not_found", nil},
		{"session without agent among several", func() error {
			_, err := k.sessions.CreateSession(ctx,
				&sessionsv1.CreateSessionRequest{})
			return err
		}, "invalid_argument", []string{"agent_id"}},
		{"session with an unknown agent", func() error {
			_, err := k.sessions.CreateSession(ctx, &sessionsv1.CreateSessionRequest{AgentId: "nope"})
			return err
		}, "not_found", nil},
		{"chat with another agent than the session's", func() error {
			_, err := k.turns.Chat(ctx, &sessionsv1.ChatRequest{Message: "a", SessionId: ses.GetId(), AgentId: "two"})
			return err
		}, "invalid_argument", []string{"agent_id"}},
		{
			"chat without message", func() error { _, err := k.turns.Chat(ctx, &sessionsv1.ChatRequest{}); return err }, "invalid_argument",
			[]string{"message"},
		},
		{"garbage page token", func() error {
			_, err := k.sessions.ListSessions(ctx, &sessionsv1.ListSessionsRequest{PageToken: "zzz"})
			return err
		}, "invalid_page_token", []string{"page_token"}},
		{
			"negative page size", func() error { _, err := k.turns.ListTurns(ctx, &sessionsv1.ListTurnsRequest{PageSize: -1}); return err },
			"invalid_argument",
			[]string{"page_size"},
		},
		{"step without key", func() error { return claim(&turnv1.StepRef{Kind: 1}, time.Second) }, "invalid_argument", []string{"step.key"}},
		{"step without kind", func() error { return claim(&turnv1.StepRef{Key: "a"}, time.Second) }, "invalid_argument", []string{"step.kind"}},
		{"lease too short", func() error { return claim(ref("begin"), time.Millisecond) }, "invalid_argument", []string{"ttl"}},
		{"claim of an unknown turn", func() error { return claim(ref("begin"), time.Second) }, "not_found", nil},
		{"agent that exists", func() error { return agent(&sessionsv1.Agent{Id: "one"}) }, "already_exists", nil},
		{"agent id with capitals", func() error { return agent(&sessionsv1.Agent{Id: "One"}) }, "invalid_argument", []string{"agent.id"}},
		{
			"agent above the mesh's limit", func() error { return agent(&sessionsv1.Agent{Id: "x", Limits: &sessionsv1.Limits{MaxSteps: 500}}) },
			"invalid_argument",
			[]string{"agent.limits.max_steps"},
		},
		{
			"model without provider", func() error { return agent(&sessionsv1.Agent{Id: "x", Model: "gpt"}) }, "invalid_argument",
			[]string{"agent.model"},
		},
		{
			"broken glob", func() error { return agent(&sessionsv1.Agent{Id: "x", Tools: []string{"ok", "[a"}}) }, "invalid_argument",
			[]string{"agent.tools[1]"},
		},
	} {
		t.Run(row.name, func(t *testing.T) { wantFault(t, row.call(), row.code, row.fields...) })
	}
}

func TestIdempotencyKeys(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		k.agent("assistant")
		req := &sessionsv1.CreateTurnRequest{SessionId: k.session().GetId(), Input: "hello", IdempotencyKey: "key\x00 1"}
		var mu sync.Mutex
		turns := map[string]bool{}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				turn, err := k.turns.CreateTurn(t.Context(), req)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				turns[turn.GetId()] = true
				mu.Unlock()
			})
		}
		all.Wait()
		if len(turns) != 1 {
			t.Fatalf("one request made %d turns", len(turns))
		}
		_, err := k.turns.CreateTurn(t.Context(), &sessionsv1.CreateTurnRequest{
			SessionId: req.GetSessionId(), Input: "another",
			IdempotencyKey: "key\x00 1",
		})
		wantFault(t, err, "idempotency_conflict")
		other, err := k.as(authn.User("admin", "admin")).CreateTurn(t.Context(), req)
		must(t, err)
		if turns[other.GetId()] {
			t.Error("another caller's key gave the same turn")
		}
	})
}

func TestSessionsAreTheirOwners(t *testing.T) {
	k := newKit(t, options{})
	turn := k.newTurn("a secret")
	bob := k.as(authn.User("bob"))
	_, err := bob.GetTurn(t.Context(), &sessionsv1.GetTurnRequest{TurnId: turn.GetId()})
	wantFault(t, err, "not_found")
	_, err = bob.CreateTurn(t.Context(), &sessionsv1.CreateTurnRequest{SessionId: turn.GetSessionId(), Input: "x"})
	wantFault(t, err, "not_found")
	_, err = bob.CancelTurn(t.Context(), &sessionsv1.CancelTurnRequest{TurnId: turn.GetId()})
	wantFault(t, err, "not_found")
	list, err := bob.ListTurns(t.Context(), &sessionsv1.ListTurnsRequest{})
	must(t, err)
	if len(list.GetTurns()) != 0 {
		t.Errorf("bob sees %v", list)
	}
	for _, p := range []string{"admin", "worker"} {
		who := authn.User("root", "admin")
		if p == "worker" {
			who = authn.Service("worker")
		}
		list, err := k.as(who).ListTurns(t.Context(), &sessionsv1.ListTurnsRequest{})
		must(t, err)
		if len(list.GetTurns()) != 1 || list.GetTurns()[0].GetInput() != "a secret" {
			t.Errorf("%s sees %v", p, list)
		}
	}
}

func TestTitlesAndPages(t *testing.T) {
	k := newKit(t, options{})
	k.agent("assistant")
	for i := range 5 {
		k.turn(k.session().GetId(), fmt.Sprintf("question\n number %d %s", i, strings.Repeat("word ", 40)))
	}
	var titles []string
	req := &sessionsv1.ListSessionsRequest{PageSize: 2}
	for {
		got, err := k.sessions.ListSessions(t.Context(), req)
		must(t, err)
		for _, s := range got.GetSessions() {
			titles = append(titles, s.GetTitle())
		}
		if req.PageToken = got.GetNextPageToken(); req.GetPageToken() == "" {
			break
		}
	}
	if len(titles) != 5 || !strings.HasPrefix(titles[0], "question number 4 word word") || !strings.HasSuffix(titles[0], "…") {
		t.Errorf("titles %q", titles)
	}
	_, err := k.turns.ListTurns(t.Context(), &sessionsv1.ListTurnsRequest{Status: turnv1.TurnStatus_TURN_STATUS_QUEUED, PageSize: 5})
	must(t, err)
}
