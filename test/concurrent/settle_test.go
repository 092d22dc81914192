package concurrent

import (
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
	"github.com/windlass-dev/windlass/test/linear"
)

// settleTime bounds how long turns may take to end without faults.
const settleTime = 3 * time.Minute

// settle answers everything that turns wait for until all turns are over.
func (r *run) settle() {
	r.t.Helper()
	c := &client{run: r, rest: r.system.client(r.t), dice: rand.New(rand.NewPCG(r.plan.seed, 1<<32))}
	ctx := r.t.Context()
	last := ""
	idle := harness.Eventually(settleTime, func() bool {
		for _, a := range c.look(ctx) {
			switch {
			case a.Str("kind") == "resolution":
				c.answer(ctx, a, "give_up")
			case a.Str("kind") == "approval" && !passed(a):
				c.answer(ctx, a, "approve")
			}
		}
		for _, status := range []string{"queued", "running", "waiting"} {
			code, list, err := c.rest.Do(ctx, "GET", "/v1/turns?status="+status, nil)
			if err != nil || code != http.StatusOK || len(objects(list["turns"])) > 0 {
				last = status + ": " + shown(list, err)
				return false
			}
		}
		return true
	})
	if !idle {
		r.t.Fatalf("turns do not end: %s", last)
	}
	for _, a := range r.board.approvals {
		c.readApproval(ctx, a)
	}
	for _, room := range r.board.all() {
		r.record(c, room)
	}
}

// record reads the result of a room.
func (r *run) record(c *client, room *room) {
	r.t.Helper()
	end := r.recorder.Begin(0, linear.Input{Kind: linear.Final, Session: room.id})
	room.export(r.t, c.rest)
	end(linear.Output{Code: linear.OK, Final: room.outcome()})
}
