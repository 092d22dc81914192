package attempt_test

import (
	"bytes"
	"fmt"
	"image"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/image/bmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

// keyed answers by the key of a request, and counts the calls of each.
type keyed struct {
	answers map[string]http.HandlerFunc // others say "well"

	mu    sync.Mutex
	calls map[string]int
}

func (k *keyed) serve(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	k.mu.Lock()
	k.calls[key]++
	answer, ok := k.answers[key]
	k.mu.Unlock()
	if !ok {
		answer = says("stop", "well")
	}
	answer(w, r)
}

func (k *keyed) of(key string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.calls[key]
}

// withKeys gives the provider a keys in place of its own.
func withKeys(keys ...string) func(*inference.Config) {
	return func(cfg *inference.Config) {
		cfg.Providers[0].APIKey = secret.Value{}
		for _, k := range keys {
			cfg.Keys = append(cfg.Keys, catalog.KeyConfig{Provider: "a", Alias: "k" + k, APIKey: secret.New("secret-" + k)})
		}
	}
}

func TestALimitedKeyAndARevokedOneGetNoFurtherCalls(t *testing.T) {
	k := &keyed{calls: map[string]int{}, answers: map[string]http.HandlerFunc{
		"secret-1": refuses(429, "slowly", "Retry-After", "600"), "secret-2": refuses(401, "revoked"),
	}}
	client, _ := serve(t, withKeys("1", "2", "3"), k.serve)
	for i := range 1000 {
		req := call("a")
		req.SessionId = fmt.Sprint("ses_", i)
		got, err := inferencetest.Ask(t.Context(), t, client, req)
		if err != nil {
			t.Fatal(err)
		}
		if by := got.Finished.GetAttempt().GetKey(); by != "k3" {
			t.Fatalf("answered with the key %q", by)
		}
	}
	if k.of("secret-1") != 1 || k.of("secret-2") != 1 || k.of("secret-3") != 1000 {
		t.Errorf("calls %v", k.calls)
	}
}

func TestAKeyThatMayNotUseAModelIsUsedForOthers(t *testing.T) {
	k := &keyed{calls: map[string]int{}, answers: map[string]http.HandlerFunc{"secret-1": func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "forbidden") {
			refuses(403, "not yours")(w, r)
			return
		}
		says("stop", "well")(w, r)
	}}}
	client, _ := serve(t, func(cfg *inference.Config) {
		withKeys("1")(cfg)
		cfg.Providers[0].Models = []string{"m", "forbidden"}
	}, k.serve)
	req := call("a")
	req.Model = "a/forbidden"
	for range 2 {
		if _, err := inferencetest.Ask(t.Context(), t, client, req); !strings.Contains(fault.From(err).Message, "does not let this key use") {
			t.Error(err)
		}
		if _, err := inferencetest.Ask(t.Context(), t, client, call("a")); err != nil {
			t.Error(err)
		}
	}
}

func TestAKeyThatCannotBeReadEndsNoChain(t *testing.T) {
	client, _ := serve(t, func(cfg *inference.Config) {
		withKeys()(cfg)
		cfg.Providers[0].APIKey = secret.Value{}
		cfg.Keys = []catalog.KeyConfig{{Provider: "a", Alias: "gone", APIKey: secret.New("${secret:gone}")}}
	}, says("stop", "never"), says("stop", "well"))
	got, err := inferencetest.Ask(t.Context(), t, client, call("a", "b"))
	if err != nil || got.Finished.GetAttempt().GetModel() != "b/m" || got.Attempts[0].GetKey() != "gone" {
		t.Errorf("%v, attempts %v", err, got.Attempts)
	}
}

func TestWithoutAKeyThatIsAcceptedTheErrorNamesAll(t *testing.T) {
	k := &keyed{calls: map[string]int{}, answers: map[string]http.HandlerFunc{
		"secret-1": refuses(401, "revoked"), "secret-2": refuses(401, "revoked"),
	}}
	client, _ := serve(t, withKeys("1", "2"), k.serve)
	var err error
	for range 2 {
		_, err = inferencetest.Ask(t.Context(), t, client, call("a"))
	}
	f := fault.From(err)
	for _, part := range []string{`the key "k1" of a is refused: a refused the key`, `the key "k2" of a is refused`} {
		if !strings.Contains(f.Message, part) || !strings.Contains(f.Todo, "inference.keys") || fault.Retryable(err) {
			t.Errorf("%q is not in %q, %q", part, f.Message, f.Todo)
		}
	}
}

