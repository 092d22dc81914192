package ask

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/truncate"
	"github.com/windlass-dev/windlass/services/policy/shield"
)

const (
	// maxBody bounds an answer in bytes, unpacked: texts may come back, each byte of them as six.
	maxBody = 8 << 20
	// maxValues bounds the JSON values of an answer about one text.
	maxValues = 64
	// maxDepth bounds how deep they are nested.
	maxDepth = 16
)

// webhook asks a service of the operator's.
type webhook struct {
	shield, url string
	headers     map[string]secret.Value
	tenant      string
	client      *http.Client
	secrets     Secrets
}

// request is the body of a question.
type request struct {
	Shield string   `json:"shield"`
	Stage  string   `json:"stage"`
	Tenant string   `json:"tenant,omitempty"`
	User   string   `json:"user,omitempty"`
	Agent  string   `json:"agent,omitempty"`
	Turn   string   `json:"turn_id,omitempty"`
	Texts  []string `json:"texts"`
}

// response is that of its answer.
type response struct {
	Results []struct {
		Action     string   `json:"action"`
		Reason     string   `json:"reason"`
		Categories []string `json:"categories"`
		Text       *string  `json:"text"`
	} `json:"results"`
}

func newWebhook(cfg shield.Config, deps Deps) (answerer, error) {
	if deps.Egress == nil {
		return nil, fmt.Errorf("shield %q needs Egress", cfg.Name)
	}
	w := &webhook{
		shield: cfg.Name, url: cfg.URL, headers: cfg.Headers, tenant: cmp.Or(cfg.Tenant, authn.DefaultTenant), secrets: deps.Secrets,
		client: deps.Egress.Client(egress.Options{MaxResponseBytes: maxBody, Once: true}),
	}
	for name, value := range cfg.Headers {
		stored := strings.Contains(value.Reveal(), "${secret:")
		switch {
		case !httpguts.ValidHeaderFieldName(name), !httpguts.ValidHeaderFieldValue(value.Reveal()):
			return nil, fmt.Errorf("shield %q: headers: %q is no header", cfg.Name, name)
		case stored && deps.Secrets == nil:
			return nil, fmt.Errorf("shield %q: headers: %q refers to a stored secret, and there is no store", cfg.Name, name)
		}
	}
	return w, nil
}

// joins implements answerer.
func (*webhook) joins(string) bool { return false }

// answer implements answerer.
func (w *webhook) answer(ctx context.Context, q Question) ([]Answer, error) {
	body, err := json.Marshal(request{
		Shield: w.shield, Stage: q.Stage, Tenant: q.Tenant, User: q.Subject, Agent: q.AgentID, Turn: q.TurnID, Texts: q.Texts,
	})
	if err != nil {
		return nil, fmt.Errorf("encode the question: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return nil, unusable("its url cannot be used")
	}
	if err := w.addHeaders(ctx, req.Header); err != nil {
		return nil, err
	}
	res, err := w.client.Do(req)
	if err != nil {
		return nil, unreached(err)
	}
	defer res.Body.Close()
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.StatusCode >= http.StatusInternalServerError, res.StatusCode == http.StatusTooManyRequests:
		return nil, transient("the webhook answered HTTP %d", res.StatusCode)
	case res.StatusCode != http.StatusOK:
		return nil, unusable("the webhook answered HTTP %d", res.StatusCode)
	case media != "application/json":
		return nil, unusable("the webhook answered something that is not application/json")
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, unreached(err)
	}
	return parse(text, len(q.Texts))
}

// addHeaders adds the configured headers, with the stored secrets that they refer to.
func (w *webhook) addHeaders(ctx context.Context, h http.Header) error {
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json")
	for name, value := range w.headers {
		r := envref.New(envref.Config{Owner: "policy", Vault: vault{ctx, w.secrets}}, w.tenant)
		text := r.Resolve(name, value.Reveal())
		switch {
		case r.Err != nil:
			return transient("the secret in the header %s cannot be read", name)
		case len(r.Wrong) > 0:
			return unusable("header %s: %s", name, r.Wrong[0].Message)
		case !httpguts.ValidHeaderFieldValue(text):
			return unusable("the secret in the header %s has characters that a header cannot have", name)
		}
		h.Set(name, text)
	}
	return nil
}

// parse reads an answer about n texts.
func parse(text []byte, n int) ([]Answer, error) {
	if values, depth := canon.Measure(text); values > maxValues*(n+1) || depth > maxDepth {
		return nil, unusable("the webhook's answer has too many values")
	}
	var got response
	if err := json.Unmarshal(text, &got); err != nil {
		return nil, unusable("the webhook's answer is not the JSON that is expected: {\"results\": [{\"action\": …}]}")
	}
	out := make([]Answer, len(got.Results))
	for i, r := range got.Results {
		a := Answer{Action: r.Action, Reason: r.Reason, Categories: truncate.Names(r.Categories, maxCategories, maxCategory)}
		if a.Action == shield.Redact {
			if r.Text == nil {
				return nil, unusable("the webhook redacts without a text")
			}
			if len(*r.Text) > maxQuestion {
				return nil, unusable("the webhook's text has more than %d bytes", maxQuestion)
			}
			a.Text = strings.ReplaceAll(*r.Text, "\x00", "")
		}
		if a.Action != Allow && len(a.Categories) == 0 {
			a.Categories = []string{shield.Webhook}
		}
		out[i] = a
	}
	return out, nil
}

// unreached says why there is no answer, without the URL and what the server sent.
func unreached(err error) error {
	switch {
	case errors.Is(err, egress.ErrDenied):
		return unusable("egress does not allow the address of the webhook")
	case errors.Is(err, egress.ErrRedirect):
		return unusable("the webhook answered with a redirect")
	case errors.Is(err, egress.ErrTooLarge):
		return unusable("the webhook's answer has more than %d bytes", maxBody)
	}
	return transient("the webhook cannot be reached, or hung up")
}

// maxCategories bounds the categories of one answer, and maxCategory the characters of one.
const (
	maxCategories = 16
	maxCategory   = 64
)

// vault gives a reference's secret to envref.
type vault struct {
	ctx     context.Context
	secrets Secrets
}

// Secret implements envref.Vault.
func (v vault) Secret(tenant, name string) (secret.Value, error) {
	value, err := v.secrets.Value(v.ctx, tenant, "${secret:"+name+"}")
	if err != nil {
		return value, status.Error(fault.From(err).Code, err.Error())
	}
	return value, nil
}
