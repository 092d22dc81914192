package approval_test

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"

	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/approval"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

func TestAnAnswerMustFitItsQuestion(t *testing.T) {
	const schema = `{"type":"object","required":["city"],"properties":{"city":{"type":"string"}}}`
	city := sessionstest.Object(map[string]any{"city": "Bonn"})
	for _, row := range []struct {
		name   string
		req    *store.WaitRequest
		answer approval.Answer
		field  string
		want   turnv1.Verdict
	}{
		{name: "it fits", req: forAnswer(schema), answer: approval.Answer{Content: city}, want: answered},
		{name: "accept", req: forAnswer(schema), answer: approval.Answer{Action: "accept", Content: city}, want: answered},
		{name: "declined", req: forAnswer(schema), answer: approval.Answer{Action: "decline"}, want: declined},
		{name: "cancelled", req: forAnswer(schema), answer: approval.Answer{Action: "cancel"}, want: declined},
		{
			name: "something is missing", req: forAnswer(schema), answer: approval.Answer{Content: sessionstest.Object(map[string]any{})},
			field: "content/city",
		},
		{
			name: "a field is of another type", req: forAnswer(schema),
			answer: approval.Answer{Content: sessionstest.Object(map[string]any{"city": 1})}, field: "content/city",
		},
		{name: "no schema takes anything", req: forAnswer(""), answer: approval.Answer{}, want: answered},
		{
			name: "a schema that cannot be used takes anything", req: forAnswer(`{"type":7}`), answer: approval.Answer{Content: city},
			want: answered,
		},
		{name: "declined with an answer", req: forAnswer(schema), answer: approval.Answer{Action: "decline", Content: city}, field: "action"},
		{name: "a result", req: forAnswer(schema), answer: approval.Answer{Result: "Bonn"}, field: "result"},
		{name: "too large", req: forAnswer(""), answer: approval.Answer{Bytes: 1<<10 + 1}, field: "content"},
		{name: "the result of a client", req: forResult(), answer: approval.Answer{Result: "42"}, want: answered},
		{name: "a failure of a client", req: forResult(), answer: approval.Answer{Result: "no", IsError: true}, want: answered},
		{name: "a client that declines", req: forResult(), answer: approval.Answer{Action: "decline"}, want: declined},
		{
			name: "a client that declines with a result", req: forResult(), answer: approval.Answer{Action: "decline", IsError: true},
			field: "action",
		},
		{name: "content of a client", req: forResult(), answer: approval.Answer{Content: city}, field: "content"},
		{name: "a result that is not UTF-8", req: forResult(), answer: approval.Answer{Result: "\xff"}, field: "result"},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := newKit(t)
			w := asked(k, row.req)
			row.answer.ID = w.ID
			_, err := k.Approvals.Answer(k.Ctx(), row.answer)
			if row.field == "" {
				k.Must(err)
				want(k, w.ID, row.want, 1)
				return
			}
			reason := faultv1.Reason_REASON_INVALID_ARGUMENT
			if row.name == "too large" {
				reason = faultv1.Reason_REASON_TOO_LARGE
			}
			k.WantFault(err, reason, row.field)
			want(k, w.ID, 0, 0)
		})
	}
}

func TestOnlyThoseWhoMayUseTheSessionAnswer(t *testing.T) {
	k := newKit(t)
	req := forAnswer("")
	req.ApproverRoles = []string{"finance"} // they see it, but have no part in the session
	w := asked(k, req)
	_, err := k.Approvals.Answer(k.As("fay", "finance"), approval.Answer{ID: w.ID})
	k.WantFault(err, faultv1.Reason_REASON_PERMISSION_DENIED)
	_, err = k.Approvals.Answer(k.As("eve"), approval.Answer{ID: w.ID})
	k.WantFault(err, faultv1.Reason_REASON_NOT_FOUND)
	want(k, w.ID, 0, 0)
}

func TestOnlyTheSameAnswerOfTheSamePersonPassesAgain(t *testing.T) {
	k := newKit(t)
	w := asked(k, forResult())
	first := approval.Answer{ID: w.ID, Result: "42"}
	for range 2 {
		_, err := k.Approvals.Answer(k.Ctx(), first)
		k.Must(err)
	}
	want(k, w.ID, answered, 1)
	for name, err := range map[string]error{
		"another result":  answerErr(k, k.Ctx(), approval.Answer{ID: w.ID, Result: "43"}),
		"another person":  answerErr(k, boss(k), first),
		"another outcome": answerErr(k, k.Ctx(), approval.Answer{ID: w.ID, Action: "decline"}),
		"a failure":       answerErr(k, k.Ctx(), approval.Answer{ID: w.ID, Result: "42", IsError: true}),
	} {
		t.Log(name)
		k.WantFault(err, faultv1.Reason_REASON_APPROVAL_RESOLVED)
	}
	want(k, w.ID, answered, 1)
}

func answerErr(k *sessionstest.Kit, ctx context.Context, a approval.Answer) error {
	_, err := k.Approvals.Answer(ctx, a)
	return err
}

func TestALongResultIsCutBetweenCharacters(t *testing.T) {
	k := newKit(t)
	w := asked(k, forResult())
	_, err := k.Approvals.Answer(k.Ctx(), approval.Answer{ID: w.ID, Result: "a" + strings.Repeat("ü", 40<<10)})
	k.Must(err)
	r := want(k, w.ID, answered, 1).Answer.GetResult()
	text := r.GetContent()[0].GetText()
	if !r.GetTruncated() || len(text) > 64<<10 || len(text) < 64<<10-4 || !utf8.ValidString(text) {
		t.Errorf("%d bytes are kept, truncated: %t", len(text), r.GetTruncated())
	}
}

func TestAStructuredResultHasAText(t *testing.T) {
	k := newKit(t)
	w := asked(k, forResult())
	_, err := k.Approvals.Answer(k.Ctx(), approval.Answer{ID: w.ID, Structured: structpb.NewNumberValue(42)})
	k.Must(err)
	r := want(k, w.ID, answered, 1).Answer.GetResult()
	if r.GetContent()[0].GetText() != "42" || r.GetStructuredContent().GetNumberValue() != 42 || r.GetCallId() != "c1" ||
		r.GetTool() != "calc__add" {
		t.Errorf("the result is %v", r)
	}
}
