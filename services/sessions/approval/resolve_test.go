package approval_test

import (
	"testing"

	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/approval"
)

func TestACallIsResolvedOnce(t *testing.T) {
	const over = faultv1.Reason_REASON_APPROVAL_RESOLVED
	for _, row := range []struct {
		name   string
		first  approval.Resolution
		second approval.Resolution
		reason faultv1.Reason
		want   turnv1.Verdict
	}{
		{"done twice", approval.Resolution{Outcome: answered, Result: "42"}, approval.Resolution{Outcome: answered, Result: "42"}, 0, answered},
		{
			"done with another result",
			approval.Resolution{Outcome: answered, Result: "42"},
			approval.Resolution{Outcome: answered, Result: "43"},
			over, answered,
		},
		{"done, then not", approval.Resolution{Outcome: answered}, approval.Resolution{Outcome: notDone}, over, answered},
		{"not done twice", approval.Resolution{Outcome: notDone}, approval.Resolution{Outcome: notDone, Comment: "again"}, 0, notDone},
		{"given up twice", approval.Resolution{Outcome: givenUp}, approval.Resolution{Outcome: givenUp}, 0, givenUp},
		{"given up, then done", approval.Resolution{Outcome: givenUp}, approval.Resolution{Outcome: answered}, over, givenUp},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := newKit(t)
			w := asked(k, forResolution())
			for _, r := range []*approval.Resolution{&row.first, &row.second} {
				r.TurnID, r.CallID = w.TurnID, "c1"
			}
			_, err := k.Approvals.Resolve(k.Ctx(), row.first)
			k.Must(err)
			_, err = k.Approvals.Resolve(k.Ctx(), row.second)
			k.WantFault(err, row.reason)
			want(k, w.ID, row.want, 1)
		})
	}
}

func TestAResolutionThatMakesNoSenseIsRefused(t *testing.T) {
	k := newKit(t)
	w := asked(k, forResolution())
	for _, row := range []struct {
		r      approval.Resolution
		reason faultv1.Reason
		fields []string
	}{
		{
			approval.Resolution{TurnID: w.TurnID, CallID: "c1", Outcome: notDone, Result: "42"},
			faultv1.Reason_REASON_INVALID_ARGUMENT,
			[]string{"result"},
		},
		{
			approval.Resolution{TurnID: w.TurnID, CallID: "c1", Outcome: answered, Result: "\xff"},
			faultv1.Reason_REASON_INVALID_ARGUMENT,
			[]string{"result"},
		},
		{
			approval.Resolution{TurnID: w.TurnID, CallID: "c1", Outcome: givenUp, Comment: "\x00"},
			faultv1.Reason_REASON_INVALID_ARGUMENT,
			[]string{"comment"},
		},
		{approval.Resolution{TurnID: w.TurnID, CallID: "c9", Outcome: givenUp}, faultv1.Reason_REASON_NOT_FOUND, nil},
		{approval.Resolution{TurnID: "trn_none", CallID: "c1", Outcome: givenUp}, faultv1.Reason_REASON_NOT_FOUND, nil},
	} {
		_, err := k.Approvals.Resolve(k.Ctx(), row.r)
		k.WantFault(err, row.reason, row.fields...)
	}
	want(k, w.ID, 0, 0)
}
