package turn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/config"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/ingest"
	"github.com/windlass-dev/windlass/workflows/schedule"
	"github.com/windlass-dev/windlass/workflows/turn/executor"
	"github.com/windlass-dev/windlass/workflows/turn/step/runner"
	"github.com/windlass-dev/windlass/workflows/turn/step/shield"
)

// Config says how a worker works. Zero stands for the default.
type Config struct {
	// ID is required.
	ID            string `yaml:"id" doc:"Name of this worker in leases and in the Temporal UI; unique per process. Empty: a new one is generated at each start."`
	MaxConcurrent int    `yaml:"max_concurrent" default:"1000" doc:"Maximum number of model and tool steps that one worker runs concurrently."`
	MaxRunning    int    `yaml:"max_running" default:"256" doc:"Maximum number of concurrent eager runs per worker; further turns wait for their workflow."`
	// CachedWorkflows holds for all workers of a process: the last one counts.
	CachedWorkflows int `yaml:"cached_workflows" default:"512" doc:"Turns whose workflows a worker keeps in memory; further ones are replayed from Temporal when an event arrives. Waiting turns are removed after temporal.park_after."`
	// JoinTime is how long a workflow waits for the eager run of its turn before it runs the steps itself, and so how long its cancel may
	// wait; less than 10 s.
	JoinTime  time.Duration `yaml:"-" default:"400ms"`
	DrainTime time.Duration `yaml:"drain_time" default:"5s" doc:"How long running steps may continue when a worker stops, before other workers take them over."`
	// Deployment and BuildID make this a worker with a version, in the sense of Temporal's worker versioning. Both or neither. Once a version
	// is current, workers without one get no more tasks.
	Deployment string `yaml:"deployment" doc:"Name under which Temporal keeps the versions of these workers; a turn stays with the version of the worker that began it. Empty: workers without versions. With build_id, never with temporal.eager."`
	BuildID    string `yaml:"build_id" doc:"Version of this worker in its deployment. New turns go to the version made current with windlassd versions promote."`
	// Step is for the runner; its Owner is set from ID.
	Step runner.Config `yaml:",inline"`
}

// Deps are what a worker works with. All but Executors and Ingestion are required.
type Deps struct {
	// Client is the connection to Temporal. Code that starts turns in the same process should share it.
	Client client.Client
	// Sessions keeps the journal.
	Sessions executionv1.ExecutionServiceClient
	// Tools resolves and runs tools.
	Tools registryv1.ToolExecutionServiceClient
	// Inference calls models.
	Inference inferencev1.InferenceServiceClient
	// Shields check texts.
	Shields shield.TextChecker
	// Facts recalls facts about users; nil, which is allowed, recalls none.
	Facts knowledgev1.RecallServiceClient
	// Ingestion ingests documents; without it the worker has no ingestions.
	Ingestion knowledgev1.IngestionServiceClient
	// Executors does the rounds of agents with an executor; nil refuses them. The worker closes it when it stops.
	Executors *executor.Host
	// Bus carries deltas out and news of other workers in.
	Bus *bus.Bus
	// Log receives what is reported nowhere else.
	Log *slog.Logger
}

// Worker does turns.
type Worker struct {
	worker worker.Worker
	runs   *runs
	hosts  *executor.Host
	drain  time.Duration
	fatal  chan error
}

