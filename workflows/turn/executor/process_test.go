package executor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/placeholder"
	"github.com/windlass-dev/windlass/libs/testwant"
	executorv1 "github.com/windlass-dev/windlass/proto/gen/windlass/executor/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/workflows/turn/executor"
)

func TestARoundOfAProgram(t *testing.T) {
	h, got := newHost(t), &heard{}
	a, err := h.Run(t.Context(), round(program("echo")), got.sink())
	if err != nil {
		t.Fatal(err)
	}
	testwant.Equal(t, "answer: Text", a.Text, "you said hello")
	testwant.Equal(t, "answer: text", got.text, a.Text)
	testwant.Equal(t, "answer: Reasoning", a.Reasoning, "hm")
	testwant.Equal(t, "answer: reasoning", got.reasoning, "hm")
	testwant.Equal(t, "answer: FinishReason", a.FinishReason, "stop")
	testwant.Equal(t, "answer: Model", a.Model, "x/y")
	u := a.Usage
	testwant.Equal(t, "usage: InputTokens", u.GetInputTokens(), 8)
	testwant.Equal(t, "usage: OutputTokens", u.GetOutputTokens(), 3)
	testwant.Equal(t, "usage: ModelCalls", u.GetModelCalls(), 2)
	testwant.Equal(t, "usage: CostMicros", u.GetCostMicros(), 1501)
	testwant.Equal(t, "usage: used.String", got.used.String(), u.String())
	if !slices.Equal(got.sessions, []string{"mine"}) {
		t.Errorf("sessions = %v", got.sessions)
	}
}

func TestOneAnswerLineIsEnough(t *testing.T) {
	got := &heard{}
	if a, err := newHost(t).Run(t.Context(), round(program("plain")), got.sink()); err != nil || a.Text != "plain" || got.text != "plain" {
		t.Errorf("got %v, %v; heard %q", a, err, got.text)
	}
}

// TestAnEndSaysThatTheRoundIsWhole is the difference between an empty answer and none.
func TestAnEndSaysThatTheRoundIsWhole(t *testing.T) {
	for _, say := range []string{`{"type":"end"}` + "\n", `{"type":"answer","text":""}` + "\n"} {
		if a, err := newHost(t).Run(t.Context(), round(program("say", "SAY", say)), (&heard{}).sink()); err != nil || a.Text != "" ||
			a.FinishReason != "stop" {
			t.Errorf("%s: %v, %v", say, a, err)
		}
	}
	if a, err := newHost(t).Run(t.Context(), round(program("say", "SAY", "")), (&heard{}).sink()); fault.CodeOf(err) != "executor_failed" {
		t.Errorf("nothing at all: %v, %v", a, err)
	}
}

// TestARoundUpToItsBound is an answer as large as is kept.
func TestARoundUpToItsBound(t *testing.T) {
	file := filepath.Join(t.TempDir(), "say")
	line := `{"type":"text.delta","text":"` + strings.Repeat("x", 1<<19) + `"}` + "\n"
	if err := os.WriteFile(file, []byte(strings.Repeat(line, 16)), 0o600); err != nil {
		t.Fatal(err)
	}
	x := &sessionsv1.Executor{Kind: "process", Command: []string{"cat", file}}
	if a, err := newHost(t).Run(t.Context(), round(x), (&heard{}).sink()); err != nil || len(a.Text) != 8<<20 {
		t.Errorf("%v", err)
	}
}

