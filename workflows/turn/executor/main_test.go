package executor_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/testmain"
	executorv1 "github.com/windlass-dev/windlass/proto/gen/windlass/executor/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
	"github.com/windlass-dev/windlass/workflows/turn/executor"
)

// TestMain makes this program an executor where a test asks for one.
func TestMain(m *testing.M) {
	if mode := os.Getenv("CHILD"); mode != "" {
		child(mode)
		return
	}
	testmain.Verify(m)
}

// hang blocks until the process is killed.
func hang() {
	never := make(chan os.Signal, 1)
	signal.Notify(never, syscall.SIGUSR1)
	<-never
}

func say(lines ...string) {
	for _, line := range lines {
		fmt.Println(line)
	}
}

// child is an executor. Its first line of input is an invocation.
func child(mode string) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 8<<20)
	in.Scan()
	var inv struct {
		Mode              string `json:"mode"`
		Attempt           int    `json:"attempt"`
		ExecutorSessionID string `json:"executor_session_id"`
		Input             []struct{ Text string }
		ToolResults       []struct{ ID, Text string } `json:"tool_results"`
	}
	if err := json.Unmarshal(in.Bytes(), &inv); err != nil {
		panic(err)
	}
	if f := os.Getenv("STARTS"); f != "" {
		w, err := os.OpenFile(f, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(w, inv.Mode, inv.Attempt, inv.ExecutorSessionID)
		w.Close()
	}
	switch mode {
	case "echo":
		say(`{"type":"session","executor_session_id":"mine"}`, `{"type":"reasoning.delta","text":"hm"}`, `{"type":"text.delta","text":"you "}`)
		say(fmt.Sprintf(`{"type":"text.delta","text":%q}`, "said "+inv.Input[0].Text), `{"type":"never heard of","x":1}`)
		say(`{"type":"usage","input_tokens":7,"output_tokens":3}`, `{"type":"usage","input_tokens":1,"model_calls":2,"cost_micros":1500.2}`,
			`{"type":"usage","cost_micros":-7}`, `{"type":"end","model":"x/y"}`)
	case "plain": // neither id nor end
		say(`{"type":"answer","text":"plain"}`)
	case "calls":
		if len(inv.ToolResults) == 0 {
			say(`{"type":"tool_call","id":"a","name":"t__x","arguments":{"n":12345678901234567890}}`, `{"type":"tool_call","name":"t__y"}`,
				`{"type":"end"}`)
			return
		}
		say(fmt.Sprintf(`{"type":"answer","text":"got %s"}`, inv.ToolResults[0].Text), `{"type":"end"}`)
	case "stays":
		say(`{"type":"tool_call","id":"a","name":"t__x"}`, `{"type":"end","stay":true}`)
		text := ""
		for in.Scan() {
			var line struct{ Type, Text string }
			if err := json.Unmarshal(in.Bytes(), &line); err != nil {
				panic(err)
			}
			text += line.Type + ":" + line.Text + " "
			if line.Type == "continue" {
				break
			}
		}
		say(fmt.Sprintf(`{"type":"answer","text":%q}`, strings.TrimSpace(text)), `{"type":"end"}`)
	case "leaves": // says that it stays, and goes
		if len(inv.ToolResults) == 0 {
			say(`{"type":"tool_call","id":"a","name":"t__x"}`, `{"type":"end","stay":true}`)
			return
		}
		say(`{"type":"answer","text":"a new one"}`)
	case "amnesiac":
		if inv.Mode == "resume" {
			say(`{"type":"error","code":"session_not_found"}`)
			return
		}
		say(`{"type":"session","executor_session_id":"new"}`, `{"type":"answer","text":"started again"}`)
	case "hangs":
		signal.Ignore(syscall.SIGTERM)
		say(`{"type":"text.delta","text":"so far"}`)
		in.Scan()
		hang()
	case "spends", "spends in time":
		say(`{"type":"text.delta","text":"so far"}`, `{"type":"usage","input_tokens":7,"output_tokens":3,"cost_micros":500}`,
			`{"type":"tool_call","name":"t__x"}`)
		if mode == "spends in time" {
			say(`{"type":"end"}`)
			return
		}
		signal.Ignore(syscall.SIGTERM)
		hang()
	case "tells its key":
		say(fmt.Sprintf(`{"type":"error","code":"401","message":%q}`, "the key "+os.Getenv("KEY")+" is not valid"))
	case "spends and fails":
		say(`{"type":"text.delta","text":"so far"}`, `{"type":"usage","cost_micros":500}`,
			`{"type":"error","message":"the model is busy","retryable":true}`)
	case "spends beyond counting":
		say(`{"type":"text.delta","text":"so far"}`, `{"type":"usage","input_tokens":2147483647}`,
			`{"type":"usage","input_tokens":2147483647,"cost_micros":500}`, `{"type":"end"}`)
	case "crash":
		fmt.Fprintln(os.Stderr, "Traceback: no such model, key is", os.Getenv("KEY"))
		os.Exit(3)
	case "say":
		fmt.Print(os.Getenv("SAY"))
	}
}

