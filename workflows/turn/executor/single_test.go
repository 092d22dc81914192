package executor_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

// TestARoundIsOneRequest: a round over HTTP reaches its executor once, whatever that answers and over whichever connection; what
// may be repeated is repeated by the worker, as another attempt under the same key.
func TestARoundIsOneRequest(t *testing.T) {
	t.Setenv("WINDLASS_EXECUTOR_TOKEN", "the-token")
	answers := map[string]func(http.ResponseWriter){
		"closed":   func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"half":     func(w http.ResponseWriter) { fmt.Fprint(w, "data: {\"type\":\"te") },
		"no end":   func(w http.ResponseWriter) { fmt.Fprint(w, "data: {\"type\":\"text.delta\",\"text\":\"hi\"}\n\n") },
		"no event": func(http.ResponseWriter) {},
	}
	for _, status := range []int{
		201, 204, 301, 302, 307, 308, 400, 401, 403, 404, 408, 409, 410, 413, 421, 425, 429, 500, 501, 502, 503,
		504,
	} {
		for name, body := range map[string]string{"empty": "", "html": "<html>", "an end": "data: {\"type\":\"end\"}\n\n"} {
			answers[fmt.Sprint(status, " ", name)] = func(w http.ResponseWriter) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(status)
				fmt.Fprint(w, body)
			}
		}
	}
	repeatable := func(name string) bool { // by the worker
		switch status, _, _ := strings.Cut(name, " "); status {
		case "408", "429", "500", "502", "503", "504", "closed", "half", "no":
			return true
		}
		return false
	}
	var mu sync.Mutex
	seen := map[string]int{}
	x := served(t, func(w http.ResponseWriter, r *http.Request) {
		var inv struct {
			Attempt int
			Input   []struct{ Text string }
		}
		if err := json.NewDecoder(r.Body).Decode(&inv); err != nil {
			t.Error(err)
		}
		name := inv.Input[0].Text
		mu.Lock()
		seen[fmt.Sprint(name, " ", inv.Attempt, " ", r.Header.Get("Idempotency-Key"))]++
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		if answer := answers[name]; answer != nil {
			answer(w)
			return
		}
		fmt.Fprint(w, "data: {\"type\":\"text.delta\",\"text\":\"hi\"}\n\ndata: {\"type\":\"end\"}\n\n")
	})
	h := newHost(t)
	run := func(name string, attempt uint32) error {
		r := round(x)
		r.Invocation.Attempt, r.Invocation.Input[0].Content = attempt, executiontest.Text(name)
		_, err := h.Run(t.Context(), r, (&heard{}).sink())
		return err
	}
	for name := range answers {
		for attempt := range uint32(2) {
			if err := run("warm", 1); err != nil { // the next request goes over a connection that was used before
				t.Fatal(err)
			}
			err := run(name, attempt+1)
			want := "executor_failed"
			if repeatable(name) {
				want = "executor_unavailable"
			}
			mu.Lock()
			n := seen[fmt.Sprint(name, " ", attempt+1, " trn_1/infer-1")]
			mu.Unlock()
			if n != 1 || fault.CodeOf(err) != want {
				t.Errorf("%s, attempt %d: %d requests, %v", name, attempt+1, n, err)
			}
		}
	}
}
