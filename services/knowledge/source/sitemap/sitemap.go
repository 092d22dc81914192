// Package sitemap is the kind "sitemap" of sources of banks: the pages that a site lists in its sitemap, as sitemaps.org describes it.
package sitemap

import (
	"context"
	"errors"
	"net/url"

	"github.com/windlass-dev/windlass/services/knowledge/source"
	"github.com/windlass-dev/windlass/services/knowledge/source/fetch"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// Limits of one site.
const (
	// MaxPages is the maximum number of pages.
	MaxPages = 5000
	// maxMaps is the maximum number of sitemaps, maxDepth that of lists above one, and maxMapBytes the size of one.
	maxMaps     = 200
	maxDepth    = 3
	maxMapBytes = 10 << 20
	// maxRow is how many pages in a row may fail until the site counts as unreachable.
	maxRow = 10
)

// Kind implements source.Kind.
type Kind struct {
	// Client reads the pages.
	Client fetch.Client
}

// Check implements source.Kind.
func (Kind) Check(spec store.SourceSpec) error {
	if err := source.Only(spec, "url"); err != nil {
		return err
	}
	return fetch.CheckURL(spec.URL)
}

// Read implements source.Kind.
func (k Kind) Read(ctx context.Context, spec store.SourceSpec, v source.Visitor) error {
	w := &survey{client: fetch.Client{Egress: k.Client.Egress, MaxBytes: maxMapBytes}, seen: map[string]bool{}}
	if err := w.add(ctx, spec.URL, 0); err != nil {
		return err
	}
	if len(w.pages) == 0 {
		return source.Unreadable("the sitemap lists no pages")
	}
	v.Total(len(w.pages))
	home, err := url.Parse(spec.URL)
	if err != nil {
		return source.Unreadable("its address is not a URL")
	}
	row := 0
	for _, address := range w.pages {
		switch err := k.page(ctx, home, address, v); {
		case err == nil:
			row = 0
		case asUnreadable(err) == "":
			return err
		default:
			if row++; row >= maxRow {
				return source.Unreadable("%d pages in a row could not be read, the last because %s", row, asUnreadable(err))
			}
			if err := v.Failed(ctx, address, asUnreadable(err)); err != nil {
				return err
			}
		}
	}
	return nil
}

func asUnreadable(err error) string {
	if unreadable, ok := errors.AsType[*source.UnreadableError](err); ok {
		return unreadable.Reason
	}
	return ""
}

// page reads one page. Those of other hosts are left out.
func (k Kind) page(ctx context.Context, home *url.URL, address string, v source.Visitor) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != home.Scheme || u.Host != home.Host || u.User != nil {
		return v.Failed(ctx, address, "it is not on the host of the sitemap")
	}
	p, err := k.Client.Get(ctx, address, v.Validator(address))
	switch {
	case err != nil:
		return err
	case p.Gone:
		return nil
	case p.Unchanged:
		return v.Same(ctx, address)
	}
	return v.Found(ctx, source.Item{
		Key: address, Name: fetch.Name(address), MediaType: p.MediaType, Validator: p.Validator, Labels: p.Labels, Data: p.Data,
	})
}

// survey collects the pages of a site.
type survey struct {
	client fetch.Client
	pages  []string
	maps   int
	seen   map[string]bool // pages and sitemaps
}

// add adds the pages of a sitemap, and of those that it lists.
func (w *survey) add(ctx context.Context, address string, depth int) error {
	switch {
	case w.seen[address]:
		return nil
	case depth > maxDepth:
		return source.Unreadable("its sitemaps list each other more than %d deep", maxDepth)
	case w.maps >= maxMaps:
		return source.Unreadable("it has more than %d sitemaps", maxMaps)
	}
	w.seen[address] = true
	w.maps++
	p, err := w.client.Get(ctx, address, "")
	if reason := asUnreadable(err); reason != "" {
		return source.Unreadable("the sitemap %s cannot be read: %s", address, reason)
	}
	if err != nil {
		return err
	}
	if p.Gone {
		return source.Unreadable("the sitemap %s does not exist", address)
	}
	list, err := parse(p.Data)
	if err != nil {
		return source.Unreadable("the sitemap %s cannot be read: %s", address, err)
	}
	for _, page := range list.pages {
		if w.seen[page] {
			continue
		}
		if w.seen[page] = true; len(w.pages) >= MaxPages {
			return source.Unreadable("it lists more than %d pages", MaxPages)
		}
		w.pages = append(w.pages, page)
	}
	for _, further := range list.maps {
		if !sameHost(address, further) {
			return source.Unreadable("the sitemap %s lists one on another host", address)
		}
		if err := w.add(ctx, further, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func sameHost(one, other string) bool {
	a, errA := url.Parse(one)
	b, errB := url.Parse(other)
	return errA == nil && errB == nil && a.Scheme == b.Scheme && a.Host == b.Host && b.User == nil
}
