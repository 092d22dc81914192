package sessions_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/testpoll"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// of is the kit as somebody of another tenant sees it.
func (k *kit) of(tenant string) *kit {
	p := &policyv1.Principal{Tenant: tenant, Subject: "local", Kind: policyv1.PrincipalKind_PRINCIPAL_KIND_USER}
	out := *k
	out.conn = rpctest.ServeAs(k.t, "sessions", k.svc.Register, rpctest.WithPrincipal(p))
	out.agents, out.sessions = sessionsv1.NewAgentServiceClient(out.conn), sessionsv1.NewSessionServiceClient(out.conn)
	out.turns, out.exec = sessionsv1.NewTurnServiceClient(out.conn), executionv1.NewExecutionServiceClient(out.conn)
	return &out
}

// boss makes an agent that may call the agent "helper", which it makes too.
func (k *kit) boss(id string) {
	k.t.Helper()
	_, _ = k.agents.CreateAgent(k.t.Context(), &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{Id: "helper"}}) // it may be there
	_, err := k.agents.CreateAgent(k.t.Context(), &sessionsv1.CreateAgentRequest{
		Agent: &sessionsv1.Agent{Id: id, Agents: []string{"helper"}, Limits: &sessionsv1.Limits{MaxChildren: 200}},
	})
	must(k.t, err)
}

// begins opens a session with an agent and begins its first turn.
func (k *kit) begins(agent string) *worker {
	k.t.Helper()
	ses, err := k.sessions.CreateSession(k.t.Context(), &sessionsv1.CreateSessionRequest{AgentId: agent})
	must(k.t, err)
	w := k.worker(k.turn(ses.GetId(), "begin"))
	w.begin()
	return w
}

// helpers begins agents in the background.
func (w *worker) helpers(n int) []string {
	w.t.Helper()
	var out []string
	for i := range n {
		step := stepkey.Tool(1, i)
		made, err := w.exec.CreateChild(context.Background(), &executionv1.CreateChildRequest{
			TurnId: w.turn.GetId(), Step: step, Fence: w.lease(step).GetFence(), CallId: step, AgentId: "helper", Input: "help", Background: true,
		})
		must(w.t, err)
		out = append(out, made.GetTurnId())
	}
	return out
}

// stopAll ends turns.
func (k *kit) stopAll(turns []string) {
	k.t.Helper()
	for _, id := range turns {
		k.worker(&sessionsv1.Turn{Id: id}).finish(completed, "end")
	}
}

// undelivered are the results that a session's journal says it did not take.
func (k *kit) undelivered(session string) []*turnv1.ChildCompleted {
	k.t.Helper()
	var out []*turnv1.ChildCompleted
	for _, e := range k.events(session, "child.completed") {
		if c := e.GetChildCompleted(); c.GetBackground() && c.GetUndelivered() != "" {
			out = append(out, c)
		}
	}
	return out
}

