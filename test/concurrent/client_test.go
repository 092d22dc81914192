package concurrent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
	"github.com/windlass-dev/windlass/test/linear"
)

const (
	// callTimeout is when a client gives up on a call, whose outcome is then unknown.
	callTimeout = 8 * time.Second
	// attempts is how often a client sends a request whose answer is lost.
	attempts = 4
)

// client is one of many concurrent users of a mesh.
type client struct {
	*run
	number int
	rest   *harness.Client
	dice   *rand.Rand
	keys   int
}

// key returns a unique key.
func (c *client) key() string {
	c.keys++
	return fmt.Sprintf("k%d-%d", c.number, c.keys)
}

// call makes one request and records it. An answer that leaves the outcome open is recorded as unknown.
func (c *client) call(ctx context.Context, in linear.Input, method, path string, body harness.JSON,
	read func(harness.JSON, *linear.Output),
) (linear.Output, harness.JSON) {
	end := c.recorder.Begin(c.number, in)
	c.operations.Add(1)
	out, answer := c.do(ctx, method, path, body, in.Key)
	if out.Code == linear.OK {
		read(answer, &out)
	}
	end(out)
	return out, answer
}

// do makes one request, as soon as a server accepts it.
func (c *client) do(ctx context.Context, method, path string, body harness.JSON, key string) (linear.Output, harness.JSON) {
	for {
		out, answer, err := c.once(ctx, method, path, body, key)
		var op *net.OpError
		if !errors.As(err, &op) || op.Op != "dial" || ctx.Err() != nil {
			return out, answer
		}
		select { // nothing was sent: no server is listening yet
		case <-ctx.Done():
			return out, answer
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (c *client) once(ctx context.Context, method, path string, body harness.JSON, key string) (linear.Output, harness.JSON, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var header []string
	if key != "" {
		header = []string{"Idempotency-Key", key}
	}
	var send any
	if body != nil {
		send = body
	}
	status, answer, err := c.rest.Do(ctx, method, path, send, header...)
	switch {
	case err != nil || status >= http.StatusInternalServerError || status == http.StatusRequestTimeout || status == 499:
		if err == nil && status == http.StatusInternalServerError {
			c.note("%s %s answered 500: %v", method, path, answer)
		}
		return linear.Output{Code: linear.Unknown}, answer, err
	case status >= http.StatusMultipleChoices:
		return linear.Output{Code: answer.Str("code")}, answer, nil
	}
	return linear.Output{Code: linear.OK}, answer, nil
}

// insist repeats a request while its answer is lost, as clients with idempotency keys do; sometimes it gives up.
func (c *client) insist(ctx context.Context, try func() linear.Output) {
	for range attempts {
		if out := try(); out.Code != linear.Unknown || c.dice.IntN(6) == 0 {
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}

// open opens a session.
func (c *client) open(ctx context.Context) {
	agent := agents[c.dice.IntN(len(agents))].id
	out, answer := c.do(ctx, "POST", "/v1/sessions", harness.JSON{"agent_id": agent}, "")
	if out.Code == linear.OK {
		c.enter(answer.Str("id"), agent, true)
	}
}

// enter makes a session known and watches it from its beginning.
func (c *client) enter(session, agent string, meet bool) *room {
	r := &room{id: session, agent: agent, watcher: c.rest.Watch("/v1/sessions/" + session + "/events")}
	c.board.add(r, meet)
	return r
}

// send creates a turn in some mode.
func (c *client) send(ctx context.Context, r *room) {
	mode := []string{"", "enqueue", "enqueue", "reject", "steer", "interrupt", "fork"}[c.dice.IntN(7)]
	req := request{key: c.key(), mode: mode}
	var plan []string
	for range c.dice.IntN(3) {
		plan = append(plan, toolsOf(r.agent)[c.dice.IntN(len(toolsOf(r.agent)))])
	}
	req.text = input(req.key, plan)
	c.board.post(r, req)
	c.insist(ctx, func() linear.Output { return c.post(ctx, r, req) })
}

// post sends a request for a turn once.
func (c *client) post(ctx context.Context, r *room, req request) linear.Output {
	in := linear.Input{Kind: linear.Send, Session: r.id, Key: req.key, Mode: req.mode, Text: req.text}
	out, _ := c.call(ctx, in, "POST", "/v1/sessions/"+r.id+"/turns", harness.JSON{"input": req.text, "mode": req.mode},
		func(answer harness.JSON, out *linear.Output) {
			out.Turn, out.Session = answer.Str("id"), answer.Str("session_id")
		})
	if out.Code != linear.OK {
		return out
	}
	if req.mode != "fork" {
		c.board.learn(r, out.Turn)
	} else if c.first(out.Session) {
		c.board.learn(c.enter(out.Session, r.agent, false), out.Turn)
	}
	return out
}

// resend sends an earlier request again, or another one with its key.
func (c *client) resend(ctx context.Context, r *room) {
	req, ok := c.board.again(r, c.dice)
	if !ok {
		return
	}
	if c.dice.IntN(3) == 0 {
		req.text += " other"
	}
	c.post(ctx, r, req)
}

// steer sends more input to a turn.
func (c *client) steer(ctx context.Context, r *room) {
	turn := c.board.turn(r, c.dice)
	if turn == "" {
		return
	}
	key := c.key()
	in := linear.Input{Kind: linear.Steer, Session: r.id, Turn: turn, Key: key, Text: key}
	c.insist(ctx, func() linear.Output {
		out, _ := c.call(ctx, in, "POST", "/v1/turns/"+turn+":steer", harness.JSON{"input": key}, func(answer harness.JSON, out *linear.Output) {
			out.Turn, out.Message = answer.Str("turn_id"), answer.Str("message_id")
		})
		return out
	})
}

// cancel cancels a turn.
func (c *client) cancel(ctx context.Context, r *room) {
	if turn := c.board.turn(r, c.dice); turn != "" {
		in := linear.Input{Kind: linear.Cancel, Session: r.id, Turn: turn}
		c.call(ctx, in, "POST", "/v1/turns/"+turn+":cancel", harness.JSON{}, func(harness.JSON, *linear.Output) {})
	}
}

// read reads a turn or the session.
func (c *client) read(ctx context.Context, r *room) {
	turn := c.board.turn(r, c.dice)
	if turn == "" || c.dice.IntN(3) == 0 {
		c.call(ctx, linear.Input{Kind: linear.ReadSession, Session: r.id}, "GET", "/v1/sessions/"+r.id, nil,
			func(answer harness.JSON, out *linear.Output) { out.Active = answer.Str("active_turn_id") })
		return
	}
	path := "/v1/turns/" + turn
	if c.dice.IntN(4) == 0 {
		path += "?wait=1s"
	}
	c.call(ctx, linear.Input{Kind: linear.ReadTurn, Session: r.id, Turn: turn}, "GET", path, nil,
		func(answer harness.JSON, out *linear.Output) { out.Status = answer.Str("status") })
}

// fork forks a session.
func (c *client) fork(ctx context.Context, r *room) {
	in := linear.Input{Kind: linear.Fork, Session: r.id, Key: c.key()}
	c.insist(ctx, func() linear.Output {
		out, _ := c.call(ctx, in, "POST", "/v1/sessions/"+r.id+":fork", harness.JSON{}, func(answer harness.JSON, out *linear.Output) {
			out.Session = answer.Str("id")
		})
		if out.Code == linear.OK && c.first(out.Session) {
			c.enter(out.Session, r.agent, false)
		}
		return out
	})
}

// watch follows a turn, from its beginning or from its end.
func (c *client) watch(r *room) {
	turn := c.board.turn(r, c.dice)
	c.board.mu.Lock()
	defer c.board.mu.Unlock()
	if turn != "" && c.board.watchers[turn] == nil {
		c.board.watchers[turn] = c.rest.Watch("/v1/turns/" + turn + "/events")
	}
}
