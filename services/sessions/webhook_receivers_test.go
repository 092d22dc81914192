package sessions_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// TestReceiversThatDoNotAnswerHoldUpNobody: there are as many slots as two of them could take, and four of them.
func TestReceiversThatDoNotAnswerHoldUpNobody(t *testing.T) {
	for name, postgres := range map[string]bool{"sqlite": false, "postgres": true} {
		t.Run(name, func(t *testing.T) {
			o := hooked()
			o.postgres, o.cfg.Webhooks.MaxSending, o.cfg.Webhooks.Timeout = postgres, 8, time.Hour
			k := newKit(t, o)
			good := receive(t)
			k.webhook(&sessionsv1.Webhook{Url: good.URL})
			k.agent("assistant")
			session := k.session().GetId()
			told := func() {
				k.end(k.turn(session, "hello"), completed, "an answer")
				good.next(t)
			}
			told()
			dead := silent(t)
			for i := range 4 {
				k.webhook(&sessionsv1.Webhook{Url: fmt.Sprint(dead.URL, "/", i)})
			}
			for range 6 {
				told()
			}
		})
	}
}

// silent is a receiver that never answers.
func silent(t *testing.T) *httptest.Server {
	t.Helper()
	over := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(over); s.Close() })
	return s
}

// TestAFirstDeliveryDoesNotWaitForReceiversThatNeverAnswer: there are more of them than slots, and their attempts take an hour.
func TestAFirstDeliveryDoesNotWaitForReceiversThatNeverAnswer(t *testing.T) {
	o := hooked()
	o.cfg.Webhooks.Timeout = time.Hour
	k := newKit(t, o)
	dead, good := silent(t), receive(t)
	for i := range 40 {
		k.webhook(&sessionsv1.Webhook{Url: fmt.Sprint(dead.URL, "/", i)})
	}
	k.webhook(&sessionsv1.Webhook{Url: good.URL})
	k.agent("assistant")
	k.end(k.turn(k.session().GetId(), "hello"), completed, "an answer")
	good.next(t)
}

// TestAnAttemptIsOneRequest: whatever a receiver answers, and also when it answers nothing over a connection that was used before.
func TestAnAttemptIsOneRequest(t *testing.T) {
	k := newKit(t, hooked())
	answers := map[string]func(http.ResponseWriter){
		"closed":    func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"long":      func(w http.ResponseWriter) { _, _ = io.WriteString(w, strings.Repeat("x", 1<<20)) },
		"announced": func(w http.ResponseWriter) { w.Header().Set("Content-Length", "1048576"); _, _ = w.Write([]byte("x")) },
	}
	for _, status := range []int{200, 204, 302, 307, 308, 400, 401, 404, 409, 425, 429, 500, 503} {
		answers[fmt.Sprint(status)] = func(w http.ResponseWriter) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		}
	}
	var mu sync.Mutex
	seen := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		seen[r.Header.Get("Webhook-Id")]++
		n := seen[r.Header.Get("Webhook-Id")]
		mu.Unlock()
		if n < 3 { // the third attempt is taken
			answers[strings.TrimPrefix(r.URL.Path, "/")](w)
		}
	}))
	t.Cleanup(s.Close)
	hooks := map[string]string{}
	for name := range answers {
		hooks[name] = k.webhook(&sessionsv1.Webhook{Url: s.URL + "/" + name}).GetId()
	}
	k.end(k.newTurn("hello"), completed, "an answer")
	for name, id := range hooks {
		d := k.deliveries(id, settled(1))[0]
		want := 3
		if name == "200" || name == "204" || name == "long" || name == "announced" {
			want = 1
		}
		mu.Lock()
		n := seen[d.GetId()]
		mu.Unlock()
		if n != want || int(d.GetAttempts()) != want || enum.Name(d.GetStatus()) != "delivered" {
			t.Errorf("%s: %d requests, want %d; %v", name, n, want, d)
		}
	}
}

func TestAPortThatDoesNotExistIsRefused(t *testing.T) {
	k := newKit(t, hooked())
	for _, port := range []string{"99999", "65536", "0", "18446744073709551617"} {
		_, err := k.webhooks().CreateWebhook(t.Context(),
			&sessionsv1.CreateWebhookRequest{Webhook: &sessionsv1.Webhook{Url: "https://example.com:" + port + "/hook"}})
		if !fault.Is(err, faultv1.Reason_REASON_INVALID_ARGUMENT) || !strings.Contains(err.Error(), "port") {
			t.Errorf("port %s: %v", port, err)
		}
	}
	k.webhook(&sessionsv1.Webhook{Url: "https://example.com:65535/hook"})
}
