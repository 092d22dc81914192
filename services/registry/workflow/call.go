package workflow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/placeholder"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Call is one call of a tool.
type Call struct {
	// Source is where the workflow runs, Action what the tool does.
	Source store.Source
	Action Action
	// Args fit the tool's schema.
	Args canon.Object
	// Key identifies the call across its attempts. Subject is on whose behalf it is made.
	Key, Subject string
	// Timeout bounds the call.
	Timeout time.Duration
	// Authorize adds credentials to the header of a request. Its error is a fault.
	Authorize func(*http.Request) error
	// Hide removes secrets from a text.
	Hide func(string) string
}

// maxID limits the id of a workflow, in bytes.
const maxID = 500

// Call makes a call and returns the tool's result, which is that of the workflow. The error is an *source.Error.
//
// The workflow is started by one request. If the answer to it is lost, the workflow is looked for by its id: whether it is there is a
// question that may be asked again. A wait that breaks off is continued in the same way.
func (c *Client) Call(ctx context.Context, call Call) (*turnv1.ToolResult, error) {
	ctx, cancel := context.WithTimeout(ctx, call.Timeout)
	defer cancel()
	a := &attempt{Call: call, server: &server{client: c, source: call.Source, authorize: call.Authorize}}
	if call.Action.Result {
		return a.result(ctx)
	}
	id, refused := call.workflowID()
	if refused != "" {
		return source.Text(refused, true), nil
	}
	refusal, err := a.start(ctx, id)
	if err != nil || refusal != nil {
		return refusal, err
	}
	if call.Action.Poll {
		return structured(map[string]any{"workflow_id": id, "status": "running"}), nil
	}
	end, err := a.await(ctx, id)
	if err != nil {
		return nil, a.unanswered(ctx, id, err)
	}
	return a.outcome(id, end)
}

// attempt is one attempt of a call.
type attempt struct {
	Call
	*server
}

// workflowID returns the id of the workflow, or why there is none.
func (c Call) workflowID() (id, refused string) {
	if c.Action.ID == "" {
		return c.Source.Name + "__" + c.Action.Entry + "-" + digest(c.Source.Tenant, c.Source.ID, c.Key), ""
	}
	id, wrong := placeholder.Resolve(c.Action.ID, func(r placeholder.Ref) (string, *placeholder.Error) {
		switch v := c.Args[r.Path].(type) {
		case string:
			if v == "" {
				return "", placeholder.Wrong(r, "is empty")
			}
			return v, nil
		case json.Number:
			return v.String(), nil
		case bool:
			return fmt.Sprint(v), nil
		default:
			return "", placeholder.Wrong(r, "is neither text, number nor boolean")
		}
	})
	switch {
	case len(wrong) > 0:
		return "", "The workflow was not started, since its ID cannot be made: " + wrong[0].Error() + "."
	case len(id) > maxID || strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == '\uFFFD' }):
		return "", fmt.Sprintf("The workflow was not started, since its ID is longer than %d bytes or has control characters.", maxID)
	}
	return id, ""
}

// owner identifies, in the memo of a workflow, who may read it through which tool.
func (c Call) owner() string {
	return digest(c.Source.Tenant, c.Source.ID, c.Action.Entry, c.Subject)
}

// digest returns a hash of texts, as 32 hex digits.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// defaultWait is how long a result is waited for.
const defaultWait = 30 * time.Second

// result waits for a workflow that an earlier call started, and says its status.
func (a *attempt) result(ctx context.Context) (*turnv1.ToolResult, error) {
	id, _ := a.Args["workflow_id"].(string) // the schema has checked the types
	wait := defaultWait
	if n, ok := a.Args["wait_seconds"].(json.Number); ok {
		seconds, err := n.Float64()
		if err != nil {
			seconds = 0
		}
		wait = time.Duration(seconds * float64(time.Second))
	}
	found, err := a.describe(ctx, id)
	_, unsent := errors.AsType[notSentError](err)
	switch {
	case unsent:
		return nil, a.notReached(err)
	case err != nil && !errors.Is(err, errGone):
		return nil, a.unanswered(ctx, id, err)
	case err != nil || !found.of(a.Call):
		return source.Text(fmt.Sprintf("There is no workflow with the ID %q that you started with the tool %s.", id, a.Action.Entry), true), nil
	}
	if found.running() && wait <= 0 {
		return structured(map[string]any{"workflow_id": id, "status": "running"}), nil
	}
	// The call's own time must not end first: that the workflow still runs is an answer.
	waiting, cancel := context.WithTimeout(ctx, max(min(wait, a.Timeout*9/10), time.Second))
	defer cancel()
	end, err := a.await(waiting, id)
	switch {
	case err != nil && waiting.Err() != nil && ctx.Err() == nil:
		return structured(map[string]any{"workflow_id": id, "status": "running"}), nil
	case err != nil:
		return nil, a.unanswered(ctx, id, err)
	}
	return a.polled(id, end)
}

var errGone = errors.New("the workflow is gone")
