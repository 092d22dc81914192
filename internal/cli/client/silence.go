package client

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// How long a call may take until the server is asked whether it is alive, and how long that may take.
const (
	firstDoubt = 2 * time.Second
	lastDoubt  = time.Second
)

// doubter asks a server that does not answer whether it is alive, and tells once if it does not answer that either.
type doubter struct {
	after time.Duration
	tell  func()
	once  sync.Once
}

// watch doubts the server until stop is called, which happens when it answers.
func (c *Client) watch(ctx context.Context) (stop func()) {
	if c.doubt.tell == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		timer := time.NewTimer(c.doubt.after)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if !c.alive(ctx) && ctx.Err() == nil {
			c.doubt.once.Do(c.doubt.tell)
		}
	})
	return func() { cancel(); done.Wait() }
}

// alive reports whether the server answers anything at all.
func (c *Client) alive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, lastDoubt)
	defer cancel()
	req, err := c.request(ctx, request{path: "/healthz", method: http.MethodHead})
	if err != nil {
		return false
	}
	resp, err := c.calls.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close() // it has none
	return true
}
