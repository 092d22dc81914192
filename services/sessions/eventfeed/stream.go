package eventfeed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/timestamp"
	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// Source is the part of another service that the feed reads.
type Source interface {
	// ReadEvents reads a part of the service's log.
	ReadEvents(ctx context.Context, in *registryv1.ReadEventsRequest, opts ...grpc.CallOption) (*registryv1.ReadEventsResponse, error)
}

// page is a part of a stream; see eventlog.Page.
type page struct {
	events                      []*eventv1.CloudEvent
	numbers                     []int64
	first, last, position, head int64
	done                        bool
}

// stream reads the events of one service; quick does not wait for a service that is away. An error that is ErrCursor means that the query
// is ahead of the log.
type stream func(ctx context.Context, q eventlog.Query, quick bool) (page, error)

// own reads the log of this service.
func own(log *eventlog.Log) stream {
	return func(ctx context.Context, q eventlog.Query, _ bool) (page, error) {
		p, err := log.Read(ctx, q)
		if errors.Is(err, eventlog.ErrAhead) {
			return page{}, ErrCursor
		}
		if err != nil {
			return page{}, err
		}
		out := page{first: p.First, last: p.Last, position: p.Position, head: p.Head, done: p.Done}
		for _, e := range p.Events {
			ce, err := e.CloudEvent(log.Source())
			if err != nil {
				return page{}, err
			}
			out.events, out.numbers = append(out.events, ce), append(out.numbers, e.Seq)
		}
		return out, nil
	}
}

// errBroken means that the answer of a service makes no sense.
var errBroken = errors.New("its events have no numbers")

// readTimeout bounds one read of a service's log, quickTimeout one during which the events of other streams wait.
const (
	readTimeout  = 10 * time.Second
	quickTimeout = 3 * time.Second
)

// remote reads the log of another service.
func remote(name string, r Source) stream {
	return func(ctx context.Context, q eventlog.Query, quick bool) (page, error) {
		timeout := readTimeout
		if quick {
			timeout = quickTimeout
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		resp, err := r.ReadEvents(ctx, &registryv1.ReadEventsRequest{
			Tenant: q.Tenant, After: uint64(q.After), Before: uint64(q.Before), NewestFirst: q.Newest, Limit: int32(q.Limit), Types: q.Types,
			Subject: q.Subject, Owner: q.Owner, Since: timestamp.Of(q.Since), Until: timestamp.Of(q.Until),
		}, grpc.WaitForReady(!quick))
		if f := fault.As(err); f != nil && f.Code == codes.InvalidArgument && f.Reason == faultv1.Reason_REASON_INVALID_CURSOR {
			return page{}, ErrCursor
		}
		if err != nil {
			return page{}, fmt.Errorf("events of %s: %w", name, err)
		}
		out := page{
			events: resp.GetEvents(), first: int64(resp.GetFirst()), last: int64(resp.GetLast()), position: int64(resp.GetPosition()),
			done: resp.GetDone(), head: int64(resp.GetHead()),
		}
		for _, n := range resp.GetNumbers() {
			out.numbers = append(out.numbers, int64(n))
		}
		if len(out.events) != len(out.numbers) {
			return page{}, fmt.Errorf("events of %s: %w", name, errBroken)
		}
		return out, nil
	}
}
