package lineedit

import (
	"io"
	"sync"
)

// maxAhead is how many bytes may be typed ahead; more are dropped, as a terminal does.
const maxAhead = 1 << 20

// keys holds what was typed until it is read. Unlike a pipe it takes more while nobody reads, so that a Ctrl-C behind it is seen.
type keys struct {
	mu     sync.Mutex
	more   sync.Cond
	typed  []byte
	closed bool
}

func newKeys() *keys {
	k := &keys{}
	k.more.L = &k.mu
	return k
}

func (k *keys) add(b []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.typed = append(k.typed, b[:min(len(b), maxAhead-len(k.typed))]...)
	k.more.Signal()
}

// close ends reads, once everything that was typed was read.
func (k *keys) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	k.more.Broadcast()
}

// Read implements io.Reader.
func (k *keys) Read(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.typed) == 0 && !k.closed {
		k.more.Wait()
	}
	if len(k.typed) == 0 {
		return 0, io.EOF
	}
	n := copy(b, k.typed)
	k.typed = k.typed[n:]
	return n, nil
}
