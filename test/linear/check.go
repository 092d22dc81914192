package linear

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Options bound a check.
type Options struct {
	// MaxQueued is how many turns of a session may be unfinished at once.
	MaxQueued int
	// Timeout bounds the check of one partition; one that takes longer is a violation, since nothing is known about it.
	Timeout time.Duration
	// Dir gets a page for each violation that shows the operations and how far they could be explained.
	Dir string
}

// Report is the result of a check.
type Report struct {
	Operations, Unknown, Partitions int
	Violations                      []Violation
}

// Violation is a part of a history that no order of its operations explains.
type Violation struct {
	// Model and Partition say which part: "session ses_1", "key k7", "approval apr_3".
	Model, Partition string
	Result           porcupine.CheckResult
	// Page is the file that shows it, "" when none was asked for.
	Page string
	// Explained is the longest explanation that was found, Left what it leaves out.
	Explained, Left []string
}

func (v Violation) String() string {
	return fmt.Sprintf("%s %s: %s (see %s)\nexplained: %q\nnot explained: %q", v.Model, v.Partition, v.Result, v.Page, v.Explained, v.Left)
}

// part is the operations of a history that do not depend on any others.
type part struct {
	model porcupine.Model
	// kind and name say what it is about.
	kind, name string
	ops        []porcupine.Operation
	operations []Operation
}

// Check searches for an order of the operations that the API allows.
func Check(ops []Operation, o Options) (Report, error) {
	r := Report{Operations: len(ops)}
	for _, op := range ops {
		if op.Out.Code == Unknown {
			r.Unknown++
		}
	}
	parts := split(ops, o)
	r.Partitions = len(parts)
	for _, p := range parts {
		if porcupine.CheckOperationsTimeout(p.model, p.ops, o.Timeout) == porcupine.Ok {
			continue
		}
		v, err := p.explain(o)
		if err != nil {
			return r, err
		}
		r.Violations = append(r.Violations, v)
	}
	return r, nil
}

// split sorts operations by what they are about: idempotency keys, sessions and approvals are independent of each other. A read whose
// answer was lost tells nothing.
func split(ops []Operation, o Options) []part {
	names := turnNames(ops)
	known := effectsOf(ops, names)
	byName := map[[2]string]*part{}
	var order []*part
	add := func(kind, name string, model func() porcupine.Model, op Operation) {
		p := byName[[2]string{kind, name}]
		if p == nil {
			p = &part{kind: kind, name: name, model: model()}
			byName[[2]string{kind, name}] = p
			order = append(order, p)
		}
		p.operations = append(p.operations, op)
	}
	sessions := func() porcupine.Model { return sessionModel(o.MaxQueued) }
	for _, op := range ops {
		switch op.In.Kind {
		case Send, Fork, Steer:
			if op.In.Key != "" {
				add("key", string(op.In.Kind)+" "+op.In.Key, keyModel, op)
			}
		case Decide, Resolve, ReadApproval:
			if op.In.Kind != ReadApproval || op.Out.Code != Unknown {
				add("approval", cmp.Or(op.Out.Approval, op.In.Approval), approvalModel, op)
			}
			continue
		}
		if op.In.Kind == Fork || reads(op) && op.Out.Code == Unknown || op.Out.Code == idempotencyConflict {
			continue
		}
		op = names.rename(op)
		if op.In.Kind == Send && op.In.Mode == "fork" {
			if op.Out.Code == OK {
				born := op
				born.In.Kind = Born
				add("session", op.Out.Session, sessions, born)
			}
			continue
		}
		if op, ok := known.decide(op); ok {
			add("session", op.In.Session, sessions, op)
		}
	}
	out := make([]part, len(order))
	for i, p := range order {
		if p.kind == "session" {
			p.operations = joinRepeats(p.operations)
		}
		for _, op := range p.operations {
			p.ops = append(p.ops, op.porcupine())
		}
		out[i] = *p
	}
	return out
}

func reads(op Operation) bool {
	return op.In.Kind == ReadTurn || op.In.Kind == ReadSession
}

// explain finds out how far the operations of a part can be explained.
func (p part) explain(o Options) (Violation, error) {
	v := Violation{Model: p.kind, Partition: p.name}
	var info porcupine.LinearizationInfo
	v.Result, info = porcupine.CheckOperationsVerbose(p.model, p.ops, o.Timeout)
	var longest []porcupine.Operation
	for _, partial := range info.PartialLinearizationsOperations() {
		for _, sequence := range partial {
			if len(sequence) > len(longest) {
				longest = sequence
			}
		}
	}
	describe := func(op porcupine.Operation) string { return p.model.DescribeOperation(op.Input, op.Output) }
	for _, op := range longest {
		v.Explained = append(v.Explained, describe(op))
	}
	for _, op := range p.ops {
		same := func(other porcupine.Operation) bool { return other.Call == op.Call && other.ClientId == op.ClientId }
		if !slices.ContainsFunc(longest, same) {
			v.Left = append(v.Left, describe(op))
		}
	}
	if o.Dir == "" {
		return v, nil
	}
	if err := os.MkdirAll(o.Dir, 0o750); err != nil {
		return v, err
	}
	page, err := os.CreateTemp(o.Dir, p.kind+"-*.html")
	if err != nil {
		return v, err
	}
	defer page.Close()
	v.Page = filepath.Clean(page.Name())
	return v, porcupine.Visualize(p.model, info, page)
}

// turnsByID gives turns the keys of the requests that made them.
type turnsByID map[string]string

// turnNames takes the names from what sessions came to. A second turn for one key gets a name that no request explains.
func turnNames(ops []Operation) turnsByID {
	names := turnsByID{}
	for _, op := range ops {
		if op.Out.Final == nil {
			continue
		}
		seen := map[string]bool{}
		for _, t := range op.Out.Final.Turns {
			name := t.Key
			if seen[name] {
				name = "another turn for " + name
			}
			seen[t.Key] = true
			names[t.ID] = name
		}
	}
	return names
}

// rename has an operation speak of turns by their names. An id that no session has in the end stays as it is, and nothing explains it.
func (n turnsByID) rename(op Operation) Operation {
	of := func(id string) string {
		if name, ok := n[id]; ok {
			return name
		}
		return id
	}
	op.In.Turn, op.Out.Turn, op.Out.Active = of(op.In.Turn), of(op.Out.Turn), of(op.Out.Active)
	if f := op.Out.Final; f != nil {
		named := &Outcome{Started: make([]string, len(f.Started)), Turns: slices.Clone(f.Turns)}
		for i, id := range f.Started {
			named.Started[i] = of(id)
		}
		for i := range named.Turns {
			named.Turns[i].Key = of(named.Turns[i].ID)
		}
		op.Out.Final = named
	}
	return op
}
