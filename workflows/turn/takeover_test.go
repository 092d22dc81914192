package turn_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/testtemporal"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/temporal"
	"github.com/windlass-dev/windlass/workflows/turn"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// workerEnv has the test program be a worker instead, so that it can be killed.
const workerEnv = "WINDLASS_TURN_TEST_WORKER"

// place is where a worker process works.
type place struct {
	Temporal string
	Mesh     turntest.Address
}

// beWorker runs a worker until stdin is closed, or the process is killed.
func beWorker(env string) error {
	var p place
	if err := json.Unmarshal([]byte(env), &p); err != nil {
		return err
	}
	ctx := context.Background()
	deps, err := turntest.Join(ctx, p.Mesh)
	if err != nil {
		return err
	}
	c, err := temporal.Dial(ctx, temporal.Config{Address: p.Temporal, Identity: "victim", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	w, err := turn.NewWorker(turn.Config{ID: "victim"}, turn.Deps{
		Client: c, Sessions: deps.Sessions, Tools: deps.Tools, Inference: deps.Inference, Shields: deps.Shields, Bus: deps.Bus, Log: deps.Log,
	})
	if err != nil {
		return err
	}
	if err := w.Start(ctx); err != nil {
		return err
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// startVictim starts a worker process.
func startVictim(t *testing.T, p place) *exec.Cmd {
	t.Helper()
	env, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workerEnv+"="+string(env))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait() // killed on purpose
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the worker process did not come up: %q, %v", line, err)
	}
	return cmd
}

// hangOnce is a model whose first call never ends, and whose later calls answer.
func hangOnce(asked chan<- struct{}) turntest.Generate {
	var calls atomic.Int32
	return func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		if calls.Add(1) == 1 {
			return hang(asked)(req, stream)
		}
		return turntest.Say("whole")(req, stream)
	}
}

var answered = contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 1}

func TestAnotherWorkerGoesOnWhenOneIsKilled(t *testing.T) {
	mesh, addr := turntest.NewShared(t)
	address := testtemporal.Server(t)
	l := &live{Mesh: mesh, t: t, client: dial(t, address)}
	victim := startVictim(t, place{Temporal: address, Mesh: addr})
	asked := make(chan struct{}, 1)
	l.Model(hangOnce(asked))
	run := l.begin("trn_killed", &sessionsv1.Agent{})
	<-asked
	l.start("survivor", 0)
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	if got := l.end(run); got != answered {
		t.Errorf("result = %+v", got)
	}
	t.Logf("the turn ended %v after its worker was killed", time.Since(killed).Round(time.Millisecond))
	l.once(run.GetID())
}

// once checks that no step was written twice.
func (l *live) once(turnID string) {
	l.t.Helper()
	for step, n := range l.Journal.Commits(turnID) {
		if n != 1 {
			l.t.Errorf("step %s was committed %d times", step, n)
		}
	}
}

func TestAWorkerThatStopsHandsItsTurnsOver(t *testing.T) {
	mesh := turntest.New(t)
	l := &live{Mesh: mesh, t: t}
	l.client = dial(t, testtemporal.Server(t))
	leaving := l.start("leaving", 200*time.Millisecond)
	asked := make(chan struct{}, 1)
	l.Model(hangOnce(asked))
	run := l.begin("trn_handed_over", &sessionsv1.Agent{})
	<-asked
	l.start("staying", 0)
	stopped := time.Now()
	l.stop(leaving)
	if got := l.end(run); got != answered {
		t.Errorf("result = %+v", got)
	}
	t.Logf("the turn ended %v after its worker began to stop", time.Since(stopped).Round(time.Millisecond))
	l.once(run.GetID())
}
