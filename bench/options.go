package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/bench/model"
)

// options say what is measured and for how long.
type options struct {
	// bin is the folder of the programs, against that of another build to compare them with.
	bin, against string
	// secured compares separate processes with and without codec, mutual TLS and access policies; open is the mesh without.
	secured, open bool
	// identity compares windlass up with tokens and access policies to one with the local user and none.
	identity bool
	// replicas compares so many processes with all roles each, on PostgreSQL, to windlass up on SQLite; 0 does not.
	replicas int
	// deployments are measured one after the other.
	deployments []string
	// postgres is a database for the mesh; empty means SQLite.
	postgres string

	// alone and alonePaced are the turns made one at a time, without and with model time.
	alone, alonePaced int
	// rest is the pause between them.
	rest time.Duration
	// warmUp is how many turns are made before anything counts.
	warmUp int
	// concurrency lists how many turns run at once.
	concurrency []int
	// load is how long each of these lasts, roughly.
	load time.Duration
	// steady is how long turns come at a fixed rate; 0 leaves it out.
	steady time.Duration
	// tokens are in each answer; pace is their timing where the model takes time.
	tokens int
	pace   model.Pace
	// toolCalls is the number of tool calls of a row with one caller, outside of turns; onlyTools measures nothing else.
	toolCalls int
	onlyTools bool

	markdown string
	check    bool
	// figures is the folder of the recorded figures; empty = they are not compared. record replaces those of this machine.
	figures string
	record  bool
	// conditions are the flags on which the figures depend.
	conditions string
	timeline   bool
	// effect is the effect class of the tool of the turns; empty stands for what its server says.
	effect string
	// apart has each turn made by one request and watched by another.
	apart   bool
	verbose bool
	// hostile measures hostile inputs instead, those whose name contains only; foe is the address that answers come from.
	hostile   bool
	only, foe string
	// session is how many turns are made in one session instead, to see what they cost while the conversation grows; 0 = none.
	session int
	// long is how many turns are made to see what a mesh holds after them, watchers how many idle event streams are opened; 0 = none.
	long, watchers int
	// args are the flags as they were given.
	args []string
}

// Deployments.
const (
	embeddedMesh   = "embedded"
	splitMesh      = "split"
	replicatedMesh = "replicated"
)

func parse(args []string, usage io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(usage)
	f.StringVar(&o.bin, "bin", "bin", "folder of the programs that `make build` makes")
	f.StringVar(&o.against, "against", "",
		"`folder` of another build's programs: measure both in turns, and how they differ, instead of all else")
	f.BoolVar(&o.secured, "security", false,
		"measure separate processes without and with encrypted payloads, mutual TLS and access policies, and how they differ, instead")
	f.BoolVar(&o.identity, "identity", false,
		"measure windlass up with the local user and no access policies, and with tokens and policies, and how they differ, instead")
	f.IntVar(&o.replicas, "replicas", 0,
		"measure windlass up on SQLite and so many processes with all roles on -postgres, and how they differ, instead")
	split := f.Bool("split", false, "measure separate windlassd processes instead of windlass up")
	all := f.Bool("all", false, "measure windlass up, then separate processes")
	f.StringVar(&o.postgres, "postgres", "", "`DSN` of an empty PostgreSQL database for the mesh; SQLite without it")
	quick := f.Bool("quick", false, "fewer turns: under a minute, less steady")
	f.IntVar(&o.alone, "turns", 200, "turns one at a time, model time zero")
	f.IntVar(&o.alonePaced, "paced-turns", 60, "turns one at a time, model time paced")
	f.DurationVar(&o.rest, "rest", 20*time.Millisecond,
		"pause between turns made one at a time; without one only turns right after another are measured")
	f.IntVar(&o.warmUp, "warm-up", 100, "turns before anything counts")
	concurrency := f.String("concurrency", "16,64", "turns at once, for each of which throughput is measured")
	f.DurationVar(&o.load, "load", 10*time.Second, "how long each throughput row lasts, roughly")
	f.DurationVar(&o.steady, "steady", time.Minute, "duration of the steady load at 80 % of the sustained rate of 64 at once; 0 = skip it")
	f.IntVar(&o.tokens, "tokens", 20, "tokens of each answer")
	f.DurationVar(&o.pace.First, "first-token", 20*time.Millisecond, "the model's time until the first token")
	f.DurationVar(&o.pace.Next, "per-token", 5*time.Millisecond, "the model's time for each further token")
	f.IntVar(&o.toolCalls, "tool-calls", 2000, "tool calls made one at a time outside of turns, each way; 0 = skip them")
	f.BoolVar(&o.onlyTools, "only-tool-calls", false, "do not measure turns")
	f.StringVar(&o.markdown, "markdown", "", "also write the results to this `file`")
	f.BoolVar(&o.check, "check", false, "exit with 1 when a goal is missed by far")
	f.StringVar(&o.figures, "figures", "bench/recorded",
		"`folder` of recorded figures: exit with 1 when one is worse by more than a tenth beyond its noise; empty = do not compare")
	f.BoolVar(&o.record, "record", false, "record the figures of this machine, for later runs with the same flags")
	f.BoolVar(&o.timeline, "timeline", false, "also show when the events of a turn happen")
	f.StringVar(&o.effect, "effect", "", "effect `class` of the tool that turns call: read, idempotent or once; read without it")
	f.BoolVar(&o.apart, "two-requests", false, "make each turn by one request and watch it by another, as an EventSource has to")
	f.BoolVar(&o.hostile, "hostile", false, "only measure hostile inputs at every entry point, and their effect on turns")
	f.StringVar(&o.only, "only", "", "with -hostile: only the inputs whose entrance and name hold this `text`")
	f.IntVar(&o.session, "session", 0, "only make so many turns in one session, and measure what they cost while the conversation grows")
	f.IntVar(&o.long, "long", 0, "only make so many turns, 16 at once, and measure memory and whether the last ones take longer")
	f.IntVar(&o.watchers, "watchers", 0, "only open so many event streams of idle sessions, and measure what they cost")
	f.BoolVar(&o.verbose, "v", false, "show what the mesh says")
	if err := f.Parse(args); err != nil {
		return options{}, err
	}
	o.args, o.conditions = args, conditions(f)
	if *quick {
		o.shorten(f)
	}
	o.deployments = deployments(*all, *split)
	var err error
	if o.concurrency, err = numbers(*concurrency); err != nil {
		return options{}, fmt.Errorf("-concurrency: %w", err)
	}
	return o, o.validate(f.Args())
}

