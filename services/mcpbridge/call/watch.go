package call

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/services/mcpbridge/server"
	"github.com/windlass-dev/windlass/services/mcpbridge/watch"
	"github.com/windlass-dev/windlass/services/mcpbridge/wire"
)

// Watch subscribes to topics of a server and reports their changes, after the zero topic, until ctx or the connection ends, or tell returns
// an error. It subscribes again once if the server has lost the session.
func (r *Runner) Watch(ctx context.Context, sp *server.Spec, topics []watch.Topic, tell func(watch.Topic) error) error {
	for attempt := 0; ; attempt++ {
		u, err := r.pool.Get(sp)
		if err != nil {
			return wire.Unavailable(sp, err)
		}
		c, err := u.Connection(ctx)
		if err != nil {
			return wire.Unavailable(sp, err)
		}
		err = c.Watch(ctx, topics, tell)
		e, ok := errors.AsType[*wire.Error](err)
		if !ok {
			return err
		}
		if e.Lost() {
			u.Drop(c, e)
		}
		if !e.Lost() || attempt > 0 {
			return wire.Unavailable(sp, err)
		}
	}
}
