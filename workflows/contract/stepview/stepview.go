// Package stepview renders the steps of a turn for the Temporal UI: ids, names of models and tools, codes, counts and times, never content.
package stepview

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// Outcomes are those of a turn's steps, in order.
type Outcomes []*turnv1.StepOutcome

// Has reports whether a step is among them.
func (all Outcomes) Has(key string) bool { return all.get(key) != nil }

func (all Outcomes) get(key string) *turnv1.StepOutcome {
	if i := slices.IndexFunc(all, func(o *turnv1.StepOutcome) bool { return o.GetKey() == key }); i >= 0 {
		return all[i]
	}
	return nil
}

// Newest is when the newest step was committed, Unix microseconds; 0 without steps.
func (all Outcomes) Newest() int64 {
	var newest int64
	for _, o := range all {
		newest = max(newest, o.GetCommittedMicros())
	}
	return newest
}

// Keys returns the keys of the steps.
func (all Outcomes) Keys() []string {
	keys := make([]string, len(all))
	for i, o := range all {
		keys[i] = o.GetKey()
	}
	return keys
}

// Waiting returns the steps whose waits have no answer yet.
func (all Outcomes) Waiting() []*turnv1.StepOutcome {
	var out []*turnv1.StepOutcome
	for _, o := range all {
		if o.GetWait() != nil && !all.Has(stepkey.Wait(o.GetKey())) {
			out = append(out, o)
		}
	}
	return out
}

// Lines are the newest steps, each in one numbered line, and before them how many are left out.
func (all Outcomes) Lines(limit int) []string {
	var lines []string
	first := max(0, len(all)-limit)
	if first > 0 {
		lines = append(lines, fmt.Sprintf("(%d earlier steps)", first))
	}
	for i, o := range all[first:] {
		lines = append(lines, fmt.Sprintf("%d. %s", first+i+1, all.Line(o)))
	}
	return lines
}

// Line is a step in one line: its title, what came of it, its child turn, and its figures.
func (all Outcomes) Line(o *turnv1.StepOutcome) string {
	text := all.Title(o) + " → " + Summary(o)
	if child := o.GetChildTurnId(); child != "" {
		text += ", child turn " + child
	}
	return text + all.Figures(o)
}

// Title is the title that the activity of a step has.
func (all Outcomes) Title(o *turnv1.StepOutcome) string {
	switch o.GetKind() {
	case turnv1.StepKind_STEP_KIND_INFER:
		return numbered(o, "infer #")
	case turnv1.StepKind_STEP_KIND_TOOL:
		return "tool " + all.Tool(o.GetKey())
	case turnv1.StepKind_STEP_KIND_WAIT:
		return all.waitTitle(o)
	case turnv1.StepKind_STEP_KIND_STEER:
		return numbered(o, "input #")
	case turnv1.StepKind_STEP_KIND_COMPACT:
		return numbered(o, "compact before infer #")
	case turnv1.StepKind_STEP_KIND_SELECT:
		return "select strategy"
	case turnv1.StepKind_STEP_KIND_PLAN:
		if o.GetKey() != stepkey.Plan(1) {
			return "plan again"
		}
		return "plan"
	default:
		return o.GetKey()
	}
}

// Tool returns the name of the tool that a tool step ran, "" if the model step that called it is not among the outcomes.
func (all Outcomes) Tool(key string) string {
	k, ok := stepkey.Parse(key)
	if !ok || k.Kind != turnv1.StepKind_STEP_KIND_TOOL {
		return ""
	}
	if calls := all.get(stepkey.Infer(k.N)).GetCalls(); k.Call < len(calls) {
		return calls[k.Call].GetTool()
	}
	return ""
}

// waitTitle names a wait by what it was for and the tool that was called.
func (all Outcomes) waitTitle(end *turnv1.StepOutcome) string {
	for _, o := range all {
		if o.GetWait() != nil && stepkey.Wait(o.GetKey()) == end.GetKey() {
			return waitNames[o.GetWait().GetKind()] + ", tool " + all.Tool(o.GetKey())
		}
	}
	return end.GetKey()
}

// Figures says how long a step took, since when, and which attempt of which worker it was, as far as that is known: " (1.24s since
// 15:04:05.123, attempt 1 on wrk_1)". A first attempt of the worker of the step before leaves both out. For a wait it says how long it
// lasted.
func (all Outcomes) Figures(o *turnv1.StepOutcome) string {
	end, begin := time.UnixMicro(o.GetCommittedMicros()), o.GetStartTime()
	switch {
	case o.GetCommittedMicros() == 0:
		return ""
	case begin != nil:
		attempt := fmt.Sprintf(", attempt %d on %s", o.GetAttempts(), o.GetWorker())
		if o.GetAttempts() == 1 && o.GetWorker() == all.workerBefore(o) {
			attempt = ""
		}
		return fmt.Sprintf(" (%s since %s%s)", rounded(end.Sub(begin.AsTime())), begin.AsTime().UTC().Format("15:04:05.000"), attempt)
	case o.GetKind() == turnv1.StepKind_STEP_KIND_WAIT:
		for _, asked := range all {
			if at := asked.GetCommittedMicros(); at > 0 && asked.GetWait() != nil && stepkey.Wait(asked.GetKey()) == o.GetKey() {
				return fmt.Sprintf(" (after %s)", rounded(end.Sub(time.UnixMicro(at))))
			}
		}
	}
	return ""
}

// workerBefore returns the worker of the newest step before one that has a worker.
func (all Outcomes) workerBefore(o *turnv1.StepOutcome) (worker string) {
	for _, before := range all {
		if before.GetKey() == o.GetKey() {
			break
		}
		worker = cmp.Or(before.GetWorker(), worker)
	}
	return worker
}

// rounded is a duration with about three digits.
func rounded(d time.Duration) time.Duration {
	switch {
	case d < 100*time.Millisecond:
		return max(d, 0).Round(100 * time.Microsecond)
	case d < 10*time.Second:
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(time.Second)
}

// numbered is a title that ends with the number of the step.
func numbered(o *turnv1.StepOutcome, words string) string {
	k, ok := stepkey.Parse(o.GetKey())
	if !ok {
		return o.GetKey()
	}
	return words + strconv.Itoa(k.N)
}
