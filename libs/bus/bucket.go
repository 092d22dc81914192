package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// BucketConfig describes a bucket.
type BucketConfig struct {
	// Name of the bucket: letters, digits, - and _.
	Name string
	// MaxAge after which a value is removed; 0 means never.
	MaxAge time.Duration
	// MaxBytes above which the oldest values are removed; 0 means no limit.
	MaxBytes int64
}

// Bucket holds the last value of each key, for all processes on the bus. Values may vanish at any time, so it can be a cache but not a
// store. Keys are tokens separated by dots, as in subjects. To other NATS clients it is a key-value bucket (NATS ADR-8) that removes its
// oldest values when it is full.
type Bucket struct {
	bus    *Bus
	stream jetstream.Stream
	prefix string
	keys   *keys
}

// Value is the value of a key.
type Value struct {
	// Data must not be modified.
	Data []byte
	// Revision rises with every change of the bucket.
	Revision uint64
}

// Bucket creates or updates a bucket. All users of it must give the same configuration. Errors: ErrUnavailable.
func (b *Bus) Bucket(ctx context.Context, cfg BucketConfig) (*Bucket, error) {
	storage := jetstream.MemoryStorage
	if b.file {
		storage = jetstream.FileStorage
	}
	maxBytes := cfg.MaxBytes
	if maxBytes <= 0 {
		maxBytes = -1
	}
	asking := ctx
	if b.server != nil { // as in EnsureKept
		asking = context.WithoutCancel(ctx)
	}
	k := &Bucket{bus: b, prefix: "$KV." + cfg.Name + "."}
	var err error
	k.stream, err = b.js.CreateOrUpdateStream(asking, jetstream.StreamConfig{
		Name: "KV_" + cfg.Name, Subjects: []string{k.prefix + ">"}, MaxMsgsPerSubject: 1, MaxAge: cfg.MaxAge, MaxBytes: maxBytes,
		Storage: storage, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld, AllowDirect: true, AllowRollup: true,
		DenyDelete: true, Duplicates: dedup(cfg.MaxAge), Replicas: b.replicas,
	})
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", cfg.Name, classify(err))
	}
	k.keys = b.keysOf(asking, cfg.Name, k.prefix, k.stream)
	return k, nil
}

// Get returns the value of a key; false if it has none. Errors: ErrUnavailable.
func (k *Bucket) Get(ctx context.Context, key string) (Value, bool, error) {
	if _, connected := k.bus.Connection(); connected && !k.keys.has(key) {
		return Value{}, false, nil
	}
	m, err := k.stream.GetLastMsgForSubject(ctx, k.prefix+key)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return Value{}, false, nil
	case err != nil:
		return Value{}, false, fmt.Errorf("get %s: %w", key, classify(err))
	case !k.bus.genuine(m.Subject, &nats.Msg{Header: m.Header, Data: m.Data}):
		return Value{}, false, nil
	}
	return Value{Data: m.Data, Revision: m.Sequence}, true, nil
}

// Put sets the value of a key and waits until every Get finds it. It returns the value's revision. Errors: ErrUnavailable.
func (k *Bucket) Put(ctx context.Context, key string, data []byte) (uint64, error) {
	return k.Start(key, data)(ctx)
}

// Start sends the value of a key, and returns the rest of Put. Of many values that are started before the first is waited for, the server
// receives and confirms several at a time.
func (k *Bucket) Start(key string, data []byte) (wait func(context.Context) (uint64, error)) {
	k.keys.add(key)
	m := nats.NewMsg(k.prefix + key)
	m.Data = data
	if k.bus.signer != nil {
		m = k.bus.signer.sign(m.Subject, data)
	}
	sent, err := k.bus.js.PublishMsgAsync(m, jetstream.WithRetryAttempts(0))
	if err != nil && k.bus.nc.IsClosed() { // the client library may have made a text of it
		err = nats.ErrConnectionClosed
	}
	return func(ctx context.Context) (uint64, error) {
		if err != nil {
			return 0, fmt.Errorf("put %s: %w", key, classify(err))
		}
		select {
		case ack := <-sent.Ok():
			return ack.Sequence, nil
		case err := <-sent.Err():
			return 0, fmt.Errorf("put %s: %w", key, classify(err))
		case <-ctx.Done():
			return 0, fmt.Errorf("put %s: %w", key, classify(ctx.Err()))
		}
	}
}

// Replace sets the value of a key if its revision is still the given one, where 0 means that the key has no value. It reports whether it
// did; of several processes that replace the same revision, one does. Errors: ErrUnavailable; the value may be set all the same.
func (k *Bucket) Replace(ctx context.Context, key string, data []byte, revision uint64) (bool, error) {
	k.keys.add(key)
	m := nats.NewMsg(k.prefix + key)
	m.Data = data
	if k.bus.signer != nil {
		m = k.bus.signer.sign(m.Subject, data)
	}
	_, err := k.bus.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(revision), jetstream.WithRetryAttempts(0))
	if refused, ok := errors.AsType[*jetstream.APIError](err); ok && refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("replace %s: %w", key, classify(err))
	}
	return true, nil
}

// Keys returns the keys that match a pattern with * and >, in no order. It is meant for patterns that few keys match. Errors:
// ErrUnavailable.
func (k *Bucket) Keys(ctx context.Context, pattern string) ([]string, error) {
	info, err := k.stream.Info(ctx, jetstream.WithSubjectFilter(k.prefix+pattern))
	if err != nil {
		return nil, fmt.Errorf("keys %s: %w", pattern, classify(err))
	}
	var out []string
	for subject := range info.State.Subjects {
		out = append(out, strings.TrimPrefix(subject, k.prefix))
	}
	return out, nil
}

// Delete removes all keys that match a pattern with * and >. Errors: ErrUnavailable.
func (k *Bucket) Delete(ctx context.Context, pattern string) error {
	if err := k.stream.Purge(ctx, jetstream.WithPurgeSubject(k.prefix+pattern)); err != nil {
		return fmt.Errorf("delete %s: %w", pattern, classify(err))
	}
	return nil
}

// Size returns the number of values and their total size in bytes. Errors: ErrUnavailable.
func (k *Bucket) Size(ctx context.Context) (values, bytes uint64, err error) {
	info, err := k.stream.Info(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("size of bucket: %w", classify(err))
	}
	return info.State.Msgs, info.State.Bytes, nil
}

// Count returns the number of keys that match a pattern with * and >. It is meant for patterns that few keys match. Errors: ErrUnavailable.
func (k *Bucket) Count(ctx context.Context, pattern string) (uint64, error) {
	info, err := k.stream.Info(ctx, jetstream.WithSubjectFilter(k.prefix+pattern))
	if err != nil {
		return 0, fmt.Errorf("count %s: %w", pattern, classify(err))
	}
	return uint64(len(info.State.Subjects)), nil
}
