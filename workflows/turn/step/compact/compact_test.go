package compact_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// earlier are n turns of a user who says much; each takes about 2 × 110 tokens.
func earlier(n int) []*turnv1.Message {
	var out []*turnv1.Message
	add := func(turn, id string, role turnv1.Role, text string) {
		out = append(out, &turnv1.Message{
			Id: id, SessionId: in.SessionID, TurnId: turn, Role: role, Content: executiontest.Text(text),
		})
	}
	for i := range n {
		turn := fmt.Sprintf("trn_old%d", i)
		add(turn, fmt.Sprintf("msg_q%d", i), turnv1.Role_ROLE_USER, fmt.Sprintf("question %d ", i)+strings.Repeat("word ", 100))
		add(turn, fmt.Sprintf("msg_a%d", i), turnv1.Role_ROLE_ASSISTANT, fmt.Sprintf("answer %d ", i)+strings.Repeat("word ", 100))
	}
	return out
}

// summarising is a model that writes summaries, and else is another one. It refuses a conversation that has more than so many characters.
func summarising(usual turntest.Generate, most int) turntest.Generate {
	return func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		if strings.Contains(req.GetInstructions(), contract.MarkCompact) {
			return turntest.Say("what was said")(req, stream)
		}
		size := 0
		for _, m := range req.GetMessages() {
			size += len(steptest.Text(m)) + len(m.GetToolResult().String())
		}
		if most > 0 && size > most {
			return fault.FailedPrecondition(faultv1.Reason_REASON_CONTEXT_TOO_LONG, "the conversation is too long")
		}
		return usual(req, stream)
	}
}

// shownTo writes what a model call read: whose message, and how it begins.
func shownTo(req *inferencev1.GenerateRequest) string {
	var out []string
	for _, m := range req.GetMessages() {
		first := strings.Fields(steptest.Text(m) + " result")
		out = append(out, strings.Join(first[:min(2, len(first))], " "))
	}
	return strings.Join(out, "|")
}

func compactions(w *steptest.World) []*turnv1.ContextCompacted {
	var out []*turnv1.ContextCompacted
	for _, e := range w.Journal.Events(in.TurnID) {
		if c := e.GetContextCompacted(); c != nil {
			out = append(out, c)
		}
	}
	return out
}

// both runs a test on a turn that is walked step by step, and on one that runs ahead.
func both(t *testing.T, agent *sessionsv1.Agent, test func(t *testing.T, w *steptest.World, run func() []*turnv1.StepOutcome)) {
	for name, ahead := range map[string]bool{"walked": false, "ahead": true} {
		t.Run(name, func(t *testing.T) {
			w := steptest.New(t, &sessionsv1.Agent{
				Tools: agent.GetTools(), Strategy: agent.GetStrategy(), MaxContextTokens: agent.GetMaxContextTokens(), Limits: agent.GetLimits(),
			}, turntest.Tool("x__echo"))
			test(t, w, func() []*turnv1.StepOutcome {
				if !ahead {
					return w.Walk()
				}
				out, err := w.Runner.Advance(t.Context(), in, nil)
				if err != nil {
					t.Fatal(err)
				}
				return out
			})
		})
	}
}

func TestALongConversationIsCompactedFirst(t *testing.T) {
	both(t, &sessionsv1.Agent{MaxContextTokens: 2000}, func(t *testing.T, w *steptest.World, run func() []*turnv1.StepOutcome) {
		w.Journal.Recall(in.TurnID, earlier(10)...)
		w.Model(summarising(turntest.Say("hi"), 0))
		run()
		asked := w.Asked()
		if len(asked) != 2 || asked[0].GetStep() != "compact-1" || asked[0].GetMaxOutputTokens() == 0 || len(asked[0].GetTools()) > 0 {
			t.Fatalf("asked %v", asked)
		}
		if s := steptest.Text(asked[0].GetMessages()[0]); !strings.HasPrefix(s, contract.CompactPrefix+"17\n") ||
			!strings.Contains(s, "### assistant\nanswer 7") {
			t.Errorf("the model was asked to sum up %s", s)
		}
		if got := shownTo(asked[1]); got != "Summary of|answer 8|question 9|answer 9|hello result" {
			t.Errorf("the model read %s", got)
		}
		c := compactions(w)
		if len(c) != 1 || c[0].GetToMessageId() != "msg_q8" || c[0].GetMessages() != 17 || c[0].GetSummary() != "what was said" ||
			c[0].GetDropped() ||
			c[0].GetTokensAfter() >= c[0].GetTokensBefore() || len(c[0].GetKeptMessageIds()) != 0 {
			t.Errorf("compacted %v", c)
		}
	})
}

func TestAShortConversationPaysNothing(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{MaxContextTokens: 4000})
	w.Journal.Recall(in.TurnID, earlier(2)...)
	var keys []string
	for _, o := range w.Walk() {
		keys = append(keys, o.GetKey())
	}
	if got := strings.Join(keys, " "); got != "begin infer-1 finish" {
		t.Errorf("steps %s", got)
	}
}

