package attempt_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

// backend is a server with OpenAI's API. It counts its calls.
type backend struct {
	answer http.HandlerFunc
	calls  atomic.Int32
}

// says streams words, as one event each, and stops with a reason; without a reason the stream breaks off.
func says(reason string, words ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, word := range words {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", word)
			w.(http.Flusher).Flush()
		}
		if reason == "" {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", reason)
	}
}

func refuses(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":%q}}`, body)
	}
}

func hangs(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// serve serves inference with providers a, b, c… that answer so; the model of each is m.
func serve(t *testing.T, change func(*inference.Config), answers ...http.HandlerFunc) (inferencev1.InferenceServiceClient, []*backend) {
	t.Helper()
	cfg := inferencetest.Config()
	var backends []*backend
	for i, answer := range answers {
		b := &backend{answer: answer}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b.calls.Add(1)
			b.answer(w, r)
		}))
		t.Cleanup(s.Close)
		backends = append(backends, b)
		cfg.Providers = append(cfg.Providers, catalog.ProviderConfig{
			Name: string(rune('a' + i)), Kind: "openai", BaseURL: s.URL, APIKey: secret.New(inferencetest.Key), Models: []string{"m"},
		})
	}
	if change != nil {
		change(&cfg)
	}
	return inferencetest.Serve(t, cfg, nil), backends
}

func call(targets ...string) *inferencev1.GenerateRequest {
	return &inferencev1.GenerateRequest{
		Model: targets[0] + "/m", Messages: []*turnv1.Message{inferencetest.User("hello there")},
		Fallbacks: func() (out []string) {
			for _, name := range targets[1:] {
				out = append(out, name+"/m")
			}
			return out
		}(),
	}
}

// classes are those of attempts that ended, as "a:server".
func classes(attempts []*turnv1.ModelAttempt) (out []string) {
	for _, a := range attempts {
		if a.GetClass() != turnv1.AttemptClass_ATTEMPT_CLASS_UNSPECIFIED {
			out = append(out, strings.TrimSuffix(a.GetModel(), "/m")+":"+enum.Name(a.GetClass()))
		}
	}
	return out
}

// whole calls as a worker does: again with the attempts so far when the answer breaks off, and not after a pause.
func whole(ctx context.Context, t *testing.T, client inferencev1.InferenceServiceClient, req *inferencev1.GenerateRequest,
) (got inferencetest.Answer, made []*turnv1.ModelAttempt, err error) {
	t.Helper()
	for {
		got, err = inferencetest.Ask(ctx, t, client, req)
		for _, a := range got.Attempts {
			if a.GetClass() != turnv1.AttemptClass_ATTEMPT_CLASS_UNSPECIFIED {
				made = append(made, a)
			}
		}
		req.Attempts = made
		if err == nil {
			return got, append(made, got.Finished.GetAttempt()), nil
		}
		if f := fault.From(err); !fault.Retryable(err) || f.Retry != time.Millisecond {
			return got, made, err
		}
	}
}