// NewWorker builds a worker. It polls nothing before Start.
func NewWorker(cfg Config, deps Deps) (*Worker, error) {
	if cfg.ID == "" || deps.Client == nil || deps.Log == nil {
		return nil, errors.New("turn worker: ID, Client and Log are required")
	}
	if (cfg.Deployment == "") != (cfg.BuildID == "") {
		return nil, errors.New("turn worker: Deployment and BuildID go together")
	}
	config.Fill(&cfg)
	if err := config.CheckNotNegative(cfg); err != nil {
		return nil, fmt.Errorf("worker.%w", err)
	}
	cfg.Step.Owner = cfg.ID
	stepDeps := runner.Deps{
		Sessions: deps.Sessions, Tools: deps.Tools, Inference: deps.Inference, Shields: deps.Shields, Bus: deps.Bus, Log: deps.Log,
		Facts: deps.Facts,
	}
	if deps.Executors != nil {
		stepDeps.Executors = deps.Executors
	}
	runner, err := runner.New(cfg.Step, stepDeps)
	if err != nil {
		return nil, fmt.Errorf("turn worker: %w", err)
	}
	worker.SetStickyWorkflowCacheSize(cfg.CachedWorkflows)
	nameBinary()
	runs, err := newRuns(runner, deps.Bus, deps.Log, cfg.MaxRunning, cfg.JoinTime)
	if err != nil {
		return nil, err
	}
	w := &Worker{runs: runs, hosts: deps.Executors, drain: cfg.DrainTime * 4 / 5, fatal: make(chan error, 1)}
	w.worker = worker.New(deps.Client, contract.TaskQueue, options(cfg, deps.Log, w.fail))
	w.worker.RegisterWorkflowWithOptions(Turn, workflow.RegisterOptions{Name: contract.TurnWorkflow})
	w.worker.RegisterActivity(&Activities{steps: runner, runs: runs, drain: w.drain})
	if err := schedule.Register(w.worker, deps.Sessions); err != nil {
		return nil, err
	}
	if deps.Ingestion != nil {
		return w, ingest.Register(w.worker, deps.Ingestion, w.drain)
	}
	return w, nil
}

func options(cfg Config, log *slog.Logger, fail func(error)) worker.Options {
	return worker.Options{
		Identity:                           cfg.ID,
		MaxConcurrentActivityExecutionSize: cfg.MaxConcurrent,
		// Set by hand: the more pollers, the more tasks a worker that was frozen or cut off swallows.
		MaxConcurrentWorkflowTaskPollers: 8,
		MaxConcurrentActivityTaskPollers: 4,
		// After a worker's death its turns' next decisions are offered to it for so long.
		StickyScheduleToStartTimeout: time.Second,
		// The server notices a lost worker by heartbeats, which the SDK holds back to 80 % of the timeout otherwise.
		MaxHeartbeatThrottleInterval:     heartbeatInterval,
		DefaultHeartbeatThrottleInterval: heartbeatInterval,
		WorkerStopTimeout:                cfg.DrainTime,
		// The SDK's second is shorter than the pause of a frozen or overloaded host. After the task's own timeout its result is not used.
		DeadlockDetectionTimeout:    contract.TaskTimeout,
		DisableRegistrationAliasing: true,
		DeploymentOptions:           deployment(cfg),
		OnFatalError: func(err error) {
			log.Error("turn worker failed", "error", err)
			fail(err)
		},
	}
}

func deployment(cfg Config) worker.DeploymentOptions {
	if cfg.Deployment == "" {
		return worker.DeploymentOptions{}
	}
	return worker.DeploymentOptions{
		UseVersioning:             true,
		Version:                   worker.WorkerDeploymentVersion{DeploymentName: cfg.Deployment, BuildID: cfg.BuildID},
		DefaultVersioningBehavior: workflow.VersioningBehaviorPinned,
	}
}

func (w *Worker) fail(err error) {
	select {
	case w.fatal <- err:
	default:
	}
}

// Start begins to poll, and to listen for turns that may run ahead. It fails when the server or the namespace cannot be reached.
func (w *Worker) Start(context.Context) error {
	if err := w.worker.Start(); err != nil {
		return fmt.Errorf("start turn worker: %w", err)
	}
	if err := w.runs.start(); err != nil {
		w.worker.Stop()
		return fmt.Errorf("start turn worker: %w", err)
	}
	return nil
}

// Fatal returns the error that ended the worker by itself, at most one.
func (w *Worker) Fatal() <-chan error { return w.fatal }

// Stop stops polling, lets running steps end within the drain time, releases the leases of the others, and waits for that or until ctx
// ends.
func (w *Worker) Stop(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		var both sync.WaitGroup
		both.Go(func() { w.runs.stop(w.drain) })
		both.Go(w.worker.Stop)
		both.Wait()
		if w.hosts != nil {
			w.hosts.Close()
		}
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop turn worker: %w", ctx.Err())
	}
}
