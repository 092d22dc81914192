package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/sse"
	"github.com/windlass-dev/windlass/services/inference/provider/feature"
	"github.com/windlass-dev/windlass/services/inference/provider/wire"
)

// maxRefusals is how often one call is written again.
const maxRefusals = 6

// Attempt is a call as it is written in one manner.
type Attempt interface {
	// Body returns the body of the request, to be encoded.
	Body() any
	// Send sends the encoded body and waits for the beginning of the answer.
	Send(ctx context.Context, body []byte) (*http.Response, error)
	// Sent says what the request holds, once there is a body.
	Sent() Sent
	// Reader returns what reads the answer; it emits the pieces.
	Reader(emit func(Delta) error) Reader
}

// Reader reads one answer.
type Reader interface {
	// Event reads one event; io.EOF ends the reading.
	Event(e sse.Event) error
	// Failure reads the failure in a body that is no stream, if there is one.
	Failure(body []byte) (Failure, bool)
	// Ended reports whether the answer is complete, so that errors after its end do not matter.
	Ended() bool
	// Finish returns the end of the answer, after the last event.
	Finish() (Finished, error)
}

// Generate makes a call as Provider.Generate does. A request that the provider refuses for what Lessons are about is written again.
func (l *Lessons) Generate(
	ctx context.Context, id Identity, req Request, write func(*Manner) Attempt, emit func(Delta) error,
) (Finished, error) {
	m := l.Manner(req.Model)
	for n := 0; ; n++ {
		hidden, err := l.hidden(req)
		if err != nil {
			return Finished{}, err
		}
		a := write(m)
		resp, err := send(ctx, id, req, a) //nolint:bodyclose // receive closes it
		if err == nil {
			l.worked(req, m)
			return receive(ctx, id, req.Model, resp, a, hidden, emit)
		}
		refused, ok := errors.AsType[*RefusedError](err)
		if !ok || n == maxRefusals || !l.Learn(req, m, a.Sent(), refused.Failure) {
			return Finished{}, id.Failed(ctx, req.Model, err)
		}
	}
}

// send writes a request, unless it lacks the tool that the model must call.
func send(ctx context.Context, id Identity, req Request, a Attempt) (*http.Response, error) {
	made := a.Body()
	must := cmp.Or(req.Answer, req.Forces())
	if must != "" && must != feature.Any && !slices.ContainsFunc(a.Sent().Tools, func(t Tool) bool {
		return t.Own == must && (t.Schema != nil || must != req.Answer)
	}) {
		return nil, rejected("%s cannot be made to call %s: %s", id.Name, must, strings.Join(a.Sent().Warnings, "; ")).
			Hint("Leave generation.tool_choice out, or change the tool.").Cause(ErrUnoffered)
	}
	body, err := wire.JSON(made)
	if err != nil {
		return nil, err
	}
	return a.Send(ctx, body)
}

// receive reads an answer. hidden are warnings beside those of the attempt.
func receive(
	ctx context.Context, id Identity, model string, resp *http.Response, a Attempt, hidden []string, emit func(Delta) error,
) (Finished, error) {
	batch := NewBatch(emit)
	names := newRenaming(a.Sent().Tools, batch.Emit)
	r := a.Reader(names.emit)
	if err := id.events(ctx, resp, model, batch, r); err != nil && (!r.Ended() || fault.As(err) == nil) {
		return Finished{}, err
	}
	if err := names.flush(); err != nil {
		return Finished{}, err
	}
	end, err := r.Finish()
	end.Warnings, end.Rest = append(hidden, a.Sent().Warnings...), QuotaRest(resp.Header, time.Now())
	return end, err
}

// Failed returns the error of a request that an SDK or a Client sent.
func (id Identity) Failed(ctx context.Context, model string, err error) error {
	if f := fault.As(err); f != nil {
		return f
	}
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return id.Fault(model, refused.Failure)
	}
	return id.Transport(ctx, err)
}

// ReadModels reads a list of models, {"data": [{"id": …}]}, and closes it.
func (id Identity) ReadModels(resp *http.Response) ([]string, error) {
	defer func() { _ = resp.Body.Close() }() // read only: nothing is lost
	var listed struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&listed); err != nil {
		return nil, Broken("the model list of %s cannot be read", id.Name).Cause(err)
	}
	names := make([]string, 0, len(listed.Data))
	for _, m := range listed.Data {
		if m.ID != "" {
			names = append(names, m.ID)
		}
	}
	return names, nil
}
