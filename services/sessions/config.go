package sessions

import (
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/services/sessions/limits"
	"github.com/windlass-dev/windlass/services/sessions/schedule"
	"github.com/windlass-dev/windlass/services/sessions/wait"
	"github.com/windlass-dev/windlass/services/sessions/webhook"
)

// Config sizes the sessions service. Zero fields take their defaults.
type Config struct {
	// Limits are the defaults of a turn's limits.
	Limits limits.Limits `yaml:"limits" doc:"Default limits of a turn. An agent can set other limits, up to max_limits."`
	// MaxLimits bounds what an agent may ask for.
	MaxLimits limits.Limits `yaml:"max_limits" doc:"Highest limits that an agent can set."`
	// PlaceholderEnv names the variables that ${env.*} in blueprints may read.
	PlaceholderEnv []string `yaml:"placeholder_env" doc:"Environment variables that agents may refer to as ${env.NAME} in their instructions and executors (default none)."`
	// ReserveOutputTokens is what a model call under a budget may write when its agent does not say.
	ReserveOutputTokens int `yaml:"reserve_output_tokens" doc:"Tokens that a model call under a limit may write, and that are reserved for it, if its agent does not set max_output_tokens (default 4096)."`
	// MaxInputBytes bounds one input.
	MaxInputBytes int `yaml:"max_input_bytes" doc:"Maximum size of the input of a turn in bytes (default 1048576)."`
	// MaxQueuedTurns bounds the turns of one session that are not over.
	MaxQueuedTurns int `yaml:"max_queued_turns" doc:"Maximum number of unfinished turns in one session (default 100)."`
	// MaxTurnInputs bounds what one turn is given while it runs.
	MaxTurnInputs int `yaml:"max_turn_inputs" doc:"Maximum number of inputs with which a running turn can be steered (default 100)."`
	// MaxForkBytes bounds the conversation that a fork copies.
	MaxForkBytes int `yaml:"max_fork_bytes" doc:"Maximum size of a conversation that a fork copies, in bytes (default 67108864)."`
	// MaxExportBytes bounds an export.
	MaxExportBytes int `yaml:"max_export_bytes" doc:"Maximum size of the export of a session in bytes, at most 16777216 (default 12582912)."`
	// SweepInterval is how often the outbox and lost turns are looked after.
	SweepInterval time.Duration `yaml:"sweep_interval" doc:"How often the service checks for queued work without a notification (default 1s)."`
	// MaxOpenWorkflows bounds the workflows of turns under way in the whole mesh. A turn that runs ahead without one does not count.
	MaxOpenWorkflows int `yaml:"max_open_workflows" doc:"Maximum number of open workflows of turns. Further workflows wait in order, although their turns may already run eagerly. Turns that wait for people do not count (default 200)."`
	// Waits says how long turns wait for people.
	Waits wait.Times `yaml:"waits" doc:"How long turns wait for people and clients by default."`
	// Schedules bounds schedules and their fires.
	Schedules schedule.Config `yaml:"schedules" doc:"Limits and times of schedules."`
	// MaxStarting bounds the workflow starts in flight from one process.
	MaxStarting int `yaml:"max_starting" doc:"Maximum number of concurrent workflow starts (default 8)."`
	// StartDelay is how long a workflow waits for its turn to run ahead. A turn that is over by then needs it only for the record.
	StartDelay time.Duration `yaml:"start_delay" doc:"Delay between a turn's eager run and the start of its workflow (default 50ms)."`
	// OfferResults is how long the result of a sub-agent in the background is offered to a session that does not take it.
	OfferResults time.Duration `yaml:"offer_results" doc:"How long delivery of a background sub-agent's result is retried if the session does not accept it, counted from the sub-agent's end (default 1h)."`
	// LostAfter is how long a turn may be without a live lease before its workflow is asked after.
	LostAfter time.Duration `yaml:"lost_after" doc:"Idle time after which the service checks whether the workflow of a turn still exists (default 30s)."`
	// MaxRestarts is how often a lost workflow is started again before its turn fails.
	MaxRestarts int `yaml:"max_restarts" doc:"How often a lost workflow is restarted before its turn fails (default 3)."`
	// MaxLease bounds a step's lease.
	MaxLease time.Duration `yaml:"max_lease" doc:"Maximum lease of a step (default 60s)."`
	// IdempotencyAge is how long idempotency keys are remembered.
	IdempotencyAge time.Duration `yaml:"idempotency_age" doc:"How long idempotency keys are stored (default 24h)."`
	// SealKey seals secrets that are stored.
	SealKey secret.Value `yaml:"seal_key" doc:"Secret of at least 32 characters that encrypts the stored signing secrets of webhooks; the same for all processes with the sessions role. windlass up generates its own."`
	// OldSealKeys open what was sealed before SealKey was changed.
	OldSealKeys []secret.Value `yaml:"old_seal_keys" doc:"Previous values of seal_key. They decrypt stored secrets, which are then encrypted with seal_key."`
	// Webhooks bounds deliveries to webhooks.
	Webhooks webhook.Config `yaml:"webhooks" doc:"Delivery of events to webhooks."`
	// DeltaAge is how long the bus keeps deltas for late watchers.
	DeltaAge time.Duration `yaml:"delta_age" doc:"How long the bus stores deltas of unfinished messages (default 1h)."`
	// DeltaBytes bounds the deltas the bus keeps.
	DeltaBytes int64 `yaml:"delta_bytes" doc:"Maximum size of the deltas that the bus stores, in bytes (default 268435456)."`
	// ChatWait is how long Chat and GetTurn wait at most.
	ChatWait time.Duration `yaml:"chat_wait" doc:"Maximum time that one call waits for the end of a turn (default 60s)."`
	// WatchBuffer is how many events may wait for one watcher.
	WatchBuffer int `yaml:"watch_buffer" doc:"Number of events that can be pending for one watcher before it is disconnected (default 256)."`
	// BusBuffer is how many bus messages may wait for one session's feed.
	BusBuffer int `yaml:"bus_buffer" doc:"Number of bus messages that can be pending for one watched session (default 32)."`
	// PollActive, PollIdle and PollAway are how often the journal of a watched session is read without being told to.
	PollActive time.Duration `yaml:"poll_active" doc:"How often the journal of a watched session is polled while a turn runs (default 5s)."`
	PollIdle   time.Duration `yaml:"poll_idle" doc:"How often it is polled while no turn runs (default 30s)."`
	PollAway   time.Duration `yaml:"poll_away" doc:"How often it is polled while the bus is unavailable (default 750ms)."`
	// EventRetention is how long domain events are kept.
	EventRetention time.Duration `yaml:"event_retention" doc:"How long domain events are kept, at most 9600h, 400 days (default 720h)."`
}

