package mcp

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/fault"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// maxSubscriptions limits the resources of one client.
const maxSubscriptions = 1000

// watches observe what clients listen for.
type watches struct {
	tools    registryv1.ToolServiceClient
	servers  registryv1.ServerServiceClient
	stopping context.Context // of the server, not of a call

	mu            sync.Mutex
	subscriptions *lru.Cache[ownSession, *subscriptions]
}

// subscriptions are the resources that a session of the old era has subscribed to. Clients of the new era name them when they listen.
type subscriptions struct {
	mu      sync.Mutex
	uris    map[string]bool
	changed chan struct{} // closed and replaced when uris change
}

func (s *subscriptions) now() (uris []string, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.uris)), s.changed
}

// set returns false if there are too many.
func (s *subscriptions) set(uri string, on bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.uris[uri] == on:
		return true
	case !on:
		delete(s.uris, uri)
	case len(s.uris) >= maxSubscriptions:
		return false
	default:
		s.uris[uri] = true
	}
	close(s.changed)
	s.changed = make(chan struct{})
	return true
}

// subscribed returns the subscriptions of a session.
func (w *watches) subscribed(session ownSession) *subscriptions {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, ok := w.subscriptions.Get(session)
	if !ok {
		s = &subscriptions{uris: map[string]bool{}, changed: make(chan struct{})}
		w.subscriptions.Add(session, s)
	}
	return s
}

func (w *watches) subscribe(q *request) (any, *failure) {
	if q.sessionID == "" {
		return nil, invalidParams("a subscription belongs to a session; initialize one, and listen with GET")
	}
	if _, _, ok := q.route(q.common.URI, uriMark); !ok {
		return nil, noResource(q.common.URI)
	}
	if !w.subscribed(q.own()).set(q.common.URI, true) {
		return nil, invalidParams("the session has as many subscriptions as it may")
	}
	return struct{}{}, nil
}

func (w *watches) unsubscribe(q *request) (any, *failure) {
	if q.sessionID != "" {
		w.subscribed(q.own()).set(q.common.URI, false)
	}
	return struct{}{}, nil
}

// watchSession calls updated for the resources to which a session is subscribed, until ctx ends.
func (w *watches) watchSession(ctx context.Context, source string, session ownSession, updated func(uri string)) {
	s := w.subscribed(session)
	for {
		uris, changed := s.now()
		watching, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() { defer close(done); w.watchResources(watching, source, uris, func() {}, updated) }()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		stop()
		<-done
		if ctx.Err() != nil {
			return
		}
	}
}

// watchResources calls updated for each update of the resources, until ctx ends. It calls ready once, when all sources have accepted the
// subscriptions, or at the end.
func (w *watches) watchResources(ctx context.Context, source string, uris []string, ready func(), updated func(uri string)) {
	q, bySource := &request{source: source}, map[string][]string{}
	for _, uri := range uris {
		if from, own, ok := q.route(uri, uriMark); ok {
			bySource[from] = append(bySource[from], own)
		}
	}
	var all, accepted sync.WaitGroup
	accepted.Add(len(bySource))
	all.Go(func() { accepted.Wait(); ready() })
	for from, own := range bySource {
		clientURI := func(uri string) string { return uri }
		if source == "" {
			clientURI = func(uri string) string { return from + uriMark + uri }
		}
		all.Go(func() {
			w.watchSource(ctx, &registryv1.WatchResourcesRequest{Source: from, Uris: own}, accepted.Done,
				func(m *registryv1.WatchResourcesResponse) { updated(clientURI(m.GetUri())) })
		})
	}
	all.Wait()
}

// watchSource calls changed for each change of what the request names, until ctx ends. It calls ready once, when the source has accepted
// the subscription, when there is no such source, or at the end.
func (w *watches) watchSource(
	ctx context.Context, req *registryv1.WatchResourcesRequest, ready func(), changed func(*registryv1.WatchResourcesResponse),
) {
	ready = sync.OnceFunc(ready)
	defer ready()
	policy := reconnects
	if len(req.GetUris()) == 0 {
		policy = listReconnects
	}
	for pauses, again := policy.Start(), false; ; again = true {
		stream, err := w.servers.WatchResources(ctx, req)
		for err == nil {
			var m *registryv1.WatchResourcesResponse
			if m, err = stream.Recv(); err != nil {
				break
			}
			pauses.Reset()
			switch {
			case m.GetUri() != "" || m.GetResourceList() || m.GetPromptList():
				changed(m)
				continue
			case again:
				missed(req, changed)
			}
			ready()
		}
		if fault.From(err).Code == codes.NotFound { // it is no MCP server, or not for this caller
			if len(req.GetUris()) == 0 {
				return
			}
			ready() // nothing to wait for
		}
		if pauses.Wait(ctx) != nil {
			return
		}
	}
}

// missed calls changed for all that may have changed while the source was not watched.
func missed(req *registryv1.WatchResourcesRequest, changed func(*registryv1.WatchResourcesResponse)) {
	for _, uri := range req.GetUris() {
		changed(&registryv1.WatchResourcesResponse{Uri: uri})
	}
	if req.GetResourceList() || req.GetPromptList() {
		changed(&registryv1.WatchResourcesResponse{ResourceList: req.GetResourceList(), PromptList: req.GetPromptList()})
	}
}

// resourceUpdated returns the notification of an update.
func resourceUpdated(uri string, meta map[string]any) any {
	fields := map[string]any{"uri": uri}
	if meta != nil {
		fields["_meta"] = meta
	}
	return notification(mcp.MethodNotificationResourceUpdated, fields)
}

// The pauses before the registry is watched again. Clients listen to the lists of all sources, those that are away included.
var (
	reconnects     = backoff.Policy{First: 200 * time.Millisecond, Max: 5 * time.Second}
	listReconnects = backoff.Policy{First: time.Second, Max: time.Minute}
)

// watchTools calls changed each time the tools have changed, until ctx ends or the server stops. It calls ready once: when no change is
// missed from then on, or at the end.
func (w *watches) watchTools(ctx context.Context, out *reply, ready, changed func()) {
	ready = sync.OnceFunc(ready)
	defer ready()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	forget := context.AfterFunc(w.stopping, func() { cancel(); out.cancel() })
	defer forget()
	version := ""
	for pauses := reconnects.Start(); ; {
		stream, err := w.tools.WatchTools(ctx, &registryv1.WatchToolsRequest{})
		for err == nil {
			var m *registryv1.WatchToolsResponse
			if m, err = stream.Recv(); err != nil {
				break
			}
			pauses.Reset()
			if version != "" && m.GetVersion() != version {
				changed()
			}
			version = m.GetVersion()
			ready()
		}
		if pauses.Wait(ctx) != nil {
			return
		}
	}
}