func TestAFailureDecidesWhatIsNext(t *testing.T) {
	fine := says("stop", "all ", "is ", "well")
	short := func(cfg *inference.Config) {
		cfg.FirstTokenTimeout, cfg.IdleTimeout = 150*time.Millisecond, 150*time.Millisecond
	}
	for _, row := range []struct {
		name    string
		first   http.HandlerFunc
		change  func(*inference.Config)
		filter  bool
		classes []string
		fails   faultv1.Reason
	}{
		{name: "rate limit", first: refuses(429, "slowly", "Retry-After", "60"), classes: []string{"a:rate_limit", "b:answered"}},
		{name: "server", first: refuses(503, "away"), classes: []string{"a:server", "b:answered"}},
		{name: "no first token", first: hangs, change: short, classes: []string{"a:first_token", "b:answered"}},
		{name: "a broken stream", first: says("", "all is ", "not"), classes: []string{"a:broken_stream", "b:answered"}},
		{name: "a stream broken before its first piece", first: says(""), classes: []string{"a:server", "b:answered"}},
		{name: "a refused key", first: refuses(401, "no"), classes: []string{"a:key", "b:answered"}},
		{name: "no credit", first: refuses(402, "pay"), classes: []string{"a:key", "b:answered"}},
		{name: "no such model", first: refuses(404, "what?"), classes: []string{"a:rejected", "b:answered"}},
		{name: "a refused request", first: refuses(400, "bad"), classes: []string{"a:rejected", "b:answered"}},
		{
			name: "too long", first: refuses(400, "maximum context length is 10 tokens"), classes: []string{"a:context"},
			fails: faultv1.Reason_REASON_CONTEXT_TOO_LONG,
		},
		{name: "a filter", first: says("content_filter", "no"), classes: []string{"a:answered"}},
		{name: "a filter, and the next one", first: says("content_filter", "no"), filter: true, classes: []string{"a:filtered", "b:answered"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			client, backends := serve(t, row.change, row.first, fine)
			req := call("a", "b")
			req.SwitchOnFilter = row.filter
			got, made, err := whole(t.Context(), t, client, req)
			if found := classes(made); !slices.Equal(found, row.classes) {
				t.Errorf("attempts %v, want %v (%v)", found, row.classes, err)
			}
			if row.fails != 0 {
				if !fault.Is(err, row.fails) || backends[1].calls.Load() > 0 {
					t.Errorf("%v, %d calls of b", err, backends[1].calls.Load())
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			last := made[len(made)-1]
			if want := last.GetModel(); got.Finished.GetModel() != want || backends[0].calls.Load() != 1 {
				t.Errorf("answered by %s, want %s; %d calls of a", got.Finished.GetModel(), want, backends[0].calls.Load())
			}
			if len(row.classes) == 2 && got.Finished.GetText() != "all is well" {
				t.Errorf("answer %q", got.Finished.GetText())
			}
			for _, a := range made[:len(made)-1] {
				if a.GetMessage() == "" || a.GetStartTime() == nil || a.GetDurationMs() == 0 {
					t.Errorf("attempt %v", a)
				}
			}
		})
	}
}

func TestAFailureNamesAllTargets(t *testing.T) {
	client, _ := serve(t, nil, refuses(401, "no"), refuses(503, "away"), refuses(429, "slowly", "Retry-After", "7"))
	_, made, err := whole(t.Context(), t, client, call("a", "b", "c"))
	f := fault.From(err)
	for _, part := range []string{"a/m: a refused the key", "b/m: b failed with HTTP status 503", "c/m: c limits the rate"} {
		if !strings.Contains(f.Message, part) {
			t.Errorf("%q is not in %q", part, f.Message)
		}
	}
	if !fault.Retryable(err) || f.Retry != 0 { // b may recover at once
		t.Errorf("%v after %v", f.Code, f.Retry)
	}
	if got := classes(made); !slices.Equal(got, []string{"a:key", "b:server", "c:rate_limit"}) {
		t.Error(got)
	}
	// The next round leaves out what would fail again.
	req := call("a", "b", "c")
	req.Attempts = made
	got, err := inferencetest.Ask(t.Context(), t, client, req)
	if found := classes(got.Attempts); !slices.Equal(found, []string{"b:server", "c:rate_limit"}) {
		t.Error(found)
	}
	if !strings.Contains(fault.From(err).Message, "b/m, 2 times") {
		t.Error(err)
	}
}

func TestABrokenTargetIsCalledAgainAfterAFallbackThatRefuses(t *testing.T) {
	for _, row := range []struct {
		name   string
		second http.HandlerFunc
		change func(*inference.Config)
	}{
		{name: "the request", second: refuses(400, "bad")},
		{name: "the key", second: refuses(401, "no")},
		{name: "one of several keys", second: refuses(401, "no"), change: func(cfg *inference.Config) {
			cfg.Providers[1].APIKey = secret.Value{}
			cfg.Keys = []catalog.KeyConfig{{Provider: "b", Alias: "main", APIKey: secret.New("x")}}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			client, backends := serve(t, row.change, says("", "half"), row.second)
			req := call("a", "b")
			_, made, err := whole(t.Context(), t, client, req)
			if f := fault.From(err); !fault.Retryable(err) || f.Retry != 0 || !strings.Contains(f.Message, "b/m") || len(made) != 2 {
				t.Fatalf("%v, attempts %v", err, classes(made))
			}
			backends[0].answer = says("stop", "whole")
			got, made, err := whole(t.Context(), t, client, req)
			if err != nil || got.Finished.GetText() != "whole" || backends[1].calls.Load() != 1 {
				t.Errorf("%v, attempts %v", err, classes(made))
			}
		})
	}
}

func TestATargetThatCannotBeCalledEndsNoChain(t *testing.T) {
	client, backends := serve(t, func(cfg *inference.Config) {
		cfg.Providers[1].APIKey = secret.Value{}
		cfg.Keys = []catalog.KeyConfig{{Provider: "b", Alias: "main", APIKey: secret.New("x")}}
	}, refuses(503, "away"), refuses(401, "no"))
	for n := range 2 { // first b loses its key, and then it has none
		req := call("a", "b")
		for range 2 {
			_, made, err := whole(t.Context(), t, client, req)
			if !fault.Retryable(err) {
				t.Errorf("call %d: %v, attempts %v", n, err, classes(made))
			}
			req.Attempts = append(req.Attempts, made...)
		}
	}
	if a, b := backends[0].calls.Load(), backends[1].calls.Load(); a != 4 || b != 1 {
		t.Errorf("%d and %d calls", a, b)
	}
}

func TestOneTargetFailsAsBefore(t *testing.T) {
	client, _ := serve(t, nil, refuses(429, "slowly", "Retry-After", "7"))
	_, _, err := whole(t.Context(), t, client, call("a"))
	f := fault.From(err)
	if f.Reason != faultv1.Reason_REASON_RATE_LIMITED || f.Retry != 7*time.Second || f.Message != "a limits the rate of calls: slowly" {
		t.Error(f)
	}
}

func TestOneBudgetForAllTargets(t *testing.T) {
	t.Run("attempts", func(t *testing.T) {
		client, backends := serve(t, nil, refuses(503, "away"), refuses(503, "away"), says("stop", "late"))
		req := call("a", "b", "c")
		req.Budget = &inferencev1.CallBudget{Attempts: 2}
		_, made, err := whole(t.Context(), t, client, req)
		if err == nil || len(made) != 2 || backends[2].calls.Load() != 0 {
			t.Errorf("%d attempts, %v", len(made), err)
		}
	})
	t.Run("time", func(t *testing.T) {
		client, _ := serve(t, nil, hangs, hangs, hangs)
		req := call("a", "b", "c")
		req.Budget = &inferencev1.CallBudget{Time: durationpb.New(300 * time.Millisecond)}
		began := time.Now()
		_, made, err := whole(t.Context(), t, client, req)
		if f := fault.From(err); f.Code != codes.FailedPrecondition || len(made) != 1 || time.Since(began) > 5*time.Second {
			t.Errorf("%v after %v, attempts %v", err, time.Since(began), classes(made))
		}
	})
}

func TestAStreamCutAnywhereIsAnsweredOnce(t *testing.T) {
	const text = "the quick brown fox jumps over the lazy dog"
	words := strings.SplitAfter(text, " ")
	for at := range len(words) + 1 {
		client, _ := serve(t, nil, says("", words[:at]...), says("stop", words...))
		got, made, err := whole(t.Context(), t, client, call("a", "b"))
		if err != nil {
			t.Fatal(err)
		}
		if got.Finished.GetText() != text || strings.Join(got.Texts, "") != text {
			t.Errorf("cut after %d words: %q", at, got.Finished.GetText())
		}
		cut := made[0]
		if (at > 0) != (cut.GetUsage().GetInputTokens() > 0) || (at > 0) != (cut.GetFirstTokenMs() > 0) {
			t.Errorf("cut after %d words: attempt %v", at, cut)
		}
	}
}
