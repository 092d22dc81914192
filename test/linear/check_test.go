package linear_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/test/linear"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// history is a history in the making: operations one after the other, or several at once.
type history struct {
	now int64
	ops []linear.Operation
}

// then adds operations that begin together, after all before have ended.
func (h *history) then(ops ...linear.Operation) *history {
	h.now += 10
	for i, op := range ops {
		op.Client, op.Call, op.Return = i, h.now, h.now+5
		if op.Out.Code == linear.Unknown {
			op.Return = 1 << 60
		}
		h.ops = append(h.ops, op)
	}
	return h
}

func op(in linear.Input, out linear.Output) linear.Operation {
	if out.Code == "" {
		out.Code = linear.OK
	}
	return linear.Operation{In: in, Out: out}
}

const ses = "ses_1"

// send is a new turn, whose id is "trn_" with its key.
func send(key, mode string) linear.Operation {
	return op(linear.Input{Kind: linear.Send, Session: ses, Key: key, Mode: mode, Text: key}, linear.Output{Turn: "trn_" + key})
}

func steer(key, turn string) linear.Operation {
	return op(linear.Input{Kind: linear.Steer, Session: ses, Key: key, Turn: "trn_" + turn, Text: key},
		linear.Output{Turn: "trn_" + turn, Message: "msg_" + key})
}

func cancel(turn string) linear.Operation {
	return op(linear.Input{Kind: linear.Cancel, Session: ses, Turn: "trn_" + turn}, linear.Output{})
}

func read(turn, status string) linear.Operation {
	return op(linear.Input{Kind: linear.ReadTurn, Session: ses, Turn: "trn_" + turn}, linear.Output{Status: status})
}

func reads(active string) linear.Operation {
	if active != "" {
		active = "trn_" + active
	}
	return op(linear.Input{Kind: linear.ReadSession, Session: ses}, linear.Output{Active: active})
}

// answered is an operation with another code for an answer.
func answered(o linear.Operation, code string) linear.Operation {
	o.Out = linear.Output{Code: code}
	return o
}

// final is what the session came to: "a=completed b=cancelled(s1,s2)", and the order in which turns started.
func final(turns, started string) linear.Operation {
	f := &linear.Outcome{}
	for one := range strings.FieldsSeq(turns) {
		key, status, _ := strings.Cut(one, "=")
		status, inputs, given := strings.Cut(strings.TrimSuffix(status, ")"), "(")
		t := linear.FinalTurn{ID: "trn_" + key, Key: strings.TrimRight(key, "'"), Status: status}
		if given {
			t.Steers = strings.Split(inputs, ",")
		}
		f.Turns = append(f.Turns, t)
	}
	for key := range strings.FieldsSeq(started) {
		f.Started = append(f.Started, "trn_"+key)
	}
	return op(linear.Input{Kind: linear.Final, Session: ses}, linear.Output{Final: f})
}

func decide(who, choice string) linear.Operation {
	return op(linear.Input{Kind: linear.Decide, Approval: "apr_1", Choice: choice, Subject: who}, linear.Output{})
}

func late(o linear.Operation) linear.Operation {
	o.In.Late = true
	return o
}

func resolve(choice string) linear.Operation {
	return op(linear.Input{Kind: linear.Resolve, Approval: "apr_1", Choice: choice}, linear.Output{})
}

func approval(status string) linear.Operation {
	return op(linear.Input{Kind: linear.ReadApproval, Approval: "apr_1"}, linear.Output{Status: status})
}

func start() *history { return &history{} }

