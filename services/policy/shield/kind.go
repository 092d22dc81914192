package shield

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Detectors of shields that ask.
const (
	// Webhook asks a service of the operator's.
	Webhook = "webhook"
	// Guard asks a model that answers "safe" or "unsafe" and categories.
	Guard = "guard"
	// Moderation asks a provider's moderation endpoint.
	Moderation = "moderation"
)

// What follows when a shield that asks has no usable answer.
const (
	// Closed means that the text is not used; the default.
	Closed = "closed"
	// Open lets the text pass.
	Open = "open"
)

// Times that a shield that asks may take.
const (
	defaultTimeout = 5 * time.Second
	maxTimeout     = time.Minute
)

// Asks reports whether the shield asks a service, so that it can fail and the same text may get another answer.
func (c Config) Asks() bool { return c.Detector == Webhook || c.asksModel() }

func (c Config) asksModel() bool { return c.Detector == Guard || c.Detector == Moderation }

// askers checks the fields of shields that ask, and sets their defaults.
func (c Config) askers() (Config, error) {
	if !c.Asks() {
		if c.Timeout != 0 || c.OnError != "" {
			return c, errors.New("give timeout and on_error with the detectors webhook, guard and moderation, and only there: " +
				"the others cannot fail")
		}
		return c, errors.Join(c.webhookOnly(), c.modelOnly())
	}
	if c.Timeout < 0 || c.Timeout > maxTimeout {
		return c, fmt.Errorf("timeout %s: at most %s", c.Timeout, maxTimeout)
	}
	c.Timeout, c.OnError = cmp.Or(c.Timeout, defaultTimeout), cmp.Or(c.OnError, Closed)
	if c.OnError != Open && c.OnError != Closed {
		return c, fmt.Errorf("on_error %q: want open or closed", c.OnError)
	}
	if c.Pattern != "" || c.MaxBytes != 0 || len(c.Hosts) > 0 {
		return c, errors.New("pattern, max_bytes and hosts are for other detectors")
	}
	if c.asksModel() {
		return c, errors.Join(c.webhookOnly(), c.model())
	}
	return c, errors.Join(c.modelOnly(), c.webhook())
}

func (c Config) modelOnly() error {
	if c.Model != "" || len(c.Categories) > 0 {
		return errors.New("give model and categories with the detectors guard and moderation, and only there")
	}
	return nil
}

func (c Config) model() error {
	switch provider, name, _ := strings.Cut(c.Model, "/"); {
	case provider == "" || name == "":
		return errors.New("model: want PROVIDER/MODEL, for example local/llama-guard3")
	case c.Action == Redact:
		return errors.New("a model does not say what to redact: use block, flag or ask")
	}
	return nil
}

func (c Config) webhookOnly() error {
	if c.URL != "" || len(c.Headers) > 0 || c.Tenant != "" {
		return errors.New("give url, headers and tenant with the detector webhook, and only there")
	}
	return nil
}

func (c Config) webhook() error {
	if c.Action != "" {
		return errors.New("a webhook decides by itself: give no action")
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return errors.New("url: want https://HOST/PATH without user name; put credentials into headers")
	}
	return nil
}
