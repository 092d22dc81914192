package step

import (
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Attempts are the attempts of a step's model calls. The zero value has none. It is safe for concurrent use.
type Attempts struct {
	mu  sync.Mutex
	all []*turnv1.ModelAttempt
	// current is the target that is called, after another one has failed; nil = the first one.
	current *turnv1.ModelAttempt
}

// Add adds an attempt that has ended; one without a class has started.
func (a *Attempts) Add(made *turnv1.ModelAttempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.current = nil; made.GetClass() == turnv1.AttemptClass_ATTEMPT_CLASS_UNSPECIFIED {
		a.current = made
		return
	}
	a.all = append(a.all, made)
}

// Resume takes those that the lease brings: holders before this one have made them.
func (a *Attempts) Resume(earlier []*turnv1.ModelAttempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(earlier) > len(a.all) {
		a.all = earlier[:len(earlier):len(earlier)]
	}
}

// All returns all attempts.
func (a *Attempts) All() []*turnv1.ModelAttempt {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all[:len(a.all):len(a.all)]
}

// Cut returns the attempt under way, as one that the turn's end cuts off. first is the first target.
func (a *Attempts) Cut(first string) *turnv1.ModelAttempt {
	a.mu.Lock()
	defer a.mu.Unlock()
	cut := &turnv1.ModelAttempt{Model: first}
	if a.current != nil {
		cut = proto.CloneOf(a.current)
	}
	cut.Class = turnv1.AttemptClass_ATTEMPT_CLASS_CUT
	return cut
}

// Answered returns the target that answered last. first is the first target.
func (a *Attempts) Answered(first string) string {
	for _, made := range slices.Backward(a.All()) {
		if made.GetClass() == turnv1.AttemptClass_ATTEMPT_CLASS_ANSWERED {
			return made.GetModel()
		}
	}
	return first
}

// call returns those of the model call under way: since the last answer, or since the conversation was too long, after which the chain is
// called from its start with a shorter one.
func (a *Attempts) call() []*turnv1.ModelAttempt {
	all := a.All()
	for i, a := range slices.Backward(all) {
		switch a.GetClass() {
		case turnv1.AttemptClass_ATTEMPT_CLASS_ANSWERED, turnv1.AttemptClass_ATTEMPT_CLASS_CONTEXT:
			return all[i+1:]
		}
	}
	return all
}

// CallBudget bounds one model call over all its attempts, in all processes. 0 is no limit.
type CallBudget struct {
	Attempts uint32
	Time     time.Duration
	// Cost is in millionths of the mesh's currency.
	Cost int64
}

// Left returns what is left for a model call after the attempts that were made for it; false if that is nothing.
func (b CallBudget) Left(a *Attempts, now time.Time) (made []*turnv1.ModelAttempt, left *inferencev1.CallBudget, ok bool) {
	made = a.call()
	left = &inferencev1.CallBudget{Attempts: int32(b.Attempts)}
	ok = b.Attempts == 0 || len(made) < int(b.Attempts)
	if b.Time > 0 {
		rest := b.Time
		if len(made) > 0 {
			rest -= now.Sub(made[0].GetStartTime().AsTime())
		}
		left.Time, ok = durationpb.New(max(rest, time.Millisecond)), ok && rest > 0
	}
	if b.Cost > 0 {
		spent := int64(0)
		for _, m := range made {
			spent += m.GetUsage().GetCostMicros()
		}
		ok = ok && spent < b.Cost
	}
	return made, left, ok
}
