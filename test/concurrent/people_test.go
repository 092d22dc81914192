package concurrent

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
	"github.com/windlass-dev/windlass/test/linear"
)

// subject is the subject of the clients' calls.
const subject = "local"

// look lists pending approvals.
func (c *client) look(ctx context.Context) []harness.JSON {
	out, answer := c.do(ctx, "GET", "/v1/approvals?status=pending&page_size=1000", nil, "")
	if out.Code != linear.OK {
		return nil
	}
	list := objects(answer["approvals"])
	c.board.found(list)
	return list
}

// decide answers an approval seen at some time, in any way.
func (c *client) decide(ctx context.Context) {
	if c.dice.IntN(2) == 0 {
		c.look(ctx)
	}
	a := c.board.approval(c.dice)
	if a == nil {
		return
	}
	choices := []string{"approve", "deny"}
	if a.Str("kind") == "resolution" {
		choices = []string{"done", "not_done", "give_up"}
	}
	if c.dice.IntN(5) == 0 {
		c.readApproval(ctx, a)
		return
	}
	c.answer(ctx, a, choices[c.dice.IntN(len(choices))])
}

// answer decides an approval or resolves a call.
func (c *client) answer(ctx context.Context, a harness.JSON, choice string) linear.Output {
	in := linear.Input{Kind: linear.Decide, Approval: a.Str("id"), Choice: choice, Subject: subject, Late: passed(a)}
	path, body := "/v1/approvals/"+a.Str("id")+":decide", harness.JSON{"decision": choice}
	if a.Str("kind") == "resolution" {
		in.Kind, in.Subject = linear.Resolve, ""
		path, body = "/v1/turns/"+a.Str("turn_id")+":resolve", harness.JSON{"call_id": a.Str("call_id"), "outcome": choice}
	}
	out, _ := c.call(ctx, in, "POST", path, body, func(now harness.JSON, out *linear.Output) {
		// A call that was lost once more has a newer approval.
		out.Approval, out.Status = now.Str("id"), now.Str("status")
		out.Early = !passed(a)
	})
	return out
}

func (c *client) readApproval(ctx context.Context, a harness.JSON) {
	in := linear.Input{Kind: linear.ReadApproval, Approval: a.Str("id")}
	c.call(ctx, in, "GET", "/v1/approvals/"+a.Str("id"), nil, func(answer harness.JSON, out *linear.Output) {
		out.Status, out.Early = answer.Str("status"), !passed(a)
	})
}

// passed reports whether an approval has expired.
func passed(a harness.JSON) bool {
	at, err := time.Parse(time.RFC3339Nano, a.Str("expire_time"))
	return err == nil && !time.Now().Before(at)
}

// objects are those of a JSON array.
func objects(list any) (out []harness.JSON) {
	all, _ := list.([]any)
	for _, one := range all {
		if o, ok := one.(map[string]any); ok {
			out = append(out, o)
		}
	}
	return out
}
