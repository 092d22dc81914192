package sessions_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/testpoll"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/services/sessions/webhook"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

// arrived is one request that a receiver got.
type arrived struct {
	header http.Header
	body   []byte
	// Type and Data are what the body says.
	Type string
	Data map[string]any
}

func (a arrived) id() string { return a.header.Get("webhook-id") }

// receiver answers with the statuses it is given, then with 204.
type receiver struct {
	*httptest.Server
	got chan arrived

	mu       sync.Mutex
	statuses []int
	// later is the header Retry-After of what is not 204.
	later func() string
}

func receive(t testing.TB, statuses ...int) *receiver {
	t.Helper()
	r := &receiver{got: make(chan arrived, 100), statuses: statuses}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		a := arrived{header: req.Header}
		a.body, _ = io.ReadAll(req.Body)
		_ = json.Unmarshal(a.body, &a)
		r.mu.Lock()
		code := http.StatusNoContent
		if len(r.statuses) > 0 {
			code, r.statuses = r.statuses[0], r.statuses[1:]
		}
		if later := r.later; later != nil && code != http.StatusNoContent {
			w.Header().Set("Retry-After", later())
		}
		r.mu.Unlock()
		r.got <- a
		w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
		w.WriteHeader(code)
		if code != http.StatusNoContent {
			_, _ = io.WriteString(w, "a receiver's private words")
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// asks has the receiver ask for a pause whenever it fails.
func (r *receiver) asks(later func() string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.later = later
}

func (r *receiver) next(t testing.TB) arrived {
	t.Helper()
	select {
	case a := <-r.got:
		return a
	case <-time.After(time.Minute):
		t.Fatal("nothing arrived in 20s")
		return arrived{}
	}
}

// genuine checks a signature as the specification of Standard Webhooks says: HMAC-SHA256 over "id.timestamp.body".
func (a arrived) genuine(key string) bool {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(key, "whsec_"))
	at, _ := strconv.ParseInt(a.header.Get("webhook-timestamp"), 10, 64)
	if age := time.Since(time.Unix(at, 0)); err != nil || len(raw) < 24 || age > 5*time.Minute || age < -5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, raw)
	mac.Write([]byte(a.header.Get("webhook-id")))
	mac.Write([]byte("." + a.header.Get("webhook-timestamp") + "."))
	mac.Write(a.body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	return slices.Contains(strings.Fields(a.header.Get("webhook-signature")), want)
}

// hooked are options for a service that tries again at once.
func hooked() options {
	return options{cfg: sessions.Config{
		SealKey: secret.New(strings.Repeat("k", 32)), SweepInterval: 20 * time.Millisecond,
		Webhooks: webhook.Config{FirstRetry: 5 * time.Millisecond},
	}}
}

func (k *kit) webhooks() sessionsv1.WebhookServiceClient {
	return sessionsv1.NewWebhookServiceClient(k.conn)
}

func (k *kit) webhook(w *sessionsv1.Webhook) *sessionsv1.Webhook {
	k.t.Helper()
	got, err := k.webhooks().CreateWebhook(k.t.Context(), &sessionsv1.CreateWebhookRequest{Webhook: w})
	must(k.t, err)
	return got
}

// end runs a turn to its end.
func (k *kit) end(turn *sessionsv1.Turn, status turnv1.TurnStatus, answer string) {
	k.t.Helper()
	w := k.worker(turn)
	w.begin()
	w.answer("infer-1", w.lease("infer-1"), &turnv1.Message{Content: executiontest.Text(answer)}, 0)
	w.finish(status, "end")
}

// deliveries waits until those of a webhook fit, newest first.
func (k *kit) deliveries(hook string, fit func([]*sessionsv1.WebhookDelivery) bool) []*sessionsv1.WebhookDelivery {
	k.t.Helper()
	var last []*sessionsv1.WebhookDelivery
	testpoll.Until(k.t, "the deliveries fit", func() bool {
		got, err := k.webhooks().ListWebhookDeliveries(k.t.Context(), &sessionsv1.ListWebhookDeliveriesRequest{WebhookId: hook})
		must(k.t, err)
		last = got.GetDeliveries()
		return fit(last)
	})
	return last
}

// settled: there are n deliveries, and all came to an end.
func settled(n int) func([]*sessionsv1.WebhookDelivery) bool {
	return func(all []*sessionsv1.WebhookDelivery) bool {
		return len(all) == n && !slices.ContainsFunc(all, func(d *sessionsv1.WebhookDelivery) bool {
			return enum.Name(d.GetStatus()) == "pending"
		})
	}
}

func mask(paths ...string) *fieldmaskpb.FieldMask { return &fieldmaskpb.FieldMask{Paths: paths} }