func TestCallsAndTheirResults(t *testing.T) {
	for _, row := range []struct{ mode, answer string }{
		{"calls", "got 42"},                   // a new program for the next round
		{"stays", "tool_result:42 continue:"}, // the same one goes on
		{"leaves", "a new one"},               // it said that it stays
	} {
		t.Run(row.mode, func(t *testing.T) {
			starts := filepath.Join(t.TempDir(), "starts")
			h, r, got := newHost(t), round(program(row.mode, "STARTS", starts)), &heard{}
			a, err := h.Run(t.Context(), r, got.sink())
			if err != nil || a.FinishReason != "tool_calls" || len(a.Calls) == 0 {
				t.Fatalf("got %+v, %v", a, err)
			}
			if row.mode == "calls" && !slices.Equal(got.calls, []string{`a t__x {"n":12345678901234567890}`, "call_1_1 t__y {}"}) {
				t.Errorf("calls = %q", got.calls)
			}
			a, err = h.Run(t.Context(), after(r, a), got.sink())
			if err != nil || a.Text != row.answer {
				t.Fatalf("got %+v, %v", a, err)
			}
			raw, err := os.ReadFile(starts)
			if want := map[bool]int{true: 1, false: 2}[row.mode == "stays"]; err != nil || strings.Count(string(raw), "\n") != want {
				t.Errorf("started %q, %v", raw, err)
			}
		})
	}
}

func TestAnExecutorThatForgotBeginsAnew(t *testing.T) {
	r, got := round(program("amnesiac")), &heard{}
	r.Invocation.Mode, r.Invocation.ExecutorSessionId = executorv1.Mode_MODE_RESUME, "old"
	if a, err := newHost(t).Run(t.Context(), r, got.sink()); err != nil || a.Text != "started again" ||
		!slices.Equal(got.sessions, []string{"new"}) {
		t.Errorf("got %+v, %v; sessions %v", a, err, got.sessions)
	}
}

