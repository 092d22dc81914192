package decide

import (
	"context"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.opentelemetry.io/otel/metric"

	"github.com/windlass-dev/windlass/libs/metrics"
	"github.com/windlass-dev/windlass/services/policy/access"
	"github.com/windlass-dev/windlass/services/policy/store"
)

const (
	// subjectsKept limits the subjects whose last input is remembered as stored.
	subjectsKept = 16384
	// maxInputBytes limits the stored principals. Decisions about larger ones are not replayed.
	maxInputBytes = 32 << 10
)

// Recorder stores decisions, each with its principal unless that is the subject's last one, or a role of the mesh: access policies do not
// apply to roles, so that there is nothing to replay.
type Recorder struct {
	store store.Store
	last  *lru.Cache[subjectKey, kept]
	again time.Duration
	// denied counts decisions that denied something.
	denied metric.Int64Counter
}

// kept is the input that was stored last for a subject. It is stored again after a while, so that inputs in use are not deleted as old.
type kept struct {
	hash string
	at   time.Time
}

type subjectKey struct{ tenant, subject string }

// NewRecorder returns a Recorder; inputs are kept for the given time after their last use.
func NewRecorder(s store.Store, retention time.Duration) (*Recorder, error) {
	last, err := lru.New[subjectKey, kept](subjectsKept)
	if err != nil {
		return nil, fmt.Errorf("make cache of inputs: %w", err)
	}
	return &Recorder{
		store: s, last: last, again: retention / 4,
		denied: metrics.Process().Counter(metrics.PolicyDenials),
	}, nil
}

// Add commits a decision before it returns, unless it may follow a moment later: a crash can then lose the record. It reports whether it
// follows.
func (r *Recorder) Add(ctx context.Context, d store.Decision, in access.Input, mayFollow bool) (follows bool, err error) {
	if !d.Allowed {
		r.denied.Add(ctx, 1, metrics.PolicyDenials.Labelled(d.Kind))
	}
	key := subjectKey{d.Tenant, d.Subject}
	known, _ := r.last.Get(key)
	if in.Hash == "" || known.hash == in.Hash && d.Time.Sub(known.at) < r.again || len(in.Encoded) > maxInputBytes {
		if mayFollow {
			return true, r.store.AddLater(ctx, d)
		}
		return false, r.store.Add(ctx, d, nil)
	}
	if err := r.store.Add(ctx, d, &store.Input{Hash: in.Hash, Subject: d.Subject, Principal: in.Encoded}); err != nil {
		return false, err
	}
	r.last.Add(key, kept{in.Hash, d.Time})
	return false, nil
}