func TestATurnIsCompactedWhileItRuns(t *testing.T) {
	both(t, &sessionsv1.Agent{MaxContextTokens: 2000, Tools: []string{"*"}}, func(
		t *testing.T, w *steptest.World, run func() []*turnv1.StepOutcome,
	) {
		w.Tool(func(_ *registryv1.CallToolRequest, stream grpc.ServerStreamingServer[registryv1.CallToolResponse]) error {
			return turntest.Complete(stream, &registryv1.Completed{Result: &turnv1.ToolResult{
				Content: executiontest.Text(strings.Repeat("word ", 300)),
			}})
		})
		calls := 0
		w.Model(summarising(func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
			whole(t, req.GetMessages())
			if calls++; calls > 8 {
				return turntest.Say("done")(req, stream)
			}
			size := 0
			for _, m := range req.GetMessages() {
				size += (len(steptest.Text(m)) + len(m.GetToolResult().String())) / 5
			}
			return turntest.End(stream, &inferencev1.Finished{
				FinishReason: "tool_calls", Usage: &turnv1.Usage{InputTokens: int32(size), OutputTokens: 9},
				ToolCalls: []*turnv1.ToolCall{{CallId: fmt.Sprintf("c%d", calls), Tool: "x__echo", ArgumentsJson: fmt.Sprintf(`{"n":%d}`, calls)}},
			})
		}, 2000*5))
		run()
		c := compactions(w)
		if len(c) < 2 || len(c) > 4 {
			t.Fatalf("%d compactions", len(c))
		}
		for i := range c {
			if !slices.Contains(c[i].GetKeptMessageIds(), "msg_in_"+in.TurnID) {
				t.Errorf("compaction %d keeps %v", i, c[i].GetKeptMessageIds())
			}
		}
		if ending := w.Journal.Ending(in.TurnID); ending.GetStopReason() != engine.StopEnd {
			t.Errorf("ended with %v", ending)
		}
		last := w.Asked()[len(w.Asked())-1]
		if got := shownTo(last); !strings.HasPrefix(got, "Summary of|hello result|") {
			t.Errorf("the model read %s", got)
		}
	})
}

// whole checks that each call has its result behind it, and each result its call before.
func whole(t *testing.T, messages []*turnv1.Message) {
	open := map[string]bool{}
	for _, m := range messages {
		if r := m.GetToolResult(); r != nil {
			if !open[r.GetCallId()] {
				t.Errorf("result %s without its call", r.GetCallId())
			}
			delete(open, r.GetCallId())
			continue
		}
		if len(open) > 0 {
			t.Errorf("calls without results: %v", open)
		}
		for _, c := range m.GetToolCalls() {
			open[c.GetCallId()] = true
		}
	}
}

func TestAPlanSurvivesItsCompaction(t *testing.T) {
	both(t, &sessionsv1.Agent{
		MaxContextTokens: 2600, Strategy: turnv1.Strategy_STRATEGY_PLAN, Tools: []string{"*"},
	}, func(t *testing.T, w *steptest.World, run func() []*turnv1.StepOutcome) {
		w.Journal.Recall(in.TurnID, earlier(10)...)
		w.Model(summarising(func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
			used := &turnv1.Usage{InputTokens: 2500}
			if strings.Contains(req.GetInstructions(), contract.MarkPlan) {
				return turntest.End(stream, &inferencev1.Finished{
					FinishReason: "stop", Text: `{"steps":[{"title":"one","goal":"find one"},{"title":"two","goal":"find two"}]}`, Usage: used,
				})
			}
			last := steptest.Text(req.GetMessages()[len(req.GetMessages())-1])
			if strings.Contains(req.GetInstructions(), contract.MarkPlanAnswer) {
				return turntest.End(stream, &inferencev1.Finished{FinishReason: "stop", Text: "answer to " + last, Usage: used})
			}
			_, goal, _ := strings.Cut(last, contract.GoalPrefix)
			return turntest.End(stream, &inferencev1.Finished{FinishReason: "stop", Text: "did " + goal, Usage: used})
		}, 0))
		run()
		messages := w.Journal.Messages(in.TurnID)
		answer := steptest.Text(messages[len(messages)-1])
		if !strings.Contains(answer, "did find one") || !strings.Contains(answer, "did find two") || len(compactions(w)) == 0 {
			t.Errorf("after %d compactions: %s", len(compactions(w)), answer)
		}
	})
}

// A worker that dies in mid-compaction leaves nothing; the next one compacts, once.
func TestACompactionIsTakenOver(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{MaxContextTokens: 2000})
	w.Journal.Recall(in.TurnID, earlier(10)...)
	w.Model(summarising(turntest.Say("hi"), 0))
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_COMPACT)
	w.Journal.Seize(in.TurnID, ref.GetKey(), "worker-0", 20*time.Millisecond)
	w.Do(ref)
	w.Do(ref)
	if n := len(compactions(w)); n != 1 || w.Journal.Commits(in.TurnID)["compact-1"] != 1 {
		t.Errorf("%d compactions", n)
	}
}

// A conversation of long words looks longer than it is, as it is kept. It is looked at before anything is done about it.
func TestAConversationThatOnlyLooksLong(t *testing.T) {
	both(t, &sessionsv1.Agent{MaxContextTokens: 2000}, func(t *testing.T, w *steptest.World, run func() []*turnv1.StepOutcome) {
		old := earlier(5)
		w.Journal.Recall(in.TurnID, old...)
		var keys []string
		all := run()
		for _, o := range all {
			keys = append(keys, o.GetKey())
		}
		if got := strings.Join(keys, " "); got != "begin infer-1 finish" {
			t.Errorf("steps %s", got)
		}
		if s := all[0].GetSurface(); s.GetContextWindow() != 2000 || s.GetContextTokens() != 1100 || all[0].GetContextTokens() > 1100 {
			t.Errorf("begun with %v", all[0])
		}
	})
}

// A run that has read the conversation with the turn counts what it has.
func TestTheConversationIsReadWithTheTurn(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{MaxContextTokens: 2000})
	w.Journal.Recall(in.TurnID, earlier(5)...)
	w.Fail("GetContext", slices.Repeat([]error{fault.NotFound("it was read")}, 10)...)
	all, err := w.Runner.Advance(t.Context(), in, nil)
	if err != nil || len(all) != 3 {
		t.Errorf("%d steps, %v", len(all), err)
	}
}
