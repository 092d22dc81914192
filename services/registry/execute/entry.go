package execute

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/services/registry/store"
)

// openAfter is how long a call runs before its row shows it as running, if the row may be written later.
const openAfter = 250 * time.Millisecond

// entry is the ledger row of a call that is sent. A call with side effects, and one that may be repeated with its caller's key, has its row
// before it is sent. Any other call gets it at its end, or after openAfter.
type entry struct {
	x   *Executor
	row store.Execution // State is that before the call

	mu      sync.Mutex
	written bool // the row is in the ledger
	erased  bool // its turn or session was erased, so it is only recorded at its end
	ended   bool
	timer   *time.Timer
}

// follows reports whether the row may be written after the call: losing it is harmless, because the call changes nothing, needed no
// approval, and is not requested again with its key, except by a turn, for which it may be made again.
func (a *attempt) follows() bool {
	return a.tool.Effect == store.Read && a.row == nil && a.approval == "" && (a.req.NewKey || !a.req.direct())
}

func (x *Executor) opened(row store.Execution) *entry { return &entry{x: x, row: row, written: true} }

// late returns an entry whose row is written later.
func (x *Executor) late(ctx context.Context, row store.Execution) *entry {
	e := &entry{x: x, row: row}
	e.timer = time.AfterFunc(openAfter, func() {
		if err := e.write(context.WithoutCancel(ctx)); err != nil {
			x.deps.Log.WarnContext(ctx, "execution was not opened in the ledger", "execution_id", row.ID, "error", err)
		}
	})
	return e
}

// write writes the row if that has not been done.
func (e *entry) write(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.written || e.erased || e.ended {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	err := e.x.deps.Store.OpenLate(ctx, e.row)
	if errors.Is(err, store.ErrForgotten) {
		e.erased = true
		return nil
	}
	e.written = err == nil
	return err
}

// again records that the call is about to be sent again.
func (e *entry) again(ctx context.Context) error {
	if err := e.write(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	written := e.written
	e.mu.Unlock()
	if written {
		if err := e.x.deps.Store.Attempt(ctx, e.row); err != nil {
			return err
		}
	}
	e.row.Attempts++
	return nil
}

// close writes the end of the row, even if nobody waits. A row that cannot be written stays open until its lease ends, and the next caller
// treats it as in doubt.
func (e *entry) close(ctx context.Context, row store.Execution) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	pauses := e.x.cfg.retries().Start()
	for {
		err := e.end(ctx, row)
		if err == nil {
			return
		}
		if errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrExists) || pauses.Wait(ctx) != nil {
			e.x.deps.Log.ErrorContext(ctx, "execution could not be closed", "execution_id", row.ID, "state", row.State, "error", err)
			return
		}
	}
}

// stop prevents that the row of a call that has ended is written as one that runs.
func (e *entry) stop() {
	if e.timer != nil {
		e.timer.Stop()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
}

func (e *entry) end(ctx context.Context, row store.Execution) error {
	if row.State == store.Waiting { // for an answer, which looks for an open row
		if err := e.write(ctx); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	if e.written {
		return e.x.deps.Store.Close(ctx, row)
	}
	if row.State == store.Waiting { // nobody is left to answer
		row.State = store.Failed
	}
	row.Lease = time.Time{}
	return e.x.deps.Store.RecordLater(ctx, row)
}