const day = 24 * time.Hour

// DefaultConfig is the configuration that all-zero fields stand for.
func DefaultConfig() Config {
	return Config{
		Limits:        limits.Limits{MaxSteps: 25, MaxParallelTools: 16, MaxIdenticalCalls: 3, TurnSeconds: 1800},
		MaxLimits:     limits.Limits{MaxSteps: 200, MaxParallelTools: 64, MaxIdenticalCalls: 20, TurnSeconds: 86400},
		MaxInputBytes: 1 << 20, MaxQueuedTurns: 100, MaxTurnInputs: 100, MaxForkBytes: 64 << 20, MaxExportBytes: 12 << 20,
		Webhooks:      webhook.DefaultConfig(),
		Waits:         wait.Times{Approval: 7 * day, Input: 7 * day, ClientTool: day, Resolution: 30 * day, Authorization: 7 * day},
		Schedules:     schedule.DefaultConfig(),
		SweepInterval: time.Second, MaxOpenWorkflows: 200, MaxStarting: 8, StartDelay: 50 * time.Millisecond,
		OfferResults: time.Hour,
		LostAfter:    30 * time.Second, MaxRestarts: 3, MaxLease: time.Minute, IdempotencyAge: 24 * time.Hour,
		DeltaAge: time.Hour, DeltaBytes: 256 << 20, ChatWait: time.Minute, WatchBuffer: 256, BusBuffer: 32,
		PollActive: 5 * time.Second, PollIdle: 30 * time.Second, PollAway: 750 * time.Millisecond,
		ReserveOutputTokens: 4096, EventRetention: eventlog.DefaultRetention,
	}
}

