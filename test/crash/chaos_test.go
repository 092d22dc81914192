package crash

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
	"github.com/windlass-dev/windlass/test/harness/netfault"
)

const (
	// seedEnv repeats a run.
	seedEnv = "WINDLASS_CHAOS_SEED"
	// seedFile holds runs that failed once: a seed, a duration and a topology on each line, and why they are kept.
	seedFile = "testdata/seeds"
	// inFlight is the number of concurrent turns, killEvery the interval between faults.
	inFlight  = 20
	killEvery = 5 * time.Second
	// thinking makes a turn take some seconds.
	thinking = 250 * time.Millisecond
	// freezeTime is longer than a lease, maxBreak the longest time for which a link is broken, in seconds.
	freezeTime = 4 * time.Second
	maxBreak   = 8
	// lastTurns bounds the wait for running turns after the last fault.
	lastTurns = 2 * time.Minute
)

// TestChaos kills processes at random during turns: no turn may be lost, and all records must agree in the end.
func TestChaos(t *testing.T) {
	text := os.Getenv(chaosEnv)
	if text == "" {
		t.Skip("`make chaos` runs it")
	}
	duration, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s: %v", chaosEnv, err)
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(seedEnv); text != "" {
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", seedEnv, err)
		}
	}
	tally.Lock()
	tally.seed = seed
	tally.Unlock()
	eachTopology(t, func(t *testing.T, on topology) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { chaos(t, on, seed, duration) })
	})
}

// TestKeptSeeds repeats the runs that failed once.
func TestKeptSeeds(t *testing.T) {
	if os.Getenv(chaosEnv) == "" {
		t.Skip("`make chaos` runs them")
	}
	file, err := os.Open(seedFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for sc := bufio.NewScanner(file); sc.Scan(); {
		line, _, _ := strings.Cut(sc.Text(), "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		var seed uint64
		var text, engine string
		if _, err := fmt.Sscan(line, &seed, &text, &engine); err != nil {
			t.Fatalf("%s: %q: %v", seedFile, line, err)
		}
		duration, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("%s: %q: %v", seedFile, line, err)
		}
		eachTopology(t, func(t *testing.T, on topology) {
			if on.name == engine {
				t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { chaos(t, on, seed, duration) })
			}
		})
	}
}

// riot is one run of chaos.
type riot struct {
	t testing.TB
	h *theatre
	// from is its start.
	from time.Time

	mu     sync.Mutex
	trials []*trial
}

func chaos(t *testing.T, on topology, seed uint64, duration time.Duration) {
	slots <- struct{}{}
	defer func() { <-slots }()
	t.Logf("SEED=%d DURATION=%v ENGINE=%s", seed, duration, on.name)
	c := &riot{t: t, h: newTheatre(t, on), from: time.Now()}
	ctx, stop := context.WithTimeout(t.Context(), duration)
	defer stop()
	late, cancel := context.WithTimeout(t.Context(), duration+lastTurns)
	defer cancel()
	var actors sync.WaitGroup
	for i := range inFlight {
		actors.Go(func() { c.act(ctx, late, i) })
	}
	faults := c.disturb(ctx, rand.New(rand.NewPCG(seed, 0)))
	actors.Wait()
	t.Logf("SEED=%d: %d turns; faults:\n%s", seed, len(c.trials), strings.Join(faults, "\n"))
	c.judge()
}

// act runs one turn after the other until ctx ends, and watches the last one to its end.
func (c *riot) act(ctx, late context.Context, actor int) {
	client := c.h.NewClient(c.t)
	for n := 0; ctx.Err() == nil; n++ {
		p := c.h.play(c.t, fmt.Sprintf("actor-%d-%d", actor, n), -1, false)
		p.pause = thinking
		r := &trial{h: c.h, play: p, scene: &scene{t: c.t, Mesh: c.h.Mesh, prop: c.h.prop, client: client}}
		if r.session = openSession(late, c.t, client, "a"); r.session == "" {
			return
		}
		r.post()
		select {
		case r.turn = <-r.posting:
		case <-late.Done():
			c.t.Errorf("%s is not accepted", p.id)
			return
		}
		r.watcher = client.Watch("/v1/turns/" + r.turn + "/events")
		c.mu.Lock()
		c.trials = append(c.trials, r)
		c.mu.Unlock()
		select {
		case <-r.watcher.Done():
		case <-late.Done():
			c.t.Errorf("turn %s does not end; there were:\n%s", r.turn, r.story())
			return
		}
	}
}

// disturb injects faults at intervals until ctx ends, and lists them.
func (c *riot) disturb(ctx context.Context, dice *rand.Rand) (faults []string) {
	tick := time.NewTicker(killEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return faults
		case <-tick.C:
		}
		at := time.Since(c.from).Round(time.Second)
		faults = append(faults, fmt.Sprintf("%6s %s", at, c.draw(ctx, dice)))
	}
}

// draw injects a random fault and returns its name. Half of them are kills.
func (c *riot) draw(ctx context.Context, dice *rand.Rand) string {
	names, links, db := c.h.Names(), c.h.AllLinks(), c.h.Database()
	name := names[dice.IntN(len(names))]
	switch kind := dice.IntN(20); {
	case kind < 3:
		c.h.count("freezes", 1)
		c.freeze(ctx, name)
		return "frozen " + name
	case kind < 9 && len(links) > 0:
		modes := netfault.Faults()
		return c.breakLink(ctx, links[dice.IntN(len(links))], modes[dice.IntN(len(modes))], time.Duration(1+dice.IntN(maxBreak))*time.Second,
			dice.IntN(2) == 0)
	case kind == 9 && db != nil:
		c.h.count("database faults", 1)
		db.Stop()
		c.pause(ctx, time.Duration(dice.IntN(3))*time.Second)
		db.Start()
		return "database restarted"
	case kind == 10 && db != nil:
		c.h.count("database faults", 1)
		db.Freeze()
		defer db.Thaw()
		c.pause(ctx, freezeTime)
		return "database frozen"
	default:
		c.h.count("kills", 1)
		c.h.Restart(name)
		return "killed " + name
	}
}

// breakLink breaks a link, or all links between the two roles that it connects.
func (c *riot) breakLink(ctx context.Context, l *netfault.Link, mode netfault.Mode, d time.Duration, all bool) string {
	links, name := []*netfault.Link{l}, l.String()
	if all {
		from, to := harness.RoleOf(l.From), harness.RoleOf(l.To)
		links, name = c.h.Links(from, to), from+"->"+to
	}
	c.h.breakLinks(links, mode)
	defer c.h.heal(links)
	c.pause(ctx, d)
	return fmt.Sprintf("%s %s for %v", mode, name, d)
}

func (c *riot) freeze(ctx context.Context, name string) {
	c.h.Process(name).Signal(syscall.SIGSTOP)
	defer c.h.Process(name).Signal(syscall.SIGCONT)
	c.pause(ctx, freezeTime)
}

// pause waits, or until ctx ends.
func (c *riot) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// judge compares the records of all turns.
func (c *riot) judge() {
	c.t.Helper()
	turns := make([]string, 0, len(c.trials))
	c.h.final = c.h.acts() // read once, for all of them
	for _, r := range c.trials {
		turns = append(turns, r.turn)
		failed := c.t.Failed()
		r.verify(leeway{inDoubt: true, unreached: true, lossy: true})
		if !failed && c.t.Failed() {
			c.t.Errorf("that was turn %s; its watcher saw:\n%s", r.turn, r.story())
		}
	}
	c.h.Replay(c.t, turns...)
	c.h.count("histories replayed", len(turns))
}
