package source_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/egress/egresstest"
	"github.com/windlass-dev/windlass/services/knowledge/source/fetch"
	"github.com/windlass-dev/windlass/services/knowledge/source/page"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

const maxBytes = 4096

// newPage is the kind over an egress that reaches only good.example.
func newPage(t *testing.T) page.Kind {
	t.Helper()
	return page.Kind{Client: fetch.Client{Egress: egresstest.Public(t, nil), MaxBytes: maxBytes}}
}

func TestAPageIsReadOnlyWhenItHasChanged(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, header, value, condition string }{
		{"an entity tag", "ETag", `W/"1"`, "If-None-Match"},
		{"a time", "Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT", "If-Modified-Since"},
	} {
		base := egresstest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(row.header, row.value)
			if r.Header.Get(row.condition) == row.value {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			w.Header().Set("Content-Type", "text/markdown")
			w.Header().Add("Windlass-Labels", "staff, board,")
			fmt.Fprint(w, "# One")
		}))
		kind, spec := newPage(t), store.SourceSpec{Kind: "url", URL: base + "/a.md?x=1"}
		first := read(t, kind, spec, newVisitor())
		item := first.found[spec.URL]
		if string(item.Data) != "# One" || item.MediaType != "text/markdown" || item.Name != strings.TrimPrefix(spec.URL, "http://") ||
			strings.Join(item.Labels, " ") != "staff board" || first.total != 1 {
			t.Errorf("%s: %+v", row.name, item)
		}
		if second := read(t, kind, spec, first.next()); len(second.found) != 0 || len(second.same) != 1 {
			t.Errorf("%s: the second time %+v", row.name, second)
		}
	}
}

// TestAPageWithOtherLabelsIsReadAgain: its server says that the content is unchanged, and with which labels.
func TestAPageWithOtherLabelsIsReadAgain(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, before, after string
		want                string // the labels if it is read again; "same" if not
	}{
		{"the same", "staff, board", "staff,board,", "same"},
		{"one more", "staff", "staff, board", "staff board"},
		{"the first", "", "staff", "staff"},
		{"none", "staff", " ", ""},
		{"no header", "staff", "", "same"},
	} {
		said := row.before
		base := egresstest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			if said != "" {
				w.Header().Set("Windlass-Labels", said)
			}
			if r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			fmt.Fprint(w, "text")
		}))
		kind, spec := newPage(t), store.SourceSpec{Kind: "url", URL: base + "/a"}
		first := read(t, kind, spec, newVisitor())
		said = row.after
		second := read(t, kind, spec, first.next())
		item, found := second.found[spec.URL]
		if got := strings.Join(item.Labels, " "); found == (row.want == "same") || found && got != row.want {
			t.Errorf("%s: read again %v, with the labels %q", row.name, found, got)
		}
		if third := read(t, kind, spec, second.next()); found && len(third.same) != 1 {
			t.Errorf("%s: the third time %+v", row.name, third)
		}
	}
}

// TestServersThatLie: each answer has an outcome in bounded time and memory, and none makes a document vanish but that it is gone.
func TestServersThatLie(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2000)
	for _, row := range []struct {
		name   string
		answer http.HandlerFunc
		want   string // the reason; "" = it is read
	}{
		{"unchanged, without a condition", status(http.StatusNotModified), "status 304"},
		{"forbidden", status(http.StatusForbidden), "status 403"},
		{"broken", status(http.StatusInternalServerError), "status 500"},
		{"no content", status(http.StatusNoContent), "status 204"},
		{"part of the content", status(http.StatusPartialContent), "status 206"},
		{"an endless body", endless, "more than 4096 bytes"},
		{"a bomb", bomb, "more than 4096 bytes"},
		{"a length that is too long", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "short")
		}, "before the end"},
		{"a length that is negative", raw("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabc"), "cannot be had"},
		{"no HTTP", raw("SSH-2.0-OpenSSH\r\n"), "cannot be had"},
		{"a loop of redirects", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}, "redirects to"},
		{"a redirect to a private address", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}, "redirects to"},
		{"a redirect to another scheme", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}, "redirects to"},
		{"labels without an end", header("Windlass-Labels", strings.Repeat("a,", 3000)), "longer than 4096 bytes"},
		{"an entity tag that is too long", header("ETag", `"`+long+`"`), ""},
		{"a time that is none", header("Last-Modified", "yesterday"), ""},
		{"another type", header("Content-Type", "image/png"), ""},
		{"a type that is none", header("Content-Type", "a/b/c;;="), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			base := egresstest.Serve(t, row.answer)
			spec := store.SourceSpec{Kind: "url", URL: base + "/page"}
			if row.want != "" {
				unreadable(t, newPage(t), spec, row.want)
				return
			}
			if item := read(t, newPage(t), spec, newVisitor()).found[spec.URL]; string(item.Data) != "text" || item.Validator != "" {
				t.Errorf("read %+v", item)
			}
		})
	}
}

func TestPagesThatAreGoneVanish(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusNotFound, http.StatusGone} {
		spec := store.SourceSpec{Kind: "url", URL: egresstest.Serve(t, status(code))}
		if v := read(t, newPage(t), spec, newVisitor()); len(v.found)+len(v.same)+len(v.failed) != 0 {
			t.Errorf("status %d: %+v", code, v)
		}
	}
}

func TestPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	trap := egresstest.NewTrap(t)
	for _, host := range egresstest.Hosts() {
		unreadable(t, newPage(t), store.SourceSpec{Kind: "url", URL: trap.URL(host)}, "")
	}
	if n := trap.Accepted(); n != 0 {
		t.Errorf("%d connections reached a private address", n)
	}
}

func TestACancelledReadingIsNoReason(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	base := egresstest.Serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { cancel() }))
	if err := newPage(t).Read(ctx, store.SourceSpec{URL: base}, newVisitor()); !errors.Is(err, context.Canceled) {
		t.Errorf("read with %v", err)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, good := range map[string]bool{
		"https://example.com": true, "http://example.com:8080/a?b=c": true, "": false, "example.com": false, "ftp://example.com": false,
		"file:///etc/passwd": false, "https://": false, "https://:443/": false, "https://u:p@example.com": false, "https://example.com/#a": false,
		"https://exa mple.com": false, "http://[::1": false, "javascript:alert(1)": false,
	} {
		if err := (page.Kind{}).Check(store.SourceSpec{Kind: "url", URL: address}); (err == nil) != good {
			t.Errorf("%q: %v", address, err)
		}
	}
	if err := (page.Kind{}).Check(store.SourceSpec{Kind: "url", URL: "https://example.com", Folder: "/x"}); err == nil {
		t.Error("a page with a folder was accepted")
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func header(name, value string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(name, value)
		fmt.Fprint(w, "text")
	}
}

// endless writes until the client has had enough.
func endless(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		if _, err := fmt.Fprint(w, strings.Repeat("x", 1<<16)); err != nil {
			return
		}
	}
}

// bomb is short as it is sent.
func bomb(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	io.CopyN(z, zeros{}, 1<<20) //nolint:errcheck // the client ends it
	z.Close()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// raw answers with bytes.
func raw(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		fmt.Fprint(conn, text)
		conn.Close()
	}
}
