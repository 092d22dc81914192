package dispatch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// pollAge is how long ago a living worker asked for work at most: a long poll of Temporal's SDK ends after a minute.
const pollAge = 75 * time.Second

// CheckWorkers implements sessions.Dispatcher. Temporal does not notice at once that a worker is gone: one whose process died still
// counts for up to 75 seconds.
func (d *Temporal) CheckWorkers(ctx context.Context) error {
	resp, err := d.client.DescribeTaskQueue(ctx, contract.TaskQueue, enums.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "Temporal cannot be asked for workers").
			Hint("Turns wait until it is back.").Cause(fmt.Errorf("describe task queue %s: %w", contract.TaskQueue, err))
	}
	var latest time.Time
	for _, p := range resp.GetPollers() {
		if at := p.GetLastAccessTime().AsTime(); at.After(latest) {
			latest = at
		}
	}
	if d.polls.recent(latest, d.now()) {
		return nil
	}
	return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "no worker runs, so turns do not go on").
		Hint("Start a process with the role worker, or look in its log why it ended.")
}

// polls records when workers polled. Temporal reports times of its clock, which need not agree with ours, so that only the
// first answer is compared with it; later a poll is as old as our knowledge of it.
type polls struct {
	mu     sync.Mutex
	latest time.Time // by Temporal's clock
	seen   time.Time // by ours
}

// recent reports whether the latest poll, zero if there is none, is at most pollAge old.
func (p *polls) recent(latest, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case latest.IsZero():
		return false
	case p.latest.IsZero() && latest.Before(now):
		p.seen = latest
	case latest.After(p.latest):
		p.seen = now
	}
	p.latest = latest
	return now.Sub(p.seen) < pollAge
}