func deployments(all, split bool) []string {
	switch {
	case all:
		return []string{embeddedMesh, splitMesh}
	case split:
		return []string{splitMesh}
	}
	return []string{embeddedMesh}
}

// conditions returns the given flags on which figures depend, without the address of a database, which may hold a password.
func conditions(f *flag.FlagSet) string {
	var out []string
	f.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "bin", "markdown", "check", "figures", "record", "timeline", "v":
		case "postgres":
			out = append(out, "-postgres")
		default:
			out = append(out, "-"+f.Name+"="+f.Value.String())
		}
	})
	return cmp.Or(strings.Join(out, " "), "default")
}

// shorten lowers the counts that were not given.
func (o *options) shorten(f *flag.FlagSet) {
	given := map[string]bool{}
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, set := range map[string]func(){
		"turns":       func() { o.alone = 40 },
		"paced-turns": func() { o.alonePaced = 15 },
		"warm-up":     func() { o.warmUp = 30 },
		"load":        func() { o.load = 2 * time.Second },
		"tool-calls":  func() { o.toolCalls = 200 },
		"steady":      func() { o.steady = 10 * time.Second },
	} {
		if !given[name] {
			set()
		}
	}
}

func (o *options) validate(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case o.alone < 1 || o.alonePaced < 1 || o.warmUp < 1:
		return errors.New("-turns, -paced-turns and -warm-up must be positive")
	case o.toolCalls != 0 && o.toolCalls < 4:
		return errors.New("-tool-calls must be 4 or more, or 0")
	case o.rest < 0:
		return errors.New("-rest must not be negative")
	case o.tokens < 2:
		return errors.New("-tokens must be 2 or more: the first answer ends with a tool call")
	case o.hostile && (len(o.deployments) > 1 || o.deployments[0] != embeddedMesh):
		return errors.New("-hostile measures windlass up: leave out -split and -all")
	case o.modes() > 1:
		return errors.New("-hostile, -session, -long, -watchers, -security, -identity, -replicas and -against exclude each other: " +
			"leave out all but one")
	case o.compares() && (len(o.deployments) > 1 || o.deployments[0] != embeddedMesh):
		return errors.New("-security, -identity, -replicas and -against choose what they measure: leave out -split and -all")
	case (o.replicas > 0) != (o.postgres != "") && o.compares():
		return errors.New("-replicas needs -postgres; -security, -identity and -against measure SQLite: leave out -postgres")
	case o.session < 0 || o.long < 0 || o.watchers < 0 || o.replicas < 0:
		return errors.New("-session, -long, -watchers and -replicas must not be negative")
	case o.modes() > 0 && len(o.deployments) > 1:
		return errors.New("-session, -long and -watchers measure one deployment: leave out -all")
	case o.only != "" && !o.hostile:
		return errors.New("-only belongs to -hostile")
	case o.postgres != "" && len(o.deployments) > 1:
		return errors.New("-postgres fits one deployment: give it with -split, or neither -split nor -all")
	}
	return nil
}

// modes is how many flags say that something else is measured.
func (o *options) modes() int {
	n := 0
	for _, given := range []bool{
		o.hostile, o.session > 0, o.long > 0, o.watchers > 0, o.secured, o.identity, o.replicas > 0, o.against != "",
	} {
		if given {
			n++
		}
	}
	return n
}

// compares reports whether two meshes are compared.
func (o *options) compares() bool {
	return o.against != "" || o.secured || o.identity || o.replicas > 0
}

// policed reports whether requests carry tokens, and access policies apply to them.
func (o *options) policed() bool { return o.identity && !o.open }

func numbers(list string) ([]int, error) {
	var out []int
	for s := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no positive number", s)
		}
		out = append(out, n)
	}
	return out, nil
}
