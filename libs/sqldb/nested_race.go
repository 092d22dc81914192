//go:build race

package sqldb

import (
	"bytes"
	"runtime"
	"sync"
)

// open holds the goroutines with an open transaction, in builds with the race detector, as for tests.
var open sync.Map // goroutines belong to the process

// nested records that this goroutine has a transaction open, and panics if it already has one. The returned function ends it.
func nested(what string) (end func()) {
	refuseNested(what)
	id := goroutine()
	open.Store(id, what)
	return func() { open.Delete(id) }
}

// refuseNested panics if this goroutine has a transaction open. A statement outside it needs a second connection of the pool: if all
// connections are taken by transactions that do the same, they deadlock. Nor does the statement see what the transaction wrote.
func refuseNested(what string) {
	if in, ok := open.Load(goroutine()); ok {
		panic("sqldb: " + what + " while this goroutine is in a " + in.(string) + ": use the transaction instead")
	}
}

// goroutine returns the runtime's number of the current goroutine.
func goroutine() string {
	var buf [64]byte
	text := buf[:runtime.Stack(buf[:], false)]
	text = bytes.TrimPrefix(text, []byte("goroutine "))
	number, _, _ := bytes.Cut(text, []byte(" "))
	return string(number)
}