func TestACancelEndsTheProgram(t *testing.T) {
	h := newHost(t, func(c *executor.Config) { c.Grace = 100 * time.Millisecond })
	cause := errors.New("cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	got := &heard{piece: make(chan string, 1)}
	go func() { <-got.piece; cancel(cause) }()
	if a, err := h.Run(ctx, round(program("hangs")), got.sink()); !errors.Is(err, cause) || got.text != "so far" {
		t.Errorf("got %v, %v", a, err)
	}
}

func TestAProgramThatTakesTooLong(t *testing.T) {
	h := newHost(t, func(c *executor.Config) { c.Grace = 100 * time.Millisecond })
	x := program("hangs")
	x.TimeoutSeconds = 1
	if _, err := h.Run(t.Context(), round(x), (&heard{}).sink()); fault.CodeOf(err) != "executor_unavailable" || !fault.Retryable(err) {
		t.Errorf("got %v", err)
	}
}

func TestProgramsThatDoNotDoTheirPart(t *testing.T) {
	t.Setenv("WINDLASS_EXECUTOR_KEY", "very-secret-key")
	long := strings.Repeat("x", 2<<20)
	for name, row := range map[string]struct {
		say, code, want string
	}{
		"no JSON":     {"Loading model…\n", "executor_failed", "Loading model"},
		"no object":   {"[1]\n", "executor_failed", "one JSON object a line"},
		"no type":     {"{}\n", "executor_failed", "without"},
		"broken JSON": {"{\"type\":\n", "executor_failed", "not understood"},
		"wrong type":  {`{"type":"end","stay":"yes"}` + "\n", "executor_failed", "stay has the wrong type"},
		"nothing":     {"", "executor_failed", "without an answer"},
		"half a line": {`{"type":"answer","text":"x"`, "executor_failed", "without an answer"},
		"another schema": {
			`{"type":"session","schema":"windlass.executor/v9","executor_session_id":"x"}` + "\n", "executor_failed",
			"windlass.executor/v9",
		},
		"a long line": {`{"type":"answer","text":"` + long + `"}` + "\n", "executor_failed", "longer than"},
		"an answer too large to be kept": {
			strings.Repeat(`{"type":"text.delta","text":"`+long[:1<<19]+`"}`+"\n", 17) + `{"type":"end"}` + "\n",
			"executor_failed", "answer has",
		},
		"calls too large to be kept": {
			strings.Repeat(`{"type":"tool_call","name":"x","arguments":{"a":"`+long[:1<<19]+`"}}`+"\n", 17) + `{"type":"end"}` + "\n",
			"executor_failed", "answer has",
		},
		"an id twice":         {strings.Repeat(`{"type":"tool_call","id":"a","name":"x"}`+"\n", 2), "executor_failed", "twice"},
		"our id":              {`{"type":"tool_call","id":"call_1_1","name":"x"}` + "\n", "executor_failed", "not usable"},
		"a call without name": {`{"type":"tool_call","id":"a"}` + "\n", "executor_failed", "no name"},
		"arguments as a list": {`{"type":"tool_call","name":"x","arguments":[1]}` + "\n", "executor_failed", "must be an object"},
		"a long session id":   {`{"type":"session","executor_session_id":"` + long[:513] + `"}` + "\n", "executor_failed", "512"},
		"an odd reason":       {`{"type":"end","finish_reason":"tired"}` + "\n", "executor_failed", "tired"},
		"an error":            {`{"type":"error","code":"quota","message":"no credit"}` + "\n", "executor_failed", "quota: no credit"},
		"a passing error": {
			`{"type":"error","code":"busy","message":"later","retryable":true}` + "\n", "executor_unavailable",
			"busy: later",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := hear(t, row.say); fault.CodeOf(err) != row.code || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	_, err := newHost(t).Run(t.Context(), round(program("crash", "KEY", "${env:WINDLASS_EXECUTOR_KEY}")), (&heard{}).sink())
	if fault.CodeOf(err) != "executor_unavailable" || !strings.Contains(err.Error(), "exit status 3") ||
		!strings.Contains(err.Error(), "no such model, key is ***") {
		t.Errorf("a crash: %v", err)
	}
}

// hear runs a round with a program that says something and ends, and returns the round's error.
func hear(t *testing.T, say string) error {
	t.Helper()
	x := program("say", "SAY", say)
	if len(say) > 100_000 { // more than a variable holds
		file := filepath.Join(t.TempDir(), "say")
		if err := os.WriteFile(file, []byte(say), 0o600); err != nil {
			t.Fatal(err)
		}
		x.Command, x.Env = []string{"cat", file}, nil
	}
	_, err := newHost(t).Run(t.Context(), round(x), (&heard{}).sink())
	return err
}

func TestS21WhatMayRun(t *testing.T) {
	t.Setenv("OTHER", "x")
	for name, row := range map[string]struct {
		change func(*executor.Config)
		env    string
		want   string
	}{
		"no programs":         {change: func(c *executor.Config) { c.Process = false }, want: "do not run on this worker"},
		"not this one":        {change: func(c *executor.Config) { c.Commands = []string{"/opt/agents/*"} }, want: "is not among the programs"},
		"none, as by default": {change: func(c *executor.Config) { c.Commands = nil }, want: "worker.executors.commands"},
		"this one":            {change: func(c *executor.Config) { c.Commands = []string{"/opt/agents/*", os.Args[0]} }},
		"another variable":    {env: "${env:OTHER}", want: "OTHER may not be used"},
		"a missing one":       {env: "${env:WINDLASS_EXECUTOR_NOPE}", want: "has no variable"},
		"nothing to refuse":   {env: "plain"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, func(c *executor.Config) {
				if row.change != nil {
					row.change(c)
				}
			})
			_, err := h.Run(t.Context(), round(program("plain", "X", row.env)), (&heard{}).sink())
			if row.want == "" && err != nil || row.want != "" &&
				(err == nil || fault.Retryable(err) || !strings.Contains(fault.From(err).Text()+err.Error(), row.want)) {
				t.Errorf("got %v", err)
			}
		})
	}
	x := program("plain")
	x.Command = []string{"no-such-program-here"}
	if _, err := newHost(t).Run(t.Context(), round(x), (&heard{}).sink()); fault.CodeOf(err) != "executor_failed" {
		t.Errorf("a program that is not there: %v", err)
	}
}

func TestThoseThatWaitMakeRoom(t *testing.T) {
	h := newHost(t, func(c *executor.Config) { c.MaxProcesses = 1; c.Grace = 50 * time.Millisecond })
	r := round(program("stays"))
	first, err := h.Run(t.Context(), r, (&heard{}).sink())
	if err != nil {
		t.Fatal(err)
	}
	other := round(program("plain"))
	other.Invocation.TurnId = "trn_2"
	if a, err := h.Run(t.Context(), other, (&heard{}).sink()); err != nil || a.Text != "plain" {
		t.Fatalf("got %v, %v", a, err)
	}
	next, err := h.Run(t.Context(), after(r, first), (&heard{}).sink()) // the one that waited is gone: a new one asks again
	if err != nil || len(next.Calls) != 1 {
		t.Errorf("got %+v, %v", next, err)
	}
	h.Forget("trn_1")
}

func TestOneThatWaitsIsEndedInTime(t *testing.T) {
	starts := filepath.Join(t.TempDir(), "starts")
	h := newHost(t, func(c *executor.Config) {
		c.IdleTimeout = time.Millisecond
		c.Grace = time.Millisecond
		c.MaxProcesses = 1
	})
	r := round(program("stays", "STARTS", starts))
	if _, err := h.Run(t.Context(), r, (&heard{}).sink()); err != nil {
		t.Fatal(err)
	}
	other := round(program("plain")) // gets the only place once the other one is ended
	other.Invocation.TurnId = "trn_2"
	if _, err := h.Run(t.Context(), other, (&heard{}).sink()); err != nil {
		t.Fatal(err)
	}
}

// TestSealedTexts: a worker puts in what it knows and what is referred to, once, and reads the values for nothing again.
func TestSealedTexts(t *testing.T) {
	t.Setenv("WINDLASS_EXECUTOR_KEY", "top secret $${worker_env.X}")
	later := func(r placeholder.Ref) (string, *placeholder.Error) {
		if r.Namespace != "runner" {
			return "", placeholder.Wrong(r, "is not known")
		}
		return "here", nil
	}
	sealed := func(say string) executor.Round {
		r := round(program("say", "SAY", `{"type":"answer","text":"`+say+`"}`+"\n"))
		r.Later = later
		return r
	}
	a, err := newHost(t).Run(t.Context(), sealed("${runner.host} $${env:WINDLASS_EXECUTOR_KEY} $$5 ${worker_env.WINDLASS_EXECUTOR_KEY}"),
		(&heard{}).sink())
	if err != nil || a.Text != "here ${env:WINDLASS_EXECUTOR_KEY} $5 top secret $${worker_env.X}" {
		t.Errorf("%+v, %v", a, err)
	}
	for name, say := range map[string]string{"unknown": "${moon.x}", "not sealed": "$5", "another variable": "${worker_env.HOME}"} {
		if _, err := newHost(t).Run(t.Context(), sealed(say), (&heard{}).sink()); err == nil ||
			!strings.Contains(fmt.Sprint(fault.As(err).Fields), "executor.env.SAY") {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := sealed("")
	r.Executor.Env, r.Executor.Command = nil, []string{"sh", "${worker_env.WINDLASS_EXECUTOR_KEY}"}
	if _, err := newHost(t).Run(t.Context(), r, (&heard{}).sink()); err == nil ||
		!strings.Contains(fmt.Sprint(fault.As(err).Fields), "executor.command[1]") {
		t.Errorf("a reference in an argument: %v", err)
	}
	r.Executor.Command, r.Executor.Dir = []string{"sh"}, "${runner.os}/x"
	if _, err := newHost(t).Run(t.Context(), r, (&heard{}).sink()); err == nil ||
		!strings.Contains(fmt.Sprint(fault.As(err).Fields), "executor.dir") {
		t.Errorf("a folder that is not absolute: %v", err)
	}
}

// TestAnErrorHoldsNoSecrets: what an executor says of its failure is kept, without what it was given as a secret.
func TestAnErrorHoldsNoSecrets(t *testing.T) {
	t.Setenv("WINDLASS_EXECUTOR_KEY", "very-secret-key")
	_, err := newHost(t).Run(t.Context(), round(program("tells its key", "KEY", "${env:WINDLASS_EXECUTOR_KEY}")), (&heard{}).sink())
	if f := fault.As(err); f == nil || strings.Contains(err.Error(), "very-secret-key") || !strings.Contains(f.Message, "is not valid") {
		t.Errorf("%v", err)
	}
}
