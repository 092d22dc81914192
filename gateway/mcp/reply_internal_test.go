package mcp

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// A stream that is silent is kept alive, and one that has ended is left alone: its writer then belongs to another request.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		out := newReply(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/mcp", nil), time.Second, func() {})
		out.keepAlive(time.Minute)
		want := func(moment, text string) {
			t.Helper()
			synctest.Wait()
			out.mu.Lock()
			defer out.mu.Unlock()
			if got := w.Body.String(); got != text {
				t.Errorf("%s: %q, want %q", moment, got, text)
			}
			w.Body.Reset()
		}
		time.Sleep(40 * time.Second)
		out.send("a message")
		want("after a message", "event: message\ndata: \"a message\"\n\n")
		time.Sleep(40 * time.Second)
		want("40 s after the message", "")
		time.Sleep(20 * time.Second)
		want("a minute after the message", ": keep-alive\n\n")
		time.Sleep(time.Minute)
		want("a minute later", ": keep-alive\n\n")
		out.close()
		time.Sleep(time.Hour)
		want("after the end", "")
	})
}
