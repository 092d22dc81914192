package e2e

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// post is one request received by a webhook's receiver. It is answered when the test says how.
type post struct {
	header http.Header
	body   []byte
	answer chan int
}

func receiver(t *testing.T) (url string, posts chan post) {
	t.Helper()
	posts = make(chan post, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := post{header: r.Header, answer: make(chan int, 1)}
		p.body, _ = io.ReadAll(r.Body)
		posts <- p
		select {
		case code := <-p.answer:
			w.WriteHeader(code)
		case <-r.Context().Done(): // who called is gone
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, posts
}

func nextPost(t *testing.T, posts chan post) post {
	t.Helper()
	select {
	case p := <-posts:
		return p
	case <-time.After(60 * time.Second):
		t.Fatal("nothing arrived in 60s")
		return post{}
	}
}

// signed checks a signature as https://www.standardwebhooks.com has it.
func (p post) signed(t *testing.T, secret string) {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) != 32 {
		t.Fatalf("a secret of %d bytes, %v", len(key), err)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", p.header.Get("webhook-id"), p.header.Get("webhook-timestamp"), p.body)
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); !slices.Contains(strings.Fields(p.header.Get("webhook-signature")),
		want) {
		t.Errorf("signature %q, want %q", p.header.Get("webhook-signature"), want)
	}
}

// TestWebhook kills a mesh while it delivers a webhook: the turn's end is delivered again, with the same id.
func TestWebhook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := []string{"WINDLASS_SESSIONS_WEBHOOKS_FIRST_RETRY=100ms", "WINDLASS_SESSIONS_WEBHOOKS_TIMEOUT=5s"}
	up := harness.Up(t, dir, env)
	url, posts := receiver(t)
	hook := up.Client.Must("POST", "/v1/webhooks", harness.JSON{"url": url, "events": []string{"turn.completed"}})
	secret := hook.Str("secret")
	turn := up.Client.Turn(up.Client.Session("assistant"), "say:heard")

	first := nextPost(t, posts)
	first.signed(t, secret)
	var told struct {
		Type string
		Data harness.JSON
	}
	if err := json.Unmarshal(first.body, &told); err != nil || told.Type != "turn.completed" || told.Data.Str("turn_id") != turn ||
		told.Data.Str("output") != "heard" {
		t.Errorf("told %s, %v", first.body, err)
	}
	first.answer <- http.StatusInternalServerError
	second := nextPost(t, posts) // and in the middle of it
	up.Kill()
	killed := time.Now()
	log := up.Log()
	up = harness.Up(t, dir, env)
	third := nextPost(t, posts)
	t.Logf("told again %v after the kill", time.Since(killed).Round(time.Millisecond))
	third.answer <- http.StatusOK
	third.signed(t, secret)
	for _, p := range []post{second, third} {
		if p.header.Get("webhook-id") != first.header.Get("webhook-id") || !bytes.Equal(p.body, first.body) {
			t.Errorf("told again as %v %s", p.header, p.body)
		}
	}
	path := "/v1/webhooks/" + hook.Str("id")
	d := delivery(t, up.Client, path, func(d harness.JSON) bool { return d.Str("status") == "delivered" })
	if d.Str("id") != first.header.Get("webhook-id") || fmt.Sprint(d["attempts"]) != "3" || fmt.Sprint(d["response_code"]) != "200" {
		t.Errorf("delivery %v", d)
	}
	if got := up.Client.Must("GET", path, nil); got.Str("secret") != "" {
		t.Error("the secret is shown again")
	}
	up.Stop()
	nowhere(t, dir, log+up.Log(), strings.TrimPrefix(secret, "whsec_"))
	refusedAddress(t, dir, url, path)
}

// TestTheSealKeyIsChanged follows the how-to: windlass up makes a new key, and the receiver's secret stays.
func TestTheSealKeyIsChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "seal.key")
	up := harness.Up(t, dir, nil)
	url, posts := receiver(t)
	secret := up.Client.Must("POST", "/v1/webhooks", harness.JSON{"id": "pager", "url": url}).Str("secret")
	up.Stop()
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	up = harness.Up(t, dir, []string{"WINDLASS_SESSIONS_OLD_SEAL_KEYS=" + strings.TrimSpace(string(old))}, "--log-level", "info")
	until(t, "the secret is sealed again", func() bool {
		return strings.Contains(up.Log(), `resealed=1`) || strings.Contains(up.Log(), `"resealed":1`)
	})
	up.Stop()
	if fresh, err := os.ReadFile(file); err != nil || bytes.Equal(fresh, old) || strings.Contains(up.Log(), strings.TrimSpace(string(old))) {
		t.Errorf("the new key: %v", err)
	}
	up = harness.Up(t, dir, nil)
	up.Client.Turn(up.Client.Session("assistant"), "say:heard")
	p := nextPost(t, posts)
	p.answer <- http.StatusOK
	p.signed(t, secret)
}

// delivery waits until a webhook's newest delivery fits.
func delivery(t *testing.T, c *harness.Client, webhook string, fits func(harness.JSON) bool) harness.JSON {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last any
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); <-tick.C {
		all, _ := c.Must("GET", webhook+"/deliveries", nil)["deliveries"].([]any)
		if last = all; len(all) > 0 {
			if d, _ := all[0].(map[string]any); fits(d) {
				return d
			}
		}
	}
	t.Fatalf("deliveries after 30s: %v", last)
	return nil
}

// nowhere looks for a secret in all files of a data directory and in a log.
func nowhere(t *testing.T, dir, log, secret string) {
	t.Helper()
	if strings.Contains(log, secret) {
		t.Error("the secret is in the log")
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		files++
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(secret)) {
			t.Errorf("the secret is in %s", path)
		}
		return err
	})
	if info, statErr := os.Stat(filepath.Join(dir, "seal.key")); err != nil || statErr != nil || info.Mode().Perm() != 0o600 || files < 5 {
		t.Errorf("looked into %d files: %v; the key: %v", files, err, statErr)
	}
}

// refusedAddress starts the mesh for public addresses only: this machine is refused at once, and where it was named before when it is told.
func refusedAddress(t *testing.T, dir, url, webhook string) {
	t.Helper()
	up := harness.Up(t, dir, []string{"WINDLASS_EGRESS_PROFILE=public"})
	for _, address := range []string{url, "http://localhost/x", "http://[::1]:9/", "http://192.168.0.1/"} {
		status, body, err := up.Client.Do(t.Context(), "POST", "/v1/webhooks", harness.JSON{"url": address})
		if text := fmt.Sprint(body); err != nil || status != http.StatusBadRequest || !strings.Contains(text, "url: egress denied") ||
			!strings.Contains(text, "egress.allow") {
			t.Errorf("%s: %d %v, %v", address, status, body, err)
		}
	}
	up.Client.Wait(up.Client.Turn(up.Client.Session("assistant"), "say:undelivered"))
	d := delivery(t, up.Client, webhook, func(d harness.JSON) bool { return d.Str("error") != "" })
	if d.Str("status") != "pending" || !strings.Contains(d.Str("error"), "egress denied") || d["next_attempt_time"] == nil {
		t.Errorf("delivery %v", d)
	}
}
