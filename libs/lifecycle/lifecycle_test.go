package lifecycle_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/libs/lifecycle"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var errBoom = errors.New("boom")

// recorder creates components that record their starts and stops.
type recorder struct{ did []string }

func (r *recorder) component(name string) lifecycle.Component {
	return lifecycle.Component{
		Name:  name,
		Start: func(context.Context) error { r.did = append(r.did, "+"+name); return nil },
		Stop:  func(context.Context) error { r.did = append(r.did, "-"+name); return nil },
	}
}

func (r *recorder) check(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(r.did, want) {
		t.Errorf("did %v, want %v", r.did, want)
	}
}

// TestASlowStopIsTold: a person who waits for a stop learns for what.
func TestASlowStopIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		slow := r.component("slow")
		slow.Stop = func(context.Context) error { time.Sleep(3 * time.Second); return nil }
		told := make(chan string, 3)
		g := lifecycle.Group{Slow: func(name string) { told <- name }}
		g.Add(r.component("a"), slow, r.component("b"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := g.Run(ctx, time.Minute); err != nil {
			t.Errorf("Run = %v", err)
		}
		if name := <-told; name != "slow" || len(told) > 0 {
			t.Errorf("slow are %q and %d more", name, len(told))
		}
	})
}

func TestCancelStopsInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		var g lifecycle.Group
		g.Add(r.component("db"), r.component("bus"), r.component("api"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := g.Run(ctx, time.Second); err != nil {
			t.Errorf("Run = %v", err)
		}
		r.check(t, "+db", "+bus", "+api", "-api", "-bus", "-db")
	})
}

func TestFailedStart(t *testing.T) {
	var r recorder
	var g lifecycle.Group
	bad := r.component("bus")
	bad.Start = func(context.Context) error { return errBoom }
	g.Add(r.component("db"), bad, r.component("api"))
	err := g.Run(t.Context(), time.Second)
	var failed *lifecycle.Error
	if !errors.Is(err, errBoom) || !errors.As(err, &failed) || failed.Component != "bus" || failed.Phase != "start" {
		t.Errorf("Run = %v", err)
	}
	r.check(t, "+db", "-db")
}

func TestPanicIsAFailure(t *testing.T) {
	var r recorder
	var g lifecycle.Group
	g.Add(r.component("db"), lifecycle.Component{Name: "api", Start: func(context.Context) error { panic("boom") }})
	if err := g.Run(t.Context(), time.Second); err == nil || !strings.Contains(err.Error(), "api: start: panic: boom") {
		t.Errorf("Run = %v", err)
	}
	r.check(t, "+db", "-db")
}

func TestComponentThatDiesEndsTheRest(t *testing.T) {
	for _, tc := range []struct {
		name     string
		err      error
		want     error
		stopFail error
	}{
		{"with an error", errBoom, errBoom, nil},
		{"without one", nil, lifecycle.ErrEnded, nil},
		{"and its stop fails too", errBoom, errBoom, errors.New("already gone")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r recorder
				var runCtx context.Context
				var g lifecycle.Group
				worker := r.component("worker")
				worker.Start = func(ctx context.Context) error { runCtx = ctx; return nil }
				worker.Wait = func() error { time.Sleep(time.Hour); return tc.err }
				worker.Stop = func(context.Context) error { return tc.stopFail }
				g.Add(r.component("db"), worker, r.component("api"))
				err := g.Run(t.Context(), time.Second)
				if !errors.Is(err, tc.want) || !strings.HasPrefix(err.Error(), "worker: run: ") || strings.Contains(err.Error(), "gone") {
					t.Errorf("Run = %v", err)
				}
				if !errors.Is(context.Cause(runCtx), tc.want) {
					t.Errorf("cause of the run's end = %v", context.Cause(runCtx))
				}
				r.check(t, "+db", "+api", "-api", "-db")
			})
		})
	}
}

func TestCancelDuringStartInterruptsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		var g lifecycle.Group
		slow := r.component("slow")
		slow.Start = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		g.Add(r.component("db"), slow, r.component("api"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := g.Run(ctx, time.Second); err != nil {
			t.Errorf("Run = %v, want a clean stop", err)
		}
		r.check(t, "+db", "-db")
	})
}

func TestContextOfStartLivesUntilTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept context.Context
		var g lifecycle.Group
		g.Add(lifecycle.Component{
			Name:  "a",
			Start: func(ctx context.Context) error { kept = ctx; return nil },
			Stop: func(context.Context) error {
				if kept.Err() != nil {
					t.Error("it ended before the component was stopped")
				}
				return nil
			},
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := g.Run(ctx, time.Second); err != nil || kept.Err() == nil {
			t.Errorf("Run = %v, context afterwards %v", err, kept.Err())
		}
	})
}

func TestOneDeadlineForAllStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		var g lifecycle.Group
		stuck := r.component("stuck")
		release := make(chan struct{})
		defer close(release)
		stuck.Stop = func(context.Context) error { <-release; return nil }
		g.Add(r.component("db"), stuck, r.component("api"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		err := g.Run(ctx, 3*time.Second)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "stuck: stop: did not stop in time") {
			t.Errorf("Run = %v", err)
		}
		if took := time.Since(begin); took != time.Minute+3*time.Second {
			t.Errorf("took %v", took)
		}
		synctest.Wait()
		r.check(t, "+db", "+stuck", "+api", "-api", "-db") // the others are stopped all the same
	})
}

// TestLinger: what a process does between the request to stop it and the first stop, in which everything still runs.
func TestLinger(t *testing.T) {
	const asked, lingers = time.Minute, 5 * time.Second
	for _, tc := range []struct {
		name   string
		fails  time.Duration // after the start; 0 = never
		want   string
		failed bool
	}{
		{name: "components run while it lasts", want: "+api lingers lingered -api"},
		{name: "a failure ends it", fails: asked + time.Second, want: "+api lingers lingered -api", failed: true},
		{name: "a failure before is no reason to linger", fails: time.Second, want: "+api -api", failed: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r recorder
				api, stopped := r.component("api"), make(chan struct{})
				stop := api.Stop
				api.Stop = func(ctx context.Context) error { defer close(stopped); return stop(ctx) }
				api.Wait = func() error {
					var fail <-chan time.Time
					if tc.fails > 0 {
						fail = time.After(tc.fails)
					}
					select {
					case <-fail:
						return errBoom
					case <-stopped:
						return nil
					}
				}
				g := lifecycle.Group{Linger: func(ctx context.Context) {
					r.did = append(r.did, "lingers")
					select {
					case <-time.After(lingers):
					case <-ctx.Done():
					}
					r.did = append(r.did, "lingered")
				}}
				g.Add(api)
				ctx, cancel := context.WithTimeout(t.Context(), asked)
				defer cancel()
				if err := g.Run(ctx, time.Minute); errors.Is(err, errBoom) != tc.failed {
					t.Errorf("Run = %v", err)
				}
				r.check(t, strings.Fields(tc.want)...)
			})
		})
	}
}
