package sessions

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/services/sessions/file"
	"github.com/windlass-dev/windlass/services/sessions/limits"
	"github.com/windlass-dev/windlass/services/sessions/schedule"
	"github.com/windlass-dev/windlass/services/sessions/share"
	"github.com/windlass-dev/windlass/services/sessions/turn"
	"github.com/windlass-dev/windlass/services/sessions/wait"
	"github.com/windlass-dev/windlass/services/sessions/webhook"
)

// Config sizes the sessions service. Zero stands for the default.
type Config struct {
	Limits              limits.Limits   `yaml:"limits" default:"{max_steps: 25, max_parallel_tools: 16, max_identical_calls: 3, turn_seconds: 1800}" doc:"Default limits of a turn. An agent can set other limits, up to max_limits."`
	MaxLimits           limits.Limits   `yaml:"max_limits" default:"{max_steps: 200, max_parallel_tools: 64, max_identical_calls: 20, turn_seconds: 86400}" doc:"Highest limits that an agent can set."`
	PlaceholderEnv      []string        `yaml:"placeholder_env" doc:"Environment variables that agents may refer to as ${env.NAME} in their instructions and executors."`
	ReserveOutputTokens int             `yaml:"reserve_output_tokens" default:"4096" doc:"Tokens that a model call under a limit may write, and that are reserved for it, if its agent does not set max_output_tokens."`
	MaxInputBytes       int             `yaml:"max_input_bytes" default:"1048576" doc:"Maximum size of the input of a turn in bytes."`
	MaxQueuedTurns      int             `yaml:"max_queued_turns" default:"100" doc:"Maximum number of unfinished turns in one session."`
	Load                turn.LoadConfig `yaml:"load" doc:"What the mesh takes on. Beyond it further turns are refused; those that were accepted go on."`
	MaxTurnInputs       int             `yaml:"max_turn_inputs" default:"100" doc:"Maximum number of inputs with which a running turn can be steered."`
	MaxForkBytes        int             `yaml:"max_fork_bytes" default:"67108864" doc:"Maximum size of a conversation that a fork copies, in bytes."`
	MaxExportBytes      int             `yaml:"max_export_bytes" default:"12582912" doc:"Maximum size of the export of a session in bytes, at most 16777216."`
	SweepInterval       time.Duration   `yaml:"sweep_interval" default:"1s" doc:"How often the service checks for queued work without a notification."`
	MaxOpenWorkflows    int             `yaml:"max_open_workflows" default:"200" doc:"Maximum number of open workflows of turns. Further workflows wait in order, although their turns may already run eagerly. Turns that wait for people do not count."`
	Waits               wait.Times      `yaml:"waits" doc:"How long turns wait for people and clients by default."`
	Schedules           schedule.Config `yaml:"schedules" doc:"Limits and times of schedules."`
	MaxStarting         int             `yaml:"max_starting" default:"8" doc:"Maximum number of concurrent workflow starts."`
	StartDelay          time.Duration   `yaml:"start_delay" default:"50ms" doc:"Delay between a turn's eager run and the start of its workflow."`
	OfferResults        time.Duration   `yaml:"offer_results" default:"1h" doc:"How long delivery of a background sub-agent's result is retried if the session does not accept it, counted from the sub-agent's end."`
	LostAfter           time.Duration   `yaml:"lost_after" default:"30s" doc:"Idle time after which the service checks whether the workflow of a turn still exists."`
	MaxRestarts         int             `yaml:"max_restarts" default:"3" doc:"How often a lost workflow is restarted before its turn fails."`
	MaxLease            time.Duration   `yaml:"max_lease" default:"1m" doc:"Maximum lease of a step."`
	IdempotencyAge      time.Duration   `yaml:"idempotency_age" default:"24h" doc:"How long idempotency keys are stored."`
	Shares              share.Config    `yaml:"shares" doc:"Shares of conversations."`
	RestoreFor          time.Duration   `yaml:"restore_for" default:"30s" doc:"How long a deleted session can be restored. Then it is erased."`
	SealKey             secret.Value    `yaml:"seal_key" doc:"Secret of at least 32 characters that encrypts the stored signing secrets of webhooks; the same for all processes with the sessions role. windlass up generates its own."`
	OldSealKeys         []secret.Value  `yaml:"old_seal_keys" doc:"Previous values of seal_key. They decrypt stored secrets, which are then encrypted with seal_key."`
	Files               file.Config     `yaml:"files" doc:"Limits of uploaded files."`
	Webhooks            webhook.Config  `yaml:"webhooks" doc:"Delivery of events to webhooks."`
	DeltaAge            time.Duration   `yaml:"delta_age" default:"1h" doc:"How long the bus stores deltas of unfinished messages."`
	DeltaBytes          int64           `yaml:"delta_bytes" default:"268435456" doc:"Maximum size of the deltas that the bus stores, in bytes."`
	ChatWait            time.Duration   `yaml:"chat_wait" default:"1m" doc:"Maximum time that one call waits for the end of a turn."`
	WatchBuffer         int             `yaml:"watch_buffer" default:"256" doc:"Number of events that can be pending for one watcher before it is disconnected."`
	BusBuffer           int             `yaml:"bus_buffer" default:"32" doc:"Number of bus messages that can be pending for one watched session."`
	PollActive          time.Duration   `yaml:"poll_active" default:"5s" doc:"How often the journal of a watched session is polled while a turn runs."`
	PollIdle            time.Duration   `yaml:"poll_idle" default:"30s" doc:"How often it is polled while no turn runs."`
	PollAway            time.Duration   `yaml:"poll_away" default:"750ms" doc:"How often it is polled while the bus is unavailable."`
	EventRetention      time.Duration   `yaml:"event_retention" default:"720h" doc:"How long domain events are kept, at most 9600h, 400 days."`
}

// check rejects a configuration that makes no sense.
func (c Config) check() error {
	if err := cmp.Or(config.CheckNotNegative(c), eventlog.CheckRetention(c.EventRetention)); err != nil {
		return fmt.Errorf("sessions: %w", err)
	}
	switch over, ok := c.Limits.Within(c.MaxLimits); {
	case !ok:
		return fmt.Errorf("sessions: limits.%s is higher than max_limits.%s", over.Name, over.Name)
	case c.MaxLease < 100*time.Millisecond:
		return errors.New("sessions: max_lease is below 100ms")
	case c.MaxExportBytes > 16<<20:
		return errors.New("sessions: max_export_bytes is out of range")
	case c.ReserveOutputTokens > 1<<30:
		return errors.New("sessions: reserve_output_tokens is out of range")
	}
	if err := c.Load.Check(); err != nil {
		return fmt.Errorf("sessions: load: %w", err)
	}
	return cmp.Or(c.Schedules.Check(), c.Files.Check())
}
