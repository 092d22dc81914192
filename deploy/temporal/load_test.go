package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// loadEnv enables the measurement below: the number of workflows to run.
const loadEnv = "WINDLASS_TEMPORAL_LOAD"

// maxLoadedMB is the server's memory limit after some thousand small workflows.
const maxLoadedMB = 220

// TestLoad measures; it is not part of a regular run.
//
//	WINDLASS_TEMPORAL_LOAD=3000 go test -run TestLoad -v
func TestLoad(t *testing.T) {
	total, err := strconv.Atoi(os.Getenv(loadEnv))
	if err != nil {
		t.Skipf("%s is not set to a number of workflows", loadEnv)
	}
	launched := time.Now()
	c := start(t, "--db-filename", dbFile(t))
	t.Logf("ready after %s", time.Since(launched).Round(time.Millisecond))
	time.Sleep(5 * time.Second) // let the system workers become idle first
	idle := cpuOf(t, c)
	time.Sleep(10 * time.Second)
	t.Logf("idle: %s, %s CPU in 10 s", memoryOf(t, c), cpuOf(t, c)-idle)

	cl, err := client.Dial(client.Options{HostPort: c.ready.Address, Logger: silence{}})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	w := worker.New(cl, "load", worker.Options{})
	w.RegisterWorkflow(smallTurn)
	w.RegisterActivity(repeat)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()

	runTurns(t, cl, "warm-up", 20, 1)
	t.Logf("one at a time: %s", runTurns(t, cl, "single", 100, 1))
	before := cpuOf(t, c)
	t.Logf("32 at a time: %s", runTurns(t, cl, "parallel", total, 32))
	t.Logf("server CPU: %s each", ((cpuOf(t, c) - before) / time.Duration(total)).Round(100*time.Microsecond))
	t.Logf("right after: %s", memoryOf(t, c))
	time.Sleep(20 * time.Second)
	t.Logf("20 s later: %s", memoryOf(t, c))
	t.Logf("one at a time again: %s", runTurns(t, cl, "again", 100, 1))
	if mb := residentMB(t, c, "VmRSS"); mb > maxLoadedMB {
		t.Errorf("%d MB resident, more than %d", mb, maxLoadedMB)
	}
	if text := c.stderr.String(); text != "" {
		t.Errorf("logged:\n%s", text)
	}
}

// smallTurn is a minimal turn: a regular activity between two local ones.
func smallTurn(ctx workflow.Context, text string) (string, error) {
	local := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{ScheduleToCloseTimeout: time.Minute})
	regular := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	var out string
	if err := workflow.ExecuteLocalActivity(local, repeat, text).Get(ctx, &out); err != nil {
		return "", err
	}
	if err := workflow.ExecuteActivity(regular, repeat, out).Get(ctx, &out); err != nil {
		return "", err
	}
	err := workflow.ExecuteLocalActivity(local, repeat, out).Get(ctx, &out)
	return out, err
}

func repeat(_ context.Context, text string) (string, error) { return text, nil }

// runTurns runs total workflows, parallel at a time, and reports how long they took.
func runTurns(t *testing.T, cl client.Client, prefix string, total, parallel int) string {
	t.Helper()
	next := make(chan int)
	var mu sync.Mutex
	var took []time.Duration
	var wg sync.WaitGroup
	began := time.Now()
	for range parallel {
		wg.Go(func() {
			for i := range next {
				at := time.Now()
				options := client.StartWorkflowOptions{ID: fmt.Sprintf("%s-%d", prefix, i), TaskQueue: "load", EnableEagerStart: true}
				run, err := cl.ExecuteWorkflow(t.Context(), options, smallTurn, "hello")
				if err == nil {
					err = run.Get(t.Context(), nil)
				}
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				took = append(took, time.Since(at))
				mu.Unlock()
			}
		})
	}
	for i := range total {
		next <- i
	}
	close(next)
	wg.Wait()
	slices.Sort(took)
	return fmt.Sprintf("p50 %s, p99 %s, %.0f/s", took[len(took)/2].Round(time.Millisecond),
		took[len(took)*99/100].Round(time.Millisecond), float64(total)/time.Since(began).Seconds())
}

func memoryOf(t *testing.T, c *child) string {
	return fmt.Sprintf("%d MB resident (%d MB anonymous, %d MB mapped files)",
		residentMB(t, c, "VmRSS"), residentMB(t, c, "RssAnon"), residentMB(t, c, "RssFile"))
}

func residentMB(t *testing.T, c *child, field string) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		t.Skip("no /proc here")
	}
	_, rest, _ := strings.Cut(string(status), field+":")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kb / 1024
}

// cpuOf returns the CPU time that the server has used so far.
func cpuOf(t *testing.T, c *child) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	if err != nil {
		t.Skip("no /proc here")
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the name before it may contain spaces
	fields := strings.Fields(rest)
	var ticks int
	for _, field := range fields[11:13] { // user and system time, in hundredths of a second
		n, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

type silence struct{}

var _ log.Logger = silence{}

func (silence) Debug(string, ...any) {}
func (silence) Info(string, ...any)  {}
func (silence) Warn(string, ...any)  {}
func (silence) Error(string, ...any) {}
