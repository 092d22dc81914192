package convert_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

func TestDurationsAreReadInTheFormOfEitherVersion(t *testing.T) {
	d := durationpb.New(1500 * time.Millisecond)
	commit := func(req *executionv1.CommitStepRequest) time.Duration { return convert.Commit(req).Duration }
	wait := func(w *executionv1.WaitRequest) time.Duration {
		return convert.Commit(&executionv1.CommitStepRequest{Wait: w}).Wait.GetExpiresIn().AsDuration()
	}
	stored := func(w *store.WaitRequest) time.Duration {
		return convert.WaitToProto(store.Wait{Request: w, Answer: &store.WaitAnswer{}}).GetRequest().GetExpiresIn().AsDuration()
	}
	for name, got := range map[string][2]time.Duration{
		"ttl of a claim": {
			convert.Claim(&executionv1.ClaimStepRequest{Ttl: d}).TTL, convert.Claim(&executionv1.ClaimStepRequest{TtlMs: 1500}).TTL,
		},
		"ttl of a renewal": {convert.TTL(&executionv1.RenewStepRequest{Ttl: d}), convert.TTL(&executionv1.RenewStepRequest{TtlMs: 1500})},
		"backoff": {
			convert.Backoff(&executionv1.ReleaseStepRequest{Backoff: d}), convert.Backoff(&executionv1.ReleaseStepRequest{RestMs: 1500}),
		},
		"duration of an attempt": {
			commit(&executionv1.CommitStepRequest{Duration: d}), commit(&executionv1.CommitStepRequest{DurationMs: 1500}),
		},
		"time of a wait":        {wait(&executionv1.WaitRequest{ExpiresIn: d}), wait(&executionv1.WaitRequest{ExpiresInMs: 1500})},
		"time of a stored wait": {stored(&store.WaitRequest{ExpiresIn: d}), stored(&store.WaitRequest{ExpiresInMs: 1500})},
	} {
		if got[0] != d.AsDuration() || got[1] != d.AsDuration() {
			t.Errorf("%s: %v, and %v in milliseconds", name, got[0], got[1])
		}
	}
	due := time.UnixMicro(1795171200123456)
	for _, req := range []*executionv1.FireScheduleRequest{{DueTime: timestamppb.New(due)}, {DueMicros: due.UnixMicro()}} {
		if got := convert.DueTime(req); !got.Equal(due) {
			t.Errorf("%v is due at %v", req, got)
		}
	}
}