func newHost(t *testing.T, change ...func(*executor.Config)) *executor.Host {
	t.Helper()
	return newHostWith(t, executor.Deps{}, change...)
}

// newHostWith completes deps.
func newHostWith(t *testing.T, deps executor.Deps, change ...func(*executor.Config)) *executor.Host {
	t.Helper()
	cfg := config.Default[executor.Config]()
	cfg.Commands, cfg.Limits.Memory = []string{"*"}, 0 // the race detector of the programs maps terabytes
	cfg.Grace = 5 * time.Second
	for _, f := range change {
		f(&cfg)
	}
	out, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		t.Fatal(err)
	}
	deps.Egress, deps.Log = out, slog.New(slog.DiscardHandler)
	h, err := executor.New(cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close(); out.CloseIdle() })
	return h
}

// program is an executor that this program is, in a mode.
func program(mode string, env ...string) *sessionsv1.Executor {
	x := &sessionsv1.Executor{
		Kind: "process", Command: []string{os.Args[0]},
		Env: map[string]string{"CHILD": mode, "GORACE": "atexit_sleep_ms=0"},
	}
	for i := 0; i+1 < len(env); i += 2 {
		x.Env[env[i]] = env[i+1]
	}
	return x
}

// round is the first one of a turn.
func round(x *sessionsv1.Executor) executor.Round {
	return executor.Round{Executor: x, Invocation: &executorv1.Invocation{
		Schema: executor.Schema, Mode: executorv1.Mode_MODE_START, InvocationId: "trn_1/infer-1", Attempt: 1, SessionId: "ses_1", TurnId: "trn_1",
		Agent: &executorv1.AgentSpec{Id: "a"}, Input: []*turnv1.Message{{Role: turnv1.Role_ROLE_USER, Content: executiontest.Text("hello")}},
	}}
}

// after is the round that brings results of the calls of an answer.
func after(r executor.Round, a *executor.Answer) executor.Round {
	r.Invocation.InvocationId, r.Invocation.Input, r.Asked = "trn_1/infer-2", nil, a.Calls
	for _, c := range a.Calls {
		r.Invocation.ToolResults = append(r.Invocation.ToolResults,
			&turnv1.ToolResult{CallId: c.GetCallId(), Tool: c.GetTool(), Content: executiontest.Text("42")})
	}
	return r
}

// heard is what a sink got.
type heard struct {
	used            *turnv1.Usage
	text, reasoning string
	calls           []string
	sessions        []string
	piece           chan string // gets each piece of text, nil = nobody wants it
}

func (h *heard) sink() executor.Sink {
	return executor.Sink{
		Used:     func(sum *turnv1.Usage) { h.used = sum },
		Attached: func(_ context.Context, id string) error { h.sessions = append(h.sessions, id); return nil },
		Text: func(s string) {
			h.text += s
			if h.piece != nil {
				h.piece <- s
			}
		},
		Reasoning: func(s string) { h.reasoning += s },
		Call: func(_ int, c *turnv1.ToolCall) {
			h.calls = append(h.calls, c.GetCallId()+" "+c.GetTool()+" "+c.GetArgumentsJson())
		},
	}
}
