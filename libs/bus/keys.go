package bus

import (
	"context"
	"hash/maphash"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
)

// keys remembers which keys of a bucket may have a value, so that a reader of one that has none need not ask the server. It is for a bus
// that is confined to this process, where no other process can set a value. A key that was set long ago may be forgotten: then its value
// counts as removed. The nil value has no keys.
type keys struct {
	seed maphash.Seed

	mu          sync.Mutex
	unknown     bool                // the bucket has keys that are not known
	now, before map[uint64]struct{} // hashes of keys
}

// keysKept is how many keys are remembered at least; twice as many at most.
const keysKept = 32 << 10

// keysOf returns the keys of a bucket of the bus; nil unless the bus is confined to this process.
func (b *Bus) keysOf(ctx context.Context, name, prefix string, stream jetstream.Stream) *keys {
	if b.local == nil {
		return nil
	}
	b.mu.Lock()
	kept, ok := b.keys[name]
	b.mu.Unlock()
	if ok {
		return kept
	}
	k := &keys{seed: maphash.MakeSeed(), now: map[uint64]struct{}{}}
	k.load(ctx, prefix, stream)
	b.mu.Lock()
	defer b.mu.Unlock()
	if kept, ok := b.keys[name]; ok { // another goroutine was faster, and may have set values
		return kept
	}
	if b.keys == nil {
		b.keys = map[string]*keys{}
	}
	b.keys[name] = k
	return k
}

// load adds the keys that a bucket has from an earlier process, unless they are many.
func (k *keys) load(ctx context.Context, prefix string, stream jetstream.Stream) {
	stored := stream.CachedInfo().State.Msgs
	if stored == 0 {
		return
	}
	if k.unknown = stored > keysKept; k.unknown {
		return
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(prefix+">"))
	if k.unknown = err != nil; k.unknown {
		return
	}
	for subject := range info.State.Subjects {
		k.add(strings.TrimPrefix(subject, prefix))
	}
}

// add says that a key is about to get a value.
func (k *keys) add(key string) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.now) >= keysKept {
		k.now, k.before = map[uint64]struct{}{}, k.now
	}
	k.now[maphash.String(k.seed, key)] = struct{}{}
}

// has reports whether a key may have a value.
func (k *keys) has(key string) bool {
	if k == nil {
		return true
	}
	hash := maphash.String(k.seed, key)
	k.mu.Lock()
	defer k.mu.Unlock()
	_, now := k.now[hash]
	_, before := k.before[hash]
	return k.unknown || now || before
}
