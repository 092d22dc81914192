package webhook

import (
	"cmp"
	"errors"
	"time"
)

const day = 24 * time.Hour

// Config bounds deliveries. Zero fields take the values of DefaultConfig.
type Config struct {
	// FirstRetry is the backoff after the first failed attempt. It triples with each further one, up to an hour.
	FirstRetry time.Duration `yaml:"first_retry" doc:"Backoff after the first failed attempt. It triples with each further attempt, up to one hour (default 5s)."`
	// GiveUp is how long a delivery is retried.
	GiveUp time.Duration `yaml:"give_up" doc:"How long a delivery is retried before it fails (default 24h)."`
	// Timeout bounds one attempt.
	Timeout time.Duration `yaml:"timeout" doc:"Time for a receiver to respond (default 15s)."`
	// Keep is the retention of deliveries that have ended.
	Keep time.Duration `yaml:"keep" doc:"How long deliveries are stored after they have ended (default 168h, 7 days)."`
	// MaxSending bounds the attempts in flight in one process, without those that wait for a receiver that is slow.
	MaxSending int `yaml:"max_sending" doc:"Maximum number of concurrent attempts in one process (default 32). Those that take longer than 250 ms do not count, up to four times as many."`
	// MaxWebhooks bounds the webhooks of a tenant.
	MaxWebhooks int `yaml:"max_webhooks" doc:"Maximum number of webhooks of one tenant (default 100)."`
}

// DefaultConfig is the configuration that an all-zero Config stands for.
func DefaultConfig() Config {
	return Config{FirstRetry: 5 * time.Second, GiveUp: day, Timeout: 15 * time.Second, Keep: 7 * day, MaxSending: 32, MaxWebhooks: 100}
}

// Complete fills in defaults and rejects values out of range.
func (c Config) Complete() (Config, error) {
	d := DefaultConfig()
	c = Config{
		FirstRetry: cmp.Or(c.FirstRetry, d.FirstRetry), GiveUp: cmp.Or(c.GiveUp, d.GiveUp), Timeout: cmp.Or(c.Timeout, d.Timeout),
		Keep: cmp.Or(c.Keep, d.Keep), MaxSending: cmp.Or(c.MaxSending, d.MaxSending), MaxWebhooks: cmp.Or(c.MaxWebhooks, d.MaxWebhooks),
	}
	if c.FirstRetry < 0 || c.GiveUp < 0 || c.Timeout < 0 || c.Keep < 0 || c.MaxSending < 0 || c.MaxWebhooks < 0 {
		return c, errors.New("sessions: a time or size in webhooks is negative")
	}
	return c, nil
}
