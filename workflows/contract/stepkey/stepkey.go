// Package stepkey is the grammar of step keys. A key is unique in its turn and stays the same over retries; histories, rows and events
// hold it, so its form never changes:
//
//	begin, select, finish   once in a turn
//	plan-N                  plan N
//	compact-N               the compaction before model step N
//	infer-N                 model step N
//	tool-N.M                call M of model step N, its first round
//	tool-N.M.R              round R of it, after a wait
//	wait-N.M, wait-N.M.R    the end of the wait that the round ended with
//	steer-N                 input N of the running turn
//	pause-N, resume-N       the time of the turn stops and runs again, because a sub-agent waits for people
//
// M counts from 0, all others from 1.
package stepkey

import (
	"fmt"
	"strings"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Keys of the steps that a turn has once.
const (
	Begin  = "begin"
	Select = "select"
	Finish = "finish"
)

// kinds holds the word of each kind. It begins the keys of its steps, and events name the kind by it. Workflow code reads it: it is no map,
// whose order would be another each time.
var kinds = [...]string{
	turnv1.StepKind_STEP_KIND_BEGIN:   Begin,
	turnv1.StepKind_STEP_KIND_SELECT:  Select,
	turnv1.StepKind_STEP_KIND_PLAN:    "plan",
	turnv1.StepKind_STEP_KIND_INFER:   "infer",
	turnv1.StepKind_STEP_KIND_TOOL:    "tool",
	turnv1.StepKind_STEP_KIND_WAIT:    "wait",
	turnv1.StepKind_STEP_KIND_STEER:   "steer",
	turnv1.StepKind_STEP_KIND_COMPACT: "compact",
	turnv1.StepKind_STEP_KIND_FINISH:  Finish,
}

// KindName returns the word of a kind, "" for an unknown one.
func KindName(kind turnv1.StepKind) string {
	if kind < 0 || int(kind) >= len(kinds) {
		return ""
	}
	return kinds[kind]
}

// Infer returns the key of model step n.
func Infer(n int) string { return fmt.Sprintf("infer-%d", n) }

// Plan returns the key of plan n.
func Plan(n int) string { return fmt.Sprintf("plan-%d", n) }

// Compact returns the key of the compaction before model step n.
func Compact(n int) string { return fmt.Sprintf("compact-%d", n) }

// Steer returns the key under which input n of a running turn is recorded.
func Steer(n int) string { return fmt.Sprintf("steer-%d", n) }

// Pause returns the key under which it is recorded that the turn's time stops for the n-th time because a sub-agent waits for people. Such
// a record is no step of the engine: Parse does not accept it.
func Pause(n int) string { return fmt.Sprintf("pause-%d", n) }

// Resume returns the key under which the end of a pause is recorded, "" if the key is not that of a pause.
func Resume(pause string) string {
	n, ok := strings.CutPrefix(pause, "pause-")
	if !ok {
		return ""
	}
	return "resume-" + n
}

// Tool returns the key of the first round of call m of model step n.
func Tool(n, m int) string { return fmt.Sprintf("tool-%d.%d", n, m) }

// Round returns the key of round r of the call whose first round has the given key.
func Round(tool string, r int) string {
	if r <= 1 {
		return tool
	}
	return fmt.Sprintf("%s.%d", tool, r)
}

// FirstRound returns the key of the first round of a tool step's call: it stands for the call, whatever its rounds. Any other key is
// returned as it is.
func FirstRound(key string) string {
	if k, ok := Parse(key); ok && k.Kind == turnv1.StepKind_STEP_KIND_TOOL {
		return Tool(k.N, k.Call)
	}
	return key
}

// Wait returns the key under which the end of the wait is recorded that the tool step with the given key ended with, "" if the key is no
// tool step's.
func Wait(tool string) string {
	rest, ok := strings.CutPrefix(tool, "tool-")
	if !ok {
		return ""
	}
	return "wait-" + rest
}
