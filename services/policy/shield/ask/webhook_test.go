package ask_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testwant"
	"github.com/windlass-dev/windlass/services/policy/shield"
	"github.com/windlass-dev/windlass/services/policy/shield/ask"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// stored are the secrets of tenants, by "tenant reference".
type stored map[string]string

func (s stored) Value(_ context.Context, tenant, reference string) (secret.Value, error) {
	if value, ok := s[tenant+" "+reference]; ok {
		return secret.New(value), nil
	}
	return secret.Value{}, fault.NotFound("there is no secret %q", reference)
}

// hook is a server that answers questions, and the shield that asks it.
type hook struct {
	*ask.Shield
	url   string
	asked atomic.Int32
	last  atomic.Value // of type http.Request's body
	auth  atomic.Value
}

func newHook(t *testing.T, profile string, cfg shield.Config, answer http.HandlerFunc) *hook {
	t.Helper()
	h := &hook{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.asked.Add(1)
		body, _ := io.ReadAll(r.Body)
		h.last.Store(string(body))
		h.auth.Store(r.Header.Get("Authorization"))
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	way, err := egress.New(egress.Config{Profile: profile})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(way.CloseIdle)
	h.url = server.URL
	cfg.Name, cfg.Detector, cfg.URL = "judge", shield.Webhook, server.URL+"/check?key=in-the-url"
	s, err := shield.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h.Shield, err = ask.New(s.Config, ask.Deps{
		Egress: way, Secrets: stored{"default ${secret:HOOK}": "s3cr3t-of-the-hook"}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, body)
	}
}

func question(texts ...string) ask.Question {
	return ask.Question{Stage: shield.Input, Tenant: "acme", Subject: "alice", AgentID: "clerk", TurnID: "trn_1", Texts: texts}
}

func TestAWebhookIsAskedAboutTexts(t *testing.T) {
	h := newHook(t, egress.Local, shield.Config{
		Headers: map[string]secret.Value{"Authorization": secret.New("Bearer ${secret:HOOK}")},
	}, says(`{"results":[{"action":"allow"},{"action":"redact","reason":"it\nis  private","text":"*** is it","more":1},
		{"action":"block","categories":["b","a b","a b"]},{"action":"flag"}]}`))
	got, err := h.Check(t.Context(), question("one", "two is it", "", "three", "four"))
	if err != nil {
		t.Fatal(err)
	}
	want := "[{allow []   false} " +
		"{redact [webhook] it is private *** is it false} " +
		"{allow []   false} {block [ab b]   false} {flag [webhook]   false}]"
	if fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
	var asked map[string]any
	if err := json.Unmarshal([]byte(h.last.Load().(string)), &asked); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(asked); got != "map[agent:clerk shield:judge stage:input tenant:acme texts:[one two is it three four] "+
		"turn_id:trn_1 user:alice]" {
		t.Errorf("asked %s", got)
	}
	if h.auth.Load() != "Bearer s3cr3t-of-the-hook" {
		t.Errorf("authorization %v", h.auth.Load())
	}
	again, err := h.Check(t.Context(), question("three", "one"))
	if err != nil || again[0].Action != shield.Block || again[1].Action != ask.Allow || h.asked.Load() != 1 {
		t.Errorf("again: %v, %v, asked %d times", again, err, h.asked.Load())
	}
	other := question("three")
	other.Subject = "bob"
	if _, err := h.Check(t.Context(), other); err == nil || h.asked.Load() != 2 {
		t.Errorf("another user's question was not asked: %v", err)
	}
}

// TestLyingWebhooks: whatever a webhook answers, a shield that fails closed has an error that names it and can be shown, and one that
// fails open lets the text pass and says so.
func TestLyingWebhooks(t *testing.T) {
	bomb := func() []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		for range 16 {
			_, _ = z.Write(bytes.Repeat([]byte(" "), 1<<20))
		}
		_ = z.Close()
		return b.Bytes()
	}()
	for _, row := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
		asked  int32
	}{
		{"late", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "no answer within 300ms", 1},
		{"half", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"results":[`)
		}, "hung up", 2},
		{"nothing", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "hung up", 2},
		{"a bomb", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		}, "more than 8388608 bytes", 1},
		{"many values", says(`{"results":[` + strings.Repeat("{},", 100000) + `{}]}`), "too many values", 1},
		{"deep", says(strings.Repeat("[", 5000) + strings.Repeat("]", 5000)), "too many values", 1},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
		}, "redirect", 1},
		{"an error", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "HTTP 500", 2},
		{"too many requests", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }, "HTTP 429", 2},
		{"not found", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, "HTTP 404", 1},
		{"no content", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "HTTP 204", 1},
		{"a page", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, "not application/json", 1},
		{"no JSON", says(`results: yes`), "not the JSON", 1},
		{"two documents", says(`{"results":[{"action":"allow"}]} {"results":[]}`), "not the JSON", 1},
		{"another type", says(`{"results":{"action":"allow"}}`), "not the JSON", 1},
		{"null", says(`null`), "0 answers about 1 texts", 1},
		{"too few", says(`{"results":[]}`), "0 answers about 1 texts", 1},
		{"too many", says(`{"results":[{"action":"allow"},{"action":"allow"}]}`), "2 answers about 1 texts", 1},
		{"no action", says(`{"results":[{}]}`), `the action ""`, 1},
		{"an unknown action", says(`{"results":[{"action":"Allow"}]}`), `the action "Allow"`, 1},
		{"asks about input", says(`{"results":[{"action":"ask"}]}`), "the action ask", 1},
		{"redacts to nothing known", says(`{"results":[{"action":"redact"}]}`), "redacts without a text", 1},
		{"redacts to a flood", says(`{"results":[{"action":"redact","text":"` + strings.Repeat("x", 2<<20) + `"}]}`), "text has more than", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			late := time.Minute
			if row.name == "late" {
				late = 300 * time.Millisecond
			}
			h := newHook(t, egress.Local, shield.Config{Timeout: late}, row.answer)
			_, err := h.Check(t.Context(), question("hello"))
			if fault.CodeOf(err) != "shield_failed" || fault.From(err).Code != codes.FailedPrecondition ||
				!strings.Contains(err.Error(), `shield "judge" could not check the input`) || !strings.Contains(err.Error(), row.want) ||
				strings.Contains(err.Error(), "in-the-url") || strings.Contains(err.Error(), h.url) {
				t.Errorf("closed: %v, want %q", err, row.want)
			}
			if n := h.asked.Load(); n > row.asked || n < row.asked && row.name != "late" { // its time may be over before it is reached
				t.Errorf("asked %d times, want %d", n, row.asked)
			}
			h = newHook(t, egress.Local, shield.Config{Timeout: late, OnError: shield.Open}, row.answer)
			got, err := h.Check(t.Context(), question("", "hello"))
			if err != nil {
				t.Fatal(err)
			}
			testwant.Len(t, "open: got", got, 2)
			testwant.Equal(t, "open: [0].Action", got[0].Action, ask.Allow)
			testwant.Equal(t, "open: [1].Action", got[1].Action, shield.Flag)
			testwant.Equal(t, "open: [1].FailedOpen", got[1].FailedOpen, true)
			testwant.Equal(t, "open: Contains(got[1].Reason, row.want)", strings.Contains(got[1].Reason, row.want), true)
		})
	}
}

// TestAFailureIsNotRemembered: the next question is asked again, and a second attempt may help.
func TestAFailureIsNotRemembered(t *testing.T) {
	n := 0
	h := newHook(t, egress.Local, shield.Config{OnError: shield.Open}, func(w http.ResponseWriter, r *http.Request) {
		if n++; n != 4 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		says(`{"results":[{"action":"block"}]}`)(w, r)
	})
	first, err := h.Check(t.Context(), question("hello"))
	if err != nil || !first[0].FailedOpen {
		t.Errorf("first %v, %v", first, err)
	}
	second, err := h.Check(t.Context(), question("hello"))
	if err != nil || second[0].Action != shield.Block || n != 4 {
		t.Errorf("second %v, %v after %d requests", second, err, n)
	}
}

func TestACallerThatGoesAwayIsNoFailureOfTheShield(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := newHook(t, egress.Local, shield.Config{OnError: shield.Open}, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if got, err := h.Check(ctx, question("hello")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestWhatIsNotAsked(t *testing.T) {
	for _, row := range []struct {
		name, profile, text string
		headers             map[string]string
		want                string
	}{
		{name: "an address that egress forbids", profile: egress.Public, text: "x", want: "egress does not allow"},
		{name: "a flood", profile: egress.Local, text: strings.Repeat("x", 1<<20+1), want: "more than the 1048576"},
		{name: "a secret that is not stored", profile: egress.Local, text: "x", headers: map[string]string{"x-key": "${secret:OTHER}"}, want: `no secret "OTHER"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			cfg := shield.Config{Headers: map[string]secret.Value{}}
			for name, value := range row.headers {
				cfg.Headers[name] = secret.New(value)
			}
			h := newHook(t, row.profile, cfg, says(`{"results":[{"action":"allow"}]}`))
			_, err := h.Check(t.Context(), question(row.text))
			if fault.CodeOf(err) != "shield_failed" || !strings.Contains(err.Error(), row.want) || h.asked.Load() != 0 {
				t.Errorf("%v, asked %d times", err, h.asked.Load())
			}
		})
	}
}
