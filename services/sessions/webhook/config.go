package webhook

import "time"

// Config bounds deliveries.
type Config struct {
	FirstRetry  time.Duration `yaml:"first_retry" default:"5s" doc:"Backoff after the first failed attempt. It triples with each further attempt, up to one hour."`
	GiveUp      time.Duration `yaml:"give_up" default:"24h" doc:"How long a delivery is retried before it fails."`
	Timeout     time.Duration `yaml:"timeout" default:"15s" doc:"Time for a receiver to respond."`
	Keep        time.Duration `yaml:"keep" default:"168h" doc:"How long deliveries are stored after they have ended."`
	MaxSending  int           `yaml:"max_sending" default:"32" doc:"Maximum number of concurrent attempts in one process. Those that take longer than 250 ms do not count, up to four times as many."`
	MaxWebhooks int           `yaml:"max_webhooks" default:"100" doc:"Maximum number of webhooks of one tenant."`
}
