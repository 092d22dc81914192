// Package share shares the health of models and keys between replicas of the inference service: over the bus, and in a bucket of it for
// those that start later. While the bus is away, each replica knows what it has seen itself.
package share

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/services/inference/health"
)

const (
	// subject carries states between replicas.
	subject = "windlass.inference.health"
	// bucketName is the bucket of states and claims; statesPrefix and claimsPrefix begin their keys.
	bucketName   = "windlass-model-health"
	statesPrefix = "state."
	claimsPrefix = "claim."
	// maxAge is how long a state is kept without a change, and maxBytes how many bytes of all.
	maxAge   = 7 * 24 * time.Hour
	maxBytes = 16 << 20
	// waiting is the number of states that may wait to be read.
	waiting = 4096
	// claimTimeout bounds how long a call waits for a claim: without an answer, it is given within this process.
	claimTimeout = 500 * time.Millisecond
	// loadTimeout bounds the reading of all states.
	loadTimeout = 10 * time.Second
	// retryPause and retryMax are the pauses after the bus was away.
	retryPause, retryMax = 100 * time.Millisecond, 5 * time.Second
)

// Share implements health.Share. Nothing is shared until Run is called.
type Share struct {
	bus *bus.Bus
	log *slog.Logger

	mu     sync.Mutex
	bucket *bus.Bucket // nil while the bus is away
}

var _ health.Share = (*Share)(nil)

// New returns a share over a bus.
func New(b *bus.Bus, log *slog.Logger) *Share { return &Share{bus: b, log: log} }

// keyOf returns the key of a subject in the bucket, behind its prefix.
func keyOf(s health.Subject) string {
	sum := sha256.Sum256([]byte(s.Kind + "\x00" + s.Name + "\x00" + s.Mark))
	return hex.EncodeToString(sum[:16])
}

// usable returns the bucket; nil while the bus is away.
func (s *Share) usable() *bus.Bucket {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.bus.Connected() {
		return nil
	}
	return s.bucket
}

// use sets the bucket.
func (s *Share) use(b *bus.Bucket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bucket = b
}

// Tell implements health.Share. It does not wait for the bus.
func (s *Share) Tell(state health.State) {
	bucket := s.usable()
	if bucket == nil {
		return // Run publishes all states when the bus is back
	}
	data, err := json.Marshal(state)
	if err != nil {
		return // a state is text and times, which always encode
	}
	bucket.Start(statesPrefix+keyOf(state.Subject), data) // not waited for: replicas that start later are the only readers
	_ = s.bus.Publish(subject, data)                      // as above: Run publishes it again
}

// claim is the claim of the one call after cooling.
type claim struct {
	// State is when the state was noted after which the call is made: a newer one makes the claim void.
	State time.Time `json:"state"`
	// Until is when the claim ends; zero if it was released.
	Until time.Time `json:"until"`
}

// Claim implements health.Share. A state of the bucket is newer if the message about it has not arrived yet.
func (s *Share) Claim(state health.State, until time.Time) health.Claim {
	given := health.Claim{Given: true}
	bucket := s.usable()
	if bucket == nil {
		return given
	}
	ctx, cancel := context.WithTimeout(context.Background(), claimTimeout)
	defer cancel()
	if newest, ok := stateIn(ctx, bucket, statesPrefix+keyOf(state.Subject)); ok && newest.Subject == state.Subject &&
		newest.Changed.After(state.Changed) {
		return health.Claim{Newer: &newest}
	}
	key := claimsPrefix + keyOf(state.Subject)
	held, ok, err := bucket.Get(ctx, key)
	if err != nil {
		return given
	}
	var of claim
	if ok && json.Unmarshal(held.Data, &of) == nil && of.State.Equal(state.Changed) && time.Now().Before(of.Until) {
		return health.Claim{Until: of.Until}
	}
	data, err := json.Marshal(claim{State: state.Changed, Until: until})
	if err != nil {
		return given
	}
	replaced, err := bucket.Replace(ctx, key, data, held.Revision)
	return health.Claim{Given: replaced || err != nil}
}

// Release implements health.Share.
func (s *Share) Release(state health.State) {
	bucket := s.usable()
	if bucket == nil {
		return
	}
	if data, err := json.Marshal(claim{State: state.Changed}); err == nil {
		bucket.Start(claimsPrefix+keyOf(state.Subject), data) // not waited for: without it, the claim ends by itself
	}
}

// stateIn reads a state of the bucket.
func stateIn(ctx context.Context, bucket *bus.Bucket, key string) (state health.State, ok bool) {
	v, ok, err := bucket.Get(ctx, key)
	return state, ok && err == nil && json.Unmarshal(v.Data, &state) == nil
}

// Run connects a table with those of other replicas while the bus is there, until ctx ends.
func (s *Share) Run(ctx context.Context, table *health.Table) error {
	policy := backoff.Policy{First: retryPause, Max: retryMax}
	pauses := policy.Start()
	for ctx.Err() == nil {
		err := s.listen(ctx, table)
		if err == nil || errors.Is(err, bus.ErrGap) || errors.Is(err, bus.ErrOverflow) {
			pauses = policy.Start()
			continue
		}
		if ctx.Err() == nil {
			s.log.DebugContext(ctx, "health of models is not shared", "error", err)
			_ = pauses.Wait(ctx) // only ctx ends it, and then the loop
		}
	}
	return nil
}

// listen exchanges states: all that each side has, and then those that change.
func (s *Share) listen(ctx context.Context, table *health.Table) error {
	sub, err := s.bus.Subscribe(subject, waiting)
	if err != nil {
		return err
	}
	defer sub.Close()
	bucket, err := s.bus.Bucket(ctx, bus.BucketConfig{Name: bucketName, MaxAge: maxAge, MaxBytes: maxBytes})
	if err != nil {
		return err
	}
	if err := s.bus.Flush(ctx); err != nil {
		return err
	}
	known, err := load(ctx, bucket, table)
	if err != nil {
		return err
	}
	s.use(bucket)
	defer s.use(nil)
	for _, state := range table.States() {
		if known[state.Subject].Before(state.Changed) { // noted while the bus was away
			s.Tell(state)
		}
	}
	for {
		select {
		case m, ok := <-sub.C():
			if !ok {
				return sub.Err()
			}
			var state health.State
			if json.Unmarshal(m.Data, &state) == nil && state.Subject.Name != "" {
				table.Told(state)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// load reads the states that other replicas have noted, and returns when they were.
func load(ctx context.Context, bucket *bus.Bucket, table *health.Table) (map[health.Subject]time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	keys, err := bucket.Keys(ctx, statesPrefix+">")
	if err != nil {
		return nil, err
	}
	known := map[health.Subject]time.Time{}
	for _, key := range keys {
		if state, ok := stateIn(ctx, bucket, key); ok {
			table.Told(state)
			known[state.Subject] = state.Changed
		}
	}
	return known, ctx.Err()
}