// complete fills in the defaults and refuses what makes no sense.
func (c Config) complete() (Config, error) {
	d := DefaultConfig()
	c.Limits, c.MaxLimits = c.Limits.Or(d.Limits), c.MaxLimits.Or(d.MaxLimits)
	or(&c.ReserveOutputTokens, d.ReserveOutputTokens)
	or(&c.MaxInputBytes, d.MaxInputBytes)
	or(&c.MaxQueuedTurns, d.MaxQueuedTurns)
	or(&c.OfferResults, d.OfferResults)
	or(&c.MaxTurnInputs, d.MaxTurnInputs)
	or(&c.MaxForkBytes, d.MaxForkBytes)
	or(&c.MaxExportBytes, d.MaxExportBytes)
	c.Waits = c.Waits.Or(d.Waits)
	or(&c.SweepInterval, d.SweepInterval)
	or(&c.MaxOpenWorkflows, d.MaxOpenWorkflows)
	or(&c.MaxStarting, d.MaxStarting)
	or(&c.StartDelay, d.StartDelay)
	or(&c.LostAfter, d.LostAfter)
	or(&c.MaxRestarts, d.MaxRestarts)
	or(&c.MaxLease, d.MaxLease)
	or(&c.IdempotencyAge, d.IdempotencyAge)
	or(&c.DeltaAge, d.DeltaAge)
	or(&c.DeltaBytes, d.DeltaBytes)
	or(&c.ChatWait, d.ChatWait)
	or(&c.WatchBuffer, d.WatchBuffer)
	or(&c.BusBuffer, d.BusBuffer)
	c.completePolls(d)
	or(&c.EventRetention, d.EventRetention)
	if c.SweepInterval < 0 || c.StartDelay < 0 || c.LostAfter < 0 || c.MaxLease < 100*time.Millisecond || c.IdempotencyAge < 0 ||
		c.DeltaAge < 0 || c.ChatWait < 0 {
		return c, errors.New("sessions: a time is negative, or max_lease is below 100ms")
	}
	if c.Waits.Min() < 0 {
		return c, errors.New("sessions: a time in waits is negative")
	}
	if err := eventlog.CheckRetention(c.EventRetention); err != nil {
		return c, fmt.Errorf("sessions: %w", err)
	}
	var err error
	if c.Schedules, err = c.Schedules.Complete(); err != nil {
		return c, err
	}
	if c.Webhooks, err = c.Webhooks.Complete(); err != nil {
		return c, err
	}
	if c.MaxInputBytes < 0 || c.MaxQueuedTurns < 0 || c.MaxTurnInputs < 0 || c.MaxOpenWorkflows < 0 || c.MaxStarting < 0 || c.MaxRestarts < 0 {
		return c, errors.New("sessions: a size is negative")
	}
	if c.MaxForkBytes < 0 || c.MaxExportBytes < 0 || c.MaxExportBytes > 16<<20 {
		return c, errors.New("sessions: max_fork_bytes or max_export_bytes is out of range")
	}
	if c.ReserveOutputTokens < 0 || c.ReserveOutputTokens > 1<<30 {
		return c, errors.New("sessions: reserve_output_tokens is out of range")
	}
	if over, ok := c.Limits.Within(c.MaxLimits); !ok {
		return c, fmt.Errorf("sessions: limits.%s is higher than max_limits.%s", over.Name, over.Name)
	}
	return c, nil
}

func (c *Config) completePolls(d Config) {
	or(&c.PollActive, d.PollActive)
	or(&c.PollIdle, d.PollIdle)
	or(&c.PollAway, d.PollAway)
}

func or[T comparable](field *T, def T) {
	var zero T
	if *field == zero {
		*field = def
	}
}
