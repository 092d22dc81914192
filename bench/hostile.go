package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/bench/figures"
	"github.com/windlass-dev/windlass/bench/hostile"
	"github.com/windlass-dev/windlass/bench/model"
	"github.com/windlass-dev/windlass/bench/process"
)

// Goals for one hostile input, and for concurrent turns.
const (
	hostileCPU   = time.Second
	hostileBytes = 64 << 20
	hostileRatio = 1.5
	hostileTurns = 20 // at once
	hostileTime  = 2 * time.Minute
)

// stricken is the result of one hostile input. Memory is how much the mesh's processes grew.
type stricken struct {
	entrance, name, outcome string
	cpu                     time.Duration
	grew                    int64
}

// missed reports whether an input used more than allowed.
func (s stricken) missed() bool { return s.cpu > hostileCPU || s.grew > hostileBytes }

// siege holds all results of hostile inputs.
type siege struct {
	options options
	machine figures.Machine
	date    time.Time
	rows    []stricken
	// alone and beside are turns without and with concurrent hostile inputs; sent is the number of inputs.
	alone, beside outcome
	sent          int
}

// hostile sends hostile inputs one by one, then runs turns without and with them.
func (b *bench) hostile(ctx context.Context) (_ *siege, err error) {
	if b.model, err = model.New(b.options.tokens, b.options.pace); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.model.Close()) }()
	f, err := hostile.NewServer()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b.options.foe = f.URL
	s := &siege{options: b.options, machine: figures.Describe(ctx), date: time.Now()}
	for _, part := range []func(context.Context, *besieged, *siege) error{b.oneByOne, b.beside} {
		if err := b.onMesh(ctx, f, func(mesh *besieged) error { return part(ctx, mesh, s) }); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (b *bench) onMesh(ctx context.Context, f *hostile.Server, run func(*besieged) error) (err error) {
	b.say("starting")
	m, err := startMesh(ctx, embeddedMesh, b.options, b.model.URL, b.verbose())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.stop()) }()
	mesh, err := besiege(ctx, m, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mesh.grpc.Close()) }()
	return run(mesh)
}

// oneByOne sends each input alone to a mesh at rest.
func (b *bench) oneByOne(ctx context.Context, mesh *besieged, s *siege) error {
	for _, agent := range []string{model.Instant, "line-feeds"} { // so that one-time loading is not measured
		if _, err := mesh.turn(ctx, agent, nil); err != nil {
			return err
		}
	}
	for _, a := range mesh.entry {
		if !strings.Contains(a.entrance+": "+a.name, b.options.only) {
			continue
		}
		row, err := mesh.strike(ctx, a)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", a.entrance, a.name, err)
		}
		b.say("%s, %s: %s, %s ms, %s MiB", a.entrance, a.name, row.outcome, millis(row.cpu), mebi(row.grew))
		s.rows = append(s.rows, row)
	}
	return nil
}

func (m *besieged) strike(ctx context.Context, a attack) (stricken, error) {
	ctx, cancel := context.WithTimeout(ctx, hostileTime)
	defer cancel()
	if err := m.mesh.settle(ctx, 0); err != nil {
		return stricken{}, err
	}
	pid := m.mesh.pid()
	if err := resetPeak(pid); err != nil {
		return stricken{}, err
	}
	before, held := m.mesh.usage(), peak(pid)
	outcome, err := a.send(ctx)
	if err != nil {
		outcome = cmp.Or(outcome, err.Error())
	}
	if err := m.mesh.settle(ctx, 0); err != nil {
		return stricken{}, err
	}
	used := m.mesh.usage().Since(before)[process.Windlass]
	return stricken{entrance: a.entrance, name: a.name, outcome: outcome, cpu: used.CPU, grew: max(peak(pid)-held, 0)}, nil
}

// beside runs turns in blocks, alternating without and with a stream of hostile inputs.
func (b *bench) beside(ctx context.Context, mesh *besieged, s *siege) error {
	c := &client{mesh: mesh.mesh, agent: model.Paced, rounds: 1}
	turns := max(int(b.options.load/time.Second)*hostileTurns, 3*hostileTurns)
	if err := c.prepare(ctx, (2*rounds+1)*turns); err != nil {
		return err
	}
	if _, err := loop(ctx, hostileTurns, turns, c.turn); err != nil { // warms up
		return err
	}
	for i := range rounds {
		b.say("%d turns at once, %d turns, block %d of %d", hostileTurns, turns, i+1, rounds)
		got, err := loop(ctx, hostileTurns, turns, c.turn)
		if err != nil {
			return err
		}
		s.alone = s.alone.plus(got)
		stop := mesh.stream(ctx)
		got, err = loop(ctx, hostileTurns, turns, c.turn)
		s.sent += stop()
		if err != nil {
			return err
		}
		s.beside = s.beside.plus(got)
		if err := mesh.mesh.settle(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}

// stream sends hostile inputs in a loop until stop is called, which returns how many were sent.
func (m *besieged) stream(ctx context.Context) (stop func() int) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	sent := 0
	all.Go(func() {
		for ctx.Err() == nil {
			a := m.entry[m.next%len(m.entry)]
			m.next++
			if _, err := a.send(ctx); err == nil { // results are in the other table
				sent++
			}
		}
	})
	return func() int {
		cancel()
		all.Wait()
		return sent
	}
}

// pid returns the process id of the mesh.
func (m *mesh) pid() int {
	for _, p := range m.procs {
		if m.groups[p.PID()] == process.Windlass {
			return p.PID()
		}
	}
	return 0
}

// resetPeak resets Linux's record of a process's peak memory.
func resetPeak(pid int) error {
	if err := os.WriteFile(filepath.Join("/proc", strconv.Itoa(pid), "clear_refs"), []byte("5"), 0o200); err != nil {
		return fmt.Errorf("reset the peak of memory: %w", err)
	}
	return nil
}

// peak returns a process's peak memory since resetPeak, in bytes.
func peak(pid int) int64 {
	var kib int64
	if _, err := fmt.Sscanf(figures.Field(filepath.Join("/proc", strconv.Itoa(pid), "status"), "VmHWM"), "%d kB", &kib); err != nil {
		return 0
	}
	return kib << 10
}
