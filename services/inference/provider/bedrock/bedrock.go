// Package bedrock calls models through the Converse API of Amazon Bedrock.
package bedrock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// name is the name of the kind, and of the service in signatures.
const name = "bedrock"

// Kind implements provider.Kind.
type Kind struct{}

// Traits implements provider.Kind.
func (Kind) Traits() provider.Traits {
	return provider.Traits{Name: name, AWS: true, Features: features, Sheet: sheet}
}

// Provider implements provider.Provider.
type Provider struct {
	client  provider.Client // of the runtime
	control provider.Client // of the lists of models
	issuer  string          // of what is returned to it only
	lessons *provider.Lessons
}

// New implements provider.Kind.
func (Kind) New(cfg provider.Config) (provider.Provider, error) {
	host := func(service string) string { return fmt.Sprintf("https://%s.%s.amazonaws.com", service, cfg.Region) }
	client, err := provider.NewClient(cfg, host("bedrock-runtime"), signer(cfg))
	if err != nil {
		return nil, err
	}
	client.Secrets = append(client.Secrets, cfg.SessionToken)
	control, err := provider.NewClient(cfg, host("bedrock"), signer(cfg))
	if err != nil {
		return nil, err
	}
	control.Secrets = client.Secrets
	return &Provider{
		client: client, control: control, issuer: provider.Issuer(name, cfg.BaseURL+" "+cfg.Region), lessons: provider.NewLessons(),
	}, nil
}

// signer returns what signs requests with an access key, or adds a key of Bedrock's own.
func signer(cfg provider.Config) provider.Sign {
	if cfg.AccessKeyID == "" {
		return provider.Bearer
	}
	sign := v4.NewSigner()
	return func(r *http.Request, key secret.Value, body []byte) error {
		sum := sha256.Sum256(body)
		return sign.SignHTTP(r.Context(), aws.Credentials{
			AccessKeyID: cfg.AccessKeyID, SecretAccessKey: key.Reveal(), SessionToken: cfg.SessionToken.Reveal(),
		}, r, hex.EncodeToString(sum[:]), name, cfg.Region, time.Now())
	}
}

// Generate implements provider.Provider.
func (p *Provider) Generate(ctx context.Context, req provider.Request, emit func(provider.Delta) error) (provider.Finished, error) {
	own := *p
	own.client = p.client.With(req.APIKey)
	write := func(m *provider.Manner) provider.Attempt { return own.newCall(req, m) }
	return p.lessons.Generate(ctx, own.client.Identity, req, write, emit)
}

// Body implements provider.Attempt.
func (c *call) Body() any { return c.body() }

// Send implements provider.Attempt.
func (c *call) Send(ctx context.Context, body []byte) (*http.Response, error) {
	path := "/model/" + url.PathEscape(c.req.Model) + "/converse-stream"
	return c.provider.client.Do(ctx, http.MethodPost, path, media, body)
}

// Reader implements provider.Attempt.
func (c *call) Reader(emit func(provider.Delta) error) provider.Reader {
	return &stream{provider: c.provider, names: c.names, model: c.req.Model, emit: emit, blocks: map[int]int{}}
}

// Sent implements provider.Attempt.
func (c *call) Sent() provider.Sent {
	return provider.Sent{Tools: c.tools, Returned: c.returned, Marks: c.marks, Warnings: c.warnings}
}

// Models implements provider.Provider: the models that take calls by their own names, and the profiles of the others.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	var own struct {
		Models []struct {
			ID    string   `json:"modelId"`
			Types []string `json:"inferenceTypesSupported"`
		} `json:"modelSummaries"`
	}
	if err := p.control.Read(ctx, http.MethodGet, "/foundation-models?byOutputModality=TEXT", nil, &own); err != nil {
		return nil, err
	}
	var profiles struct {
		Profiles []struct {
			ID string `json:"inferenceProfileId"`
		} `json:"inferenceProfileSummaries"`
	}
	if err := p.control.Read(ctx, http.MethodGet, "/inference-profiles?maxResults=1000", nil, &profiles); err != nil {
		return nil, err
	}
	var names []string
	for _, m := range own.Models {
		if slices.Contains(m.Types, "ON_DEMAND") {
			names = append(names, m.ID)
		}
	}
	for _, m := range profiles.Profiles {
		names = append(names, m.ID)
	}
	return names, nil
}
