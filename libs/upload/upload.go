// Package upload takes the bytes of uploads into memory: not too many at a time, of no caller too many, and none that is too slow.
package upload

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

const (
	// pieceTime is how long a caller may take to send more of an upload, and uploadTime to send all of it.
	pieceTime, uploadTime = 30 * time.Second, 10 * time.Minute
	// maxOwn is how many uploads of one user a process takes at a time.
	maxOwn = 3
)

// Next returns the next bytes of an upload, and nothing at its end.
type Next func() ([]byte, error)

// Gate admits uploads. It is safe for concurrent use.
type Gate struct {
	uploads chan struct{} // holds one for each upload under way

	mu  sync.Mutex
	own map[[2]string]int // uploads of a tenant's subject that are under way or wait
}

// NewGate returns a gate for so many uploads at a time, at least one.
func NewGate(limit int) *Gate {
	return &Gate{uploads: make(chan struct{}, max(limit, 1)), own: map[[2]string]int{}}
}

// Receive waits until an upload of the caller is admitted, and returns its bytes. done must be called when they are no longer used. large
// is the error about an upload of more than limit bytes, and empty about one without any. The bounds are those of Admit.
func (g *Gate) Receive(ctx context.Context, next Next, limit int64, large, empty error) (data []byte, done func(), err error) {
	if next, done, err = g.Admit(ctx, next); err != nil {
		return nil, nil, err
	}
	if data, err = receive(next, limit, large); err == nil && len(data) == 0 {
		err = empty
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return data, done, nil
}

// Admit waits until an upload of the caller is admitted, and returns next with bounds on its time. done must be called when the upload is
// over. What next waits for ends with ctx, which the end of the call ends.
func (g *Gate) Admit(ctx context.Context, next Next) (bounded Next, done func(), err error) {
	if done, err = g.begin(ctx); err != nil {
		return nil, nil, err
	}
	return inTime(ctx, next), done, nil
}

// begin admits an upload of the caller, and waits until the process takes it. The returned function ends it.
func (g *Gate) begin(ctx context.Context) (done func(), err error) {
	p := authn.From(ctx)
	who := [2]string{p.GetTenant(), p.GetSubject()}
	count := func(change int) bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		if change > 0 && g.own[who] == maxOwn {
			return false
		}
		if g.own[who] += change; g.own[who] == 0 {
			delete(g.own, who)
		}
		return true
	}
	if !count(1) {
		return nil, fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_RATE_LIMITED, "%d of your uploads are under way", maxOwn).
			Hint("Wait until one has ended.")
	}
	select {
	case g.uploads <- struct{}{}:
		return func() { <-g.uploads; count(-1) }, nil
	case <-ctx.Done():
		count(-1)
		return nil, ctx.Err()
	}
}

// inTime returns next with bounds on its time.
func inTime(ctx context.Context, next Next) Next {
	type piece struct {
		data []byte
		err  error
	}
	end := time.Now().Add(uploadTime)
	return func() ([]byte, error) {
		got := make(chan piece, 1)
		go func() {
			data, err := next()
			got <- piece{data, err}
		}()
		late := time.NewTimer(min(pieceTime, time.Until(end)))
		defer late.Stop()
		select {
		case p := <-got:
			return p.data, p.err
		case <-late.C:
			return nil, fault.New(codes.DeadlineExceeded, faultv1.Reason_REASON_DEADLINE_EXCEEDED, "the file did not arrive in time").
				Hint("Send it again.")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// receive collects the bytes of an upload.
func receive(next Next, limit int64, large error) ([]byte, error) {
	var data []byte
	for {
		piece, err := next()
		switch {
		case err != nil:
			return nil, err
		case len(piece) == 0:
			return data, nil
		case int64(len(data)+len(piece)) > limit:
			return nil, large
		}
		data = append(data, piece...)
	}
}
