package sessions

import (
	"errors"
	"time"
)

// WebhooksConfig says how webhooks are told.
type WebhooksConfig struct {
	// FirstRetry is the pause after the first failure; each further one is three times as long, up to an hour.
	FirstRetry time.Duration `yaml:"first_retry" doc:"pause after the first failed attempt; each further one is three times as long, up to an hour (default 5s)"`
	// GiveUp is how long a delivery is tried.
	GiveUp time.Duration `yaml:"give_up" doc:"how long a delivery is tried before it is given up (default 24h)"`
	// Timeout bounds one attempt.
	Timeout time.Duration `yaml:"timeout" doc:"time for a receiver to answer (default 15s)"`
	// Keep is how long deliveries are kept that came to an end.
	Keep time.Duration `yaml:"keep" doc:"how long deliveries are kept after they came to an end (default 168h, 7 days)"`
	// MaxSending bounds the attempts under way in one process.
	MaxSending int `yaml:"max_sending" doc:"attempts under way at once in one process (default 32)"`
	// MaxWebhooks bounds the webhooks of a tenant.
	MaxWebhooks int `yaml:"max_webhooks" doc:"webhooks of one tenant at most (default 100)"`
}

func defaultWebhooks() WebhooksConfig {
	return WebhooksConfig{
		FirstRetry: 5 * time.Second, GiveUp: day, Timeout: 15 * time.Second, Keep: 7 * day, MaxSending: 32, MaxWebhooks: 100,
	}
}

func (w WebhooksConfig) or(d WebhooksConfig) WebhooksConfig {
	or(&w.FirstRetry, d.FirstRetry)
	or(&w.GiveUp, d.GiveUp)
	or(&w.Timeout, d.Timeout)
	or(&w.Keep, d.Keep)
	or(&w.MaxSending, d.MaxSending)
	or(&w.MaxWebhooks, d.MaxWebhooks)
	return w
}

func (w WebhooksConfig) check() error {
	if w.FirstRetry < 0 || w.GiveUp < 0 || w.Timeout < 0 || w.Keep < 0 || w.MaxSending < 0 || w.MaxWebhooks < 0 {
		return errors.New("sessions: a time or size in webhooks is negative")
	}
	return nil
}
