package sessions_test

import (
	"strings"
	"testing"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

func TestWhatAnExecutorMustBe(t *testing.T) {
	k := newKit(t, options{})
	type executor = sessionsv1.Executor
	for name, row := range map[string]struct {
		agent *sessionsv1.Agent
		wrong []string
	}{
		"built-in": {agent: &sessionsv1.Agent{Executor: &executor{Kind: "builtin"}}},
		"a program": {agent: &sessionsv1.Agent{Executor: &executor{
			Kind: "process", Command: []string{"x"},
			Env: map[string]string{"A_KEY": "${env:WINDLASS_EXECUTOR_A}"},
		}}},
		"http": {agent: &sessionsv1.Agent{Executor: &executor{Kind: "http", Url: "https://agents.example.com/run?x=1"}}},
		"grpc": {agent: &sessionsv1.Agent{
			Executor: &executor{Kind: "grpc", Url: "grpcs://agents.example.com:443"},
			Strategy: turnv1.Strategy_STRATEGY_REACT,
		}},
		"built-in with command": {
			agent: &sessionsv1.Agent{Executor: &executor{Kind: "builtin", Command: []string{"x"}}},
			wrong: []string{"command"},
		},
		"no program": {
			agent: &sessionsv1.Agent{Executor: &executor{Kind: "process", Command: []string{" "}}},
			wrong: []string{"command"},
		},
		"a relative folder": {
			agent: &sessionsv1.Agent{Executor: &executor{Kind: "process", Command: []string{"x"}, Dir: "x"}},
			wrong: []string{"dir"},
		},
		"a scheme that is none": {agent: &sessionsv1.Agent{Executor: &executor{Kind: "http", Url: "grpc://x:1"}}, wrong: []string{"url"}},
		"a path for grpc":       {agent: &sessionsv1.Agent{Executor: &executor{Kind: "grpc", Url: "grpc://x:1/y"}}, wrong: []string{"url"}},
		"a password":            {agent: &sessionsv1.Agent{Executor: &executor{Kind: "http", Url: "http://a:b@x/"}}, wrong: []string{"url"}},
		"a variable's odd name": {agent: &sessionsv1.Agent{Executor: &executor{
			Kind: "process", Command: []string{"x"},
			Env: map[string]string{"A=B": "c"},
		}}, wrong: []string{"env.A=B"}},
		"secrets in the clear": {agent: &sessionsv1.Agent{Executor: &executor{
			Kind: "http", Url: "http://x/",
			Headers: map[string]string{"X-Api-Key": "abc"},
		}}, wrong: []string{"headers.X-Api-Key"}},
		"a strategy of its own": {agent: &sessionsv1.Agent{
			Executor: &executor{Kind: "http", Url: "http://x/"},
			Strategy: turnv1.Strategy_STRATEGY_PLAN,
		}, wrong: []string{"../strategy"}},
		"two mistakes at a time": {
			agent: &sessionsv1.Agent{Executor: &executor{Kind: "http", Command: []string{"x"}}},
			wrong: []string{"command", "url"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			row.agent.Id = "agent-" + strings.NewReplacer(" ", "-", "'", "").Replace(name)
			_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: row.agent})
			if len(row.wrong) == 0 {
				must(t, err)
				return
			}
			var fields []string
			for _, f := range row.wrong {
				fields = append(fields, strings.ReplaceAll("agent.executor."+f, "executor.../", ""))
			}
			wantFault(t, err, "invalid_argument", fields...)
		})
	}
}

func TestTheExecutorsSessionIsKeptForTheNextTurn(t *testing.T) {
	k := newKit(t, options{})
	x := &sessionsv1.Executor{Kind: "process", Command: []string{"agent.py"}}
	_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{Id: "assistant", Executor: x}})
	must(t, err)
	turn := k.turn(k.session().GetId(), "hello")
	w := k.worker(turn)
	w.begin()
	known := func() string {
		t.Helper()
		got, err := k.asWorker().LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: turn.GetId()})
		must(t, err)
		return got.GetExecutorSessionId()
	}
	if id := known(); id != "" {
		t.Errorf("before it was told: %q", id)
	}
	l := w.lease("infer-1")
	attach := func(id string, fence uint32) error {
		_, err := k.exec.AppendEvents(t.Context(), &executionv1.AppendEventsRequest{
			TurnId: turn.GetId(), Step: "infer-1", Fence: fence, Events: []*turnv1.Event{{Data: &turnv1.Event_ExecutorAttached{
				ExecutorAttached: &turnv1.ExecutorAttached{Kind: "process", ExecutorSessionId: id, ExecutorHash: contract.ExecutorHash(x)},
			}}},
		})
		return err
	}
	wantFault(t, attach("x", l.GetFence()+1), "lease_lost")
	wantFault(t, attach("", l.GetFence()), "invalid_argument", "events")
	if id := known(); id != "" {
		t.Errorf("after refused events: %q", id)
	}
	must(t, attach("mine", l.GetFence()))
	if id := known(); id != "mine" {
		t.Errorf("after it was told: %q", id)
	}
	_, err = k.agents.UpdateAgent(t.Context(), &sessionsv1.UpdateAgentRequest{Agent: &sessionsv1.Agent{
		Id: "assistant", Executor: &sessionsv1.Executor{Kind: "process", Command: []string{"another.py"}},
	}})
	must(t, err)
	if id := known(); id != "mine" {
		t.Errorf("the running turn keeps its executor, but has %q", id)
	}
	w.answer("infer-1", l, &turnv1.Message{}, 0)
	w.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")
	turn = k.turn(turn.GetSessionId(), "again")
	if id := known(); id != "" {
		t.Errorf("another program was given %q", id)
	}
}
