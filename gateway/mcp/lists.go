package mcp

import (
	"context"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// maxListed limits the sources whose lists one client watches.
const maxListed = 256

// lists are the lists of which a client wants to know that they have changed, besides that of tools.
type lists struct{ resources, prompts bool }

// any reports whether there is one.
func (l lists) any() bool { return l.resources || l.prompts }

// notifications returns the methods that say so.
func (l lists) notifications() []string {
	var methods []string
	if l.resources {
		methods = append(methods, mcp.MethodNotificationResourcesListChanged)
	}
	if l.prompts {
		methods = append(methods, mcp.MethodNotificationPromptsListChanged)
	}
	return methods
}

// watchLists calls changed each time that a list has changed: at its source, or because there are other sources, which resync says may be
// the case. It calls ready once, when all sources are watched, or at the end.
func (w *watches) watchLists(ctx context.Context, source string, want lists, resync <-chan struct{}, ready func(), changed func(lists)) {
	ready = sync.OnceFunc(ready)
	defer ready()
	if !want.any() {
		return
	}
	if source != "" {
		w.watchListsOf(ctx, []string{source}, want, ready, changed)
		return
	}
	have, withSkills, ok := w.listing(ctx)
	for ok {
		watching, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() { defer close(done); w.watchListsOf(watching, have, want, ready, changed) }()
		now := have
		for ok && slices.Equal(now, have) {
			select {
			case <-resync:
			case <-ctx.Done():
			}
			had := withSkills
			if now, withSkills, ok = w.listing(ctx); ok && want.resources && (had || withSkills) {
				changed(lists{resources: true}) // what changed may be a skill
			}
		}
		stop()
		<-done
		if have = now; ok {
			changed(want)
		}
	}
}

// listing returns the sources whose resources or prompts the caller may use, and whether there are skills; false when ctx ended.
func (w *watches) listing(ctx context.Context) (names []string, withSkills, ok bool) {
	for pauses := reconnects.Start(); ; {
		found, err := w.servers.ListServers(ctx, &registryv1.ListServersRequest{})
		if err == nil {
			for _, s := range found.GetServers() {
				if withSkills = withSkills || s.GetSkills(); s.GetResources() || s.GetPrompts() {
					names = append(names, s.GetSource())
				}
			}
			return names[:min(len(names), maxListed)], withSkills, true
		}
		if pauses.Wait(ctx) != nil {
			return nil, false, false
		}
	}
}

// watchListsOf watches the lists of sources until ctx ends.
func (w *watches) watchListsOf(ctx context.Context, sources []string, want lists, ready func(), changed func(lists)) {
	var all, accepted sync.WaitGroup
	accepted.Add(len(sources))
	all.Go(func() { accepted.Wait(); ready() })
	for _, source := range sources {
		all.Go(func() {
			req := &registryv1.WatchResourcesRequest{Source: source, ResourceList: want.resources, PromptList: want.prompts}
			w.watchSource(ctx, req, accepted.Done,
				func(m *registryv1.WatchResourcesResponse) { changed(lists{m.GetResourceList(), m.GetPromptList()}) })
		})
	}
	all.Wait()
}