// TestHistories: the model explains what the API allows and nothing else. Each refused row is a defect that a service could have.
func TestHistories(t *testing.T) {
	for _, row := range []struct {
		name string
		h    *history
		bad  string // the model that refuses it, "" for none
	}{
		{"turns one after the other", start().then(send("a", "")).then(read("a", "queued")).then(read("a", "running")).then(send("b", "enqueue")).
			then(read("b", "queued")).then(read("a", "completed")).then(read("b", "running")).then(final("a=completed b=completed", "a b")), ""},
		{
			"a turn ends twice", start().then(send("a", "")).then(read("a", "completed")).then(read("a", "failed")).then(final("a=completed", "a")),
			"session",
		},
		{"a turn leaves its end", start().then(send("a", "")).then(read("a", "completed")).then(read("a", "running")).then(final("a=completed",
			"a")), "session"},
		{"a turn goes back to the queue", start().then(send("a", "")).then(read("a", "running")).then(read("a",
			"queued")).then(final("a=completed", "a")), "session"},
		{"a lost turn", start().then(send("a", "")).then(send("b", "")).then(final("a=completed", "a")), "session"},
		{"a turn that nobody sent", start().then(send("a", "")).then(final("a=completed b=completed", "a b")), "session"},
		{"two turns for one key", start().then(send("a", "")).then(final("a=completed a'=completed", "a a'")), "session"},
		{"the same turn for the same request", start().then(answered(send("a", ""), linear.Unknown), send("a", "")).then(send("a", "")).
			then(final("a=completed", "a")), ""},
		{"another turn for the same request", start().then(send("a", "")).then(op(send("a", "").In, linear.Output{Turn: "trn_other"})).
			then(final("a=completed", "a")), "key"},
		{"a used key with another body", start().then(send("a", "")).then(answered(send("a", "reject"),
			"idempotency_conflict")).then(final("a=completed", "a")), ""},
		{"a fresh key refused as used", start().then(answered(send("a", ""), "idempotency_conflict")), "key"},
		{
			"a used key accepted with another body", start().then(send("a", "")).then(send("a", "interrupt")).then(final("a=completed", "a")),
			"key",
		},
		{"an order that real time forbids", start().then(send("a", "")).then(send("b", "")).then(send("c", "")).
			then(final("a=completed b=completed c=completed", "a c b")), "session"},
		{"an order that nothing forbids", start().then(send("a", "")).then(send("b", ""), send("c", "")).
			then(final("a=completed c=completed b=completed", "a c b")), ""},
		{"a turn that runs beside another", start().then(send("a", "")).then(send("b", "")).then(read("b", "running")).then(read("a", "running")).
			then(final("a=completed b=completed", "a b")), "session"},
		{"refused while a turn is active", start().then(send("a", "")).then(answered(send("b", "reject"),
			"turn_active")).then(final("a=completed", "a")), ""},
		{"refused while none is active", start().then(send("a", "")).then(read("a", "completed")).then(answered(send("b", "reject"),
			"turn_active")).
			then(final("a=completed", "a")), "session"},
		{"accepted while another is active", start().then(send("a", "")).then(send("b", "reject")).then(read("a", "running")).
			then(final("a=completed b=completed", "a b")), "session"},
		{"more turns than may wait", start().then(send("a", "")).then(send("b", "")).then(send("c", "")).then(send("d", "")).then(read("a",
			"running")).
			then(final("a=completed b=completed c=completed d=completed", "a b c d")), "session"},
		{
			"refused though few wait", start().then(send("a", "")).then(answered(send("b", ""), "rate_limited")).then(final("a=completed", "a")),
			"session",
		},
		{"an interrupt goes first", start().then(send("a", "")).then(send("b", "")).then(send("c", "interrupt")).
			then(final("a=cancelled b=completed c=completed", "a c b")), ""},
		{"an interrupt that waits its turn", start().then(send("a", "")).then(send("b", "")).then(send("c", "interrupt")).then(reads("a")).
			then(final("a=cancelled b=completed c=completed", "a b c")), "session"},
		{"an interrupted turn that completes", start().then(send("a", "")).then(send("c", "interrupt")).then(reads("a")).
			then(final("a=completed c=completed", "a c")), "session"},
		{"a cancel ends it as cancelled", start().then(send("a", "")).then(cancel("a")).then(cancel("a"), read("a", "running")).
			then(final("a=cancelled", "a")), ""},
		{"a cancel between a worker and the start", start().then(send("a", "")).then(read("a", "running")).then(cancel("a")).
			then(final("a=cancelled", "")), ""},
		{"completed without a start", start().then(send("a", "")).then(final("a=completed", "")), "session"},
		{"started though it was cancelled while it waited", start().then(send("a", "")).then(send("b", "")).then(cancel("b")).then(reads("a")).
			then(final("a=completed b=cancelled", "a b")), "session"},
		{"a cancel that is forgotten", start().then(send("a", "")).then(cancel("a")).then(final("a=completed", "a")), "session"},
		{"cancelled without a cancel", start().then(send("a", "")).then(final("a=cancelled", "a")), "session"},
		{"cancelled by a cancel without an answer", start().then(send("a", "")).then(answered(cancel("a"),
			linear.Unknown)).then(final("a=cancelled", "a")), ""},
		{"a cancel accepted after the end", start().then(send("a", "")).then(read("a", "completed")).then(cancel("a")).then(final("a=completed",
			"a")), "session"},
		{"a cancel refused before the end", start().then(send("a", "")).then(answered(cancel("a"), "turn_ended")).then(read("a", "running")).
			then(final("a=completed", "a")), "session"},
		{"input for a turn that runs", start().then(send("a", "")).then(steer("s", "a")).then(answered(steer("u", "a"), linear.Unknown)).
			then(final("a=completed(s,u)", "a")), ""},
		{"lost input", start().then(send("a", "")).then(steer("s", "a")).then(final("a=completed", "a")), "session"},
		{"input taken twice", start().then(send("a", "")).then(steer("s", "a")).then(final("a=completed(s,s)", "a")), "session"},
		{"input taken after the end", start().then(send("a", "")).then(read("a", "completed")).then(steer("s", "a")).then(final("a=completed(s)",
			"a")), "session"},
		{
			"input taken after a cancel", start().then(send("a", "")).then(cancel("a")).then(steer("s", "a")).then(final("a=cancelled(s)", "a")),
			"session",
		},
		{"input for a turn that waits", start().then(send("a", "")).then(send("b", "")).then(answered(steer("s", "b"), "failed_precondition")).
			then(final("a=completed b=completed", "a b")), ""},
		{"input taken by a turn that waits", start().then(send("a", "")).then(send("b", "")).then(steer("s", "b")).then(read("a", "running")).
			then(final("a=completed b=completed(s)", "a b")), "session"},
		{"mode steer while a turn is active", start().then(send("a", "")).then(op(send("s", "steer").In, linear.Output{Turn: "trn_a"})).
			then(final("a=completed(s)", "a")), ""},
		{"mode steer while none is", start().then(send("a", "")).then(read("a", "completed")).then(send("b", "steer")).
			then(final("a=completed b=completed", "a b")), ""},
		{"mode steer past the active turn", start().then(send("a", "")).then(send("b", "steer")).then(read("a", "running")).
			then(final("a=completed b=completed", "a b")), "session"},
		{"the active turn of a session", start().then(reads("")).then(send("a", "")).then(reads("a")).then(reads("")).then(final("a=completed",
			"a")), ""},
		{"an idle session with a turn that runs", start().then(send("a", "")).then(reads("")).then(read("a", "running")).
			then(final("a=completed", "a")), "session"},

		{"the first decision stands", start().then(approval("pending")).then(decide("ann", "approve"),
			answered(decide("bob", "deny"), "approval_resolved")).
			then(decide("ann", "approve")).then(answered(decide("ann", "deny"), "approval_resolved")).then(approval("approved")), ""},
		{"two winners", start().then(decide("ann", "approve"), decide("bob", "deny")).then(approval("approved")), "approval"},
		{"two winners of one mind", start().then(decide("ann", "approve"), decide("bob", "approve")).then(approval("approved")), "approval"},
		{"no winner", start().then(answered(decide("ann", "approve"), "approval_resolved"), answered(decide("bob", "deny"), "approval_resolved")).
			then(approval("approved")), "approval"},
		{"a decision that is taken back", start().then(decide("ann", "deny")).then(approval("denied")).then(approval("approved")), "approval"},
		{"a decision without an answer", start().then(answered(decide("ann", "approve"),
			linear.Unknown)).then(approval("pending")).then(approval("approved")), ""},
		{"a decision after its time", start().then(late(decide("ann", "approve"))).then(approval("approved")), "approval"},
		{"a decision refused after its time", start().then(late(answered(decide("ann", "approve"),
			"approval_resolved"))).then(approval("expired")), ""},
		{"expired before its time", start().then(op(approval("expired").In, linear.Output{Status: "expired", Early: true})), "approval"},
		{"an outcome told twice alike", start().then(resolve("done"), resolve("done")).then(approval("answered")), ""},
		{"an outcome refused though it was told alike", start().then(resolve("give_up")).then(answered(resolve("give_up"), "approval_resolved")).
			then(approval("given_up")), "approval"},
		{"a call that was lost again", start().then(resolve("not_done")).then(answered(resolve("not_done"), "approval_resolved")).
			then(approval("not_done")), ""},
		{"an outcome told in two ways", start().then(resolve("done"), resolve("not_done")).then(approval("answered")), "approval"},
	} {
		t.Run(row.name, func(t *testing.T) {
			report, err := linear.Check(row.h.ops, linear.Options{MaxQueued: 3, Timeout: 10 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, v := range report.Violations {
				found = found || v.Model == row.bad
				if row.bad == "" || v.Result != porcupine.Illegal {
					t.Error(v)
				}
			}
			if row.bad != "" && !found {
				t.Errorf("not refused by the model of a %s: %v", row.bad, report.Violations)
			}
		})
	}
}

// TestLostAnswersCostLittle: what a session came to tells which of the calls without an answer had an effect, so that the checker
// need not try.
func TestLostAnswersCostLittle(t *testing.T) {
	for _, tt := range []struct {
		name, end string
		bad       int
	}{
		{"three had an effect", "a=completed(s3,s7,s20)", 0},
		{"an input that nobody sent", "a=completed(s3,x)", 1},
		{"cancelled, and read as running after it", "a=cancelled", 0},
		{"a turn that nobody asked for", "a=completed b=completed", 1},
	} {
		h := start().then(send("a", ""))
		for i := range 40 {
			key := fmt.Sprint("s", i)
			h.then(answered(steer(key, "a"), linear.Unknown), answered(cancel("a"), linear.Unknown), answered(send("n"+key, ""), linear.Unknown),
				read("a", "running"))
		}
		report, err := linear.Check(h.then(final(tt.end, "a")).ops, linear.Options{MaxQueued: 3, Timeout: time.Minute})
		if err != nil || len(report.Violations) != tt.bad {
			t.Errorf("%s: %v, %v", tt.name, report.Violations, err)
		}
	}
}

// TestRepeatsCostLittle: requests that clients sent again because the answers were lost are checked as one.
func TestRepeatsCostLittle(t *testing.T) {
	for _, tt := range []struct {
		name  string
		early bool // an answer to d came before the turn whose end it needs was seen to run
		bad   int
	}{
		{"in an order that is possible", false, 0},
		{"one was answered before it could be", true, 1},
	} {
		h := start().then(send("a", ""))
		lost := func(o linear.Operation) linear.Operation { return answered(o, linear.Unknown) }
		for _, key := range []string{"b", "c", "d", "e", "f"} {
			for range 5 {
				h.then(lost(send(key, "enqueue")), lost(steer("s"+key, "a")))
			}
		}
		if tt.early {
			h.then(steer("x", "d"))
		}
		h.then(read("a", "running"), send("c", "enqueue"), steer("sd", "a"))
		report, err := linear.Check(h.then(final("a=completed(sd,sb) c=completed b=completed d=completed", "a c b d")).ops,
			linear.Options{MaxQueued: 9, Timeout: time.Minute})
		if err != nil || len(report.Violations) != tt.bad {
			t.Errorf("%s: %v, %v", tt.name, report.Violations, err)
		}
	}
}

// TestAViolationIsShown: who reads of a violation can look at it.
func TestAViolationIsShown(t *testing.T) {
	dir := t.TempDir()
	report, err := linear.Check(start().then(send("a", "")).then(final("", "")).ops,
		linear.Options{MaxQueued: 3, Timeout: time.Second, Dir: dir})
	if err != nil || len(report.Violations) != 1 {
		t.Fatalf("%v %v", report, err)
	}
	if v := report.Violations[0]; !strings.HasPrefix(v.Page, dir) || len(v.Left) == 0 || v.Partition != ses {
		t.Errorf("%+v", v)
	}
}