func TestKeysShareTheSessions(t *testing.T) {
	k := &keyed{calls: map[string]int{}}
	client, _ := serve(t, withKeys("1", "2"), k.serve)
	by := map[string]string{}
	for i := range 200 {
		req := call("a")
		req.SessionId = fmt.Sprint("ses_", i%50)
		got, err := inferencetest.Ask(t.Context(), t, client, req)
		if err != nil {
			t.Fatal(err)
		}
		key := got.Finished.GetAttempt().GetKey()
		if before := by[req.GetSessionId()]; before != "" && before != key {
			t.Errorf("%s changed its key from %s to %s", req.GetSessionId(), before, key)
		}
		by[req.GetSessionId()] = key
	}
	if k.of("secret-1") < 50 || k.of("secret-2") < 50 {
		t.Errorf("calls %v", k.calls)
	}
}

func TestWithoutAHealthyKeyACallFailsWithoutAsking(t *testing.T) {
	k := &keyed{calls: map[string]int{}, answers: map[string]http.HandlerFunc{
		"secret-1": refuses(429, "slowly", "Retry-After", "600"), "secret-2": refuses(429, "slowly", "Retry-After", "60"),
	}}
	client, _ := serve(t, withKeys("1", "2"), k.serve)
	for range 3 {
		_, err := inferencetest.Ask(t.Context(), t, client, call("a"))
		f := fault.From(err)
		if f.Reason != faultv1.Reason_REASON_RATE_LIMITED || f.Retry < 50*time.Second || f.Retry > time.Minute {
			t.Errorf("%v after %v", f, f.Retry)
		}
	}
	if k.of("secret-1") != 1 || k.of("secret-2") != 1 {
		t.Errorf("calls %v", k.calls)
	}
}

func TestAQuotaThatIsUsedUpIsLeftAlone(t *testing.T) {
	last := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Ratelimit-Remaining-Requests", "0")
		w.Header().Set("X-Ratelimit-Reset-Requests", "10m0s")
		says("stop", "well")(w, r)
	}
	k := &keyed{calls: map[string]int{}, answers: map[string]http.HandlerFunc{"secret-1": last}}
	client, _ := serve(t, withKeys("1", "2"), k.serve)
	for i := range 50 {
		req := call("a")
		req.SessionId = fmt.Sprint("ses_", i)
		if _, err := inferencetest.Ask(t.Context(), t, client, req); err != nil {
			t.Fatal(err)
		}
	}
	if k.of("secret-1") != 1 || k.of("secret-2") != 49 {
		t.Errorf("calls %v", k.calls)
	}
}

func TestATargetThatFailsIsLeftOutForAWhile(t *testing.T) {
	client, backends := serve(t, nil, refuses(503, "away"), says("stop", "well"))
	for range 20 {
		if _, err := inferencetest.Ask(t.Context(), t, client, call("a", "b")); err != nil {
			t.Fatal(err)
		}
	}
	if n := backends[0].calls.Load(); n != 3 {
		t.Errorf("%d calls of a target that is away", n)
	}
	// Without another target it is called all the same.
	if _, err := inferencetest.Ask(t.Context(), t, client, call("a")); err == nil || backends[0].calls.Load() != 4 {
		t.Errorf("%v, %d calls", err, backends[0].calls.Load())
	}
}

// TestFilesThatTakeLongCoolNoTargetDown: the time that is spent on decoding files says nothing about the provider, which is not called.
func TestFilesThatTakeLongCoolNoTargetDown(t *testing.T) {
	client, backends := serve(t, nil, says("stop", "well"), says("stop", "well"))
	var picture bytes.Buffer
	if err := bmp.Encode(&picture, image.NewGray(image.Rect(0, 0, 4, 4))); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		req := call("a")
		req.Budget = &inferencev1.CallBudget{Time: durationpb.New(time.Nanosecond)}
		req.Messages[0].Content = append(req.Messages[0].Content, &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{
			Blob: &turnv1.Blob{MediaType: "image/bmp", Data: picture.Bytes()},
		}})
		if _, err := inferencetest.Ask(t.Context(), t, client, req); err == nil {
			t.Fatal("answered in no time")
		}
	}
	if _, err := inferencetest.Ask(t.Context(), t, client, call("a", "b")); err != nil || backends[0].calls.Load() != 1 {
		t.Errorf("%v, %d calls of the first target", err, backends[0].calls.Load())
	}
}
