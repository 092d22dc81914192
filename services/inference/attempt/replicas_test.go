package attempt_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/bus/bustest"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testpoll"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

// replicas serves two replicas with three keys, and what answers them by key, on one bus.
func replicas(t *testing.T, answers map[string]http.HandlerFunc) (*keyed, [2]inferencev1.InferenceServiceClient) {
	t.Helper()
	k := &keyed{calls: map[string]int{}, answers: answers}
	s := httptest.NewServer(http.HandlerFunc(k.serve))
	t.Cleanup(s.Close)
	cfg := inferencetest.Config()
	cfg.Providers = []catalog.ProviderConfig{{Name: "a", Kind: "openai", BaseURL: s.URL, Models: []string{"m"}}}
	withKeys("1", "2", "3")(&cfg)
	url := bustest.Foreign(t)
	var out [2]inferencev1.InferenceServiceClient
	for i := range out {
		b := connect(t, url)
		out[i] = inferencetest.Serve(t, cfg, nil, func(d *inference.Deps) { d.Bus = b })
	}
	return k, out
}

func connect(t *testing.T, url string) *bus.Bus {
	t.Helper()
	b, err := bus.Open(t.Context(), bus.Config{URL: url, Key: []byte("the key of this mesh"), Credentials: bus.NoCredentials})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return b
}

// entries are what a replica knows to have failed, as "a/k1 cooling".
func entries(t *testing.T, client inferencev1.InferenceServiceClient) (out []string) {
	t.Helper()
	got, err := client.ListModelHealth(t.Context(), &inferencev1.ListModelHealthRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range got.GetEntries() {
		status := strings.TrimPrefix(e.GetStatus().String(), "MODEL_HEALTH_STATUS_")
		out = append(out, e.GetName()+" "+strings.ToLower(status))
	}
	return out
}

// calling makes calls of both replicas at once, in sessions of their own.
func calling(t *testing.T, clients [2]inferencev1.InferenceServiceClient, calls int) {
	t.Helper()
	var all sync.WaitGroup
	for i, client := range clients {
		all.Go(func() {
			for n := range calls / len(clients) {
				req := call("a")
				req.SessionId = fmt.Sprintf("ses_%d_%d", i, n)
				if _, err := inferencetest.Ask(t.Context(), t, client, req); err != nil {
					t.Errorf("call %d: %v", n, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// TestALimitedKeyIsCalledTwiceInAWindow: of a thousand calls by two replicas, at most two reach a limited key within the time that it cools
// down, and it is tried again afterwards.
func TestALimitedKeyIsCalledTwiceInAWindow(t *testing.T) {
	const window = 100 * time.Millisecond
	var mu sync.Mutex
	var at []time.Time
	_, clients := replicas(t, map[string]http.HandlerFunc{"secret-1": func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		at = append(at, time.Now())
		mu.Unlock()
		refuses(429, "slowly", "Retry-After-Ms", fmt.Sprint(window.Milliseconds()))(w, r)
	}})
	calling(t, clients, 1000)
	if len(at) < 2 {
		t.Errorf("%d calls of the limited key: it was not tried again", len(at))
	}
	for i, first := range at {
		if n := slices.IndexFunc(at[i:], func(other time.Time) bool { return other.Sub(first) >= window }); n > 2 || n < 0 && len(at)-i > 2 {
			t.Errorf("more than 2 calls within %v of call %d: %v", window, i, at)
		}
	}
}

// TestARevokedKeyIsCalledOnce: the refusal that one replica sees counts for the other, also for one that starts later, until it is reset.
func TestARevokedKeyIsCalledOnce(t *testing.T) {
	k, clients := replicas(t, map[string]http.HandlerFunc{"secret-1": refuses(401, "revoked")})
	for n := 0; k.of("secret-1") == 0 && n < 1000; n++ {
		req := call("a")
		req.SessionId = fmt.Sprint("ses_", n)
		if _, err := inferencetest.Ask(t.Context(), t, clients[0], req); err != nil {
			t.Fatal(err)
		}
	}
	testpoll.Until(t, "the other replica knows it", func() bool { return slices.Equal(entries(t, clients[1]), []string{"a/k1 refused"}) })
	calling(t, clients, 1000)
	if n := k.of("secret-1"); n != 1 {
		t.Errorf("%d calls of the revoked key", n)
	}
	if _, err := clients[1].ResetModelHealth(t.Context(), &inferencev1.ResetModelHealthRequest{Name: "a/k1"}); err != nil {
		t.Fatal(err)
	}
	testpoll.Until(t, "the reset is shared", func() bool { return len(entries(t, clients[0])) == 0 })
	_, err := clients[0].ResetModelHealth(t.Context(), &inferencev1.ResetModelHealthRequest{Name: "a/k1"})
	if fault.CodeOf(err) != "not_found" {
		t.Errorf("reset of a healthy key: %v", err)
	}
}