// TestResultsThatNobodyTakesHoldUpNoOthers has 60 results that their sessions do not take: their agent now demands a param, or
// too many turns wait. Results that come after them are delivered, to the same tenant and to others.
func TestResultsThatNobodyTakesHoldUpNoOthers(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres, cfg: sessions.Config{SweepInterval: 50 * time.Millisecond, MaxQueuedTurns: 2}})
		k.boss("strict")
		k.boss("lead")
		fill := func(k *kit, w *worker) { k.turn(w.turn.GetSessionId(), "the second and last turn that may wait") }
		refusing, full := k.begins("strict"), k.begins("lead")
		refused, waiting := refusing.helpers(30), full.helpers(30)
		fill(k, full)
		_, err := k.agents.UpdateAgent(t.Context(), &sessionsv1.UpdateAgentRequest{Agent: &sessionsv1.Agent{
			Id: "strict", Instructions: "Serve ${params.team}.", ParamsSchema: params(t, map[string]any{
				"type": "object", "required": []any{"team"}, "properties": map[string]any{"team": map[string]any{"type": "string"}},
			}),
		}})
		must(t, err)
		k.stopAll(refused)
		k.stopAll(waiting)
		told := k.undelivered(refusing.turn.GetSessionId())
		if len(told) != 30 || told[0].GetOutput() == "" || told[0].GetOfferedUntil() == nil || told[0].GetAgentId() != "helper" {
			t.Errorf("the journal tells of %d results that were refused: %v", len(told), told)
		}
		type family struct {
			*kit
			parent *worker
		}
		var healthy []family
		for i, f := range []*kit{k, k.of("red"), k.of("blue")} {
			if i > 0 {
				f.boss("lead")
			}
			w := f.begins("lead")
			helper := w.helpers(1)
			fill(f, w)
			f.stopAll(helper) // the session is full when its helper ends
			healthy = append(healthy, family{f, w})
		}
		for _, f := range healthy {
			f.parent.finish(completed, "end")
		}
		for _, f := range healthy {
			f.awaitAnswer(f.parent.turn.GetSessionId(), 1)
		}
		if got := k.undelivered(full.turn.GetSessionId()); len(got) != 0 {
			t.Errorf("results that wait for room are told as refused: %v", got)
		}
		full.finish(completed, "end") // room for one
		k.awaitAnswer(full.turn.GetSessionId(), 1)
		if got := k.undelivered(refusing.turn.GetSessionId()); len(got) != 30 {
			t.Errorf("the refusals are told again: %d", len(got))
		}
	})
}

// awaitAnswer waits until a session was given so many results of agents in the background.
func (k *kit) awaitAnswer(session string, want int) {
	k.t.Helper()
	testpoll.Until(k.t, fmt.Sprintf("session %s was given %d results", session, want), func() bool {
		list, err := k.sessions.ListMessages(k.t.Context(), &sessionsv1.ListMessagesRequest{SessionId: session})
		must(k.t, err)
		got := 0
		for _, m := range list.GetMessages() {
			if m.GetFromAgent() != "" {
				got++
			}
		}
		return got == want
	})
}

// TestAResultWhoseAgentWasDeleted stands in the journal of the session that asked for it, and is given to it when there is an agent again.
func TestAResultWhoseAgentWasDeleted(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres, cfg: sessions.Config{SweepInterval: 50 * time.Millisecond}})
		k.boss("boss")
		w := k.begins("boss")
		session := w.turn.GetSessionId()
		made := w.helpers(1)[0]
		w.finish(completed, "end")
		_, err := k.agents.DeleteAgent(t.Context(), &sessionsv1.DeleteAgentRequest{AgentId: "boss"})
		must(t, err)
		k.end(k.read(made), completed, "helped")
		got := k.undelivered(session)
		if len(got) != 1 || got[0].GetTurnId() != made || !strings.HasPrefix(got[0].GetUndelivered(), `agent "boss" was deleted`) ||
			!strings.HasSuffix(got[0].GetOutput(), "\n\nhelped") {
			t.Fatalf("the journal tells %v", got)
		}
		k.boss("boss")
		k.awaitAnswer(session, 1)
	})
}

// TestAResultIsGivenUp once it was offered for long enough, with a last word in the journal and one line in the log.
func TestAResultIsGivenUp(t *testing.T) {
	log := &lines{}
	k := newKit(t, options{log: log, cfg: sessions.Config{
		SweepInterval: 20 * time.Millisecond, MaxQueuedTurns: 2,
		OfferResults: time.Millisecond,
	}})
	k.boss("boss")
	w := k.begins("boss")
	session := w.turn.GetSessionId()
	made := w.helpers(1)
	k.turn(session, "the second and last turn that may wait")
	k.stopAll(made)
	log.await(t, "result was given up")
	got := k.undelivered(session)
	if len(got) != 1 || !strings.HasPrefix(got[0].GetUndelivered(), "the session has 2 unfinished turns") || got[0].GetOfferedUntil() != nil {
		t.Errorf("the journal tells %v", got)
	}
	w.finish(completed, "end")
	if n := log.count("result was given up"); n != 1 {
		t.Errorf("%d lines in the log", n)
	}
}

// lines is a log that can be waited for.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), text)
}

func (l *lines) await(t *testing.T, text string) {
	t.Helper()
	testpoll.Until(t, "the log has "+text, func() bool { return l.count(text) > 0 })
}
