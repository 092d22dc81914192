package main

import (
	"fmt"
	"strings"
)

func (s *siege) inputs() *table {
	t := &table{head: []string{"entry point, input", "result", "processor ms", "memory MiB", ""}}
	for _, r := range s.rows {
		verdict := ""
		if r.missed() {
			verdict = "missed"
		}
		t.add(r.entrance+": "+r.name, r.outcome, millis(r.cpu), mebi(r.grew), verdict)
	}
	return t
}

func (s *siege) turns() *table {
	t := &table{head: []string{fmt.Sprintf("%d turns at once", hostileTurns), "turns", "turn p50", "p99", "p50 relative to alone"}}
	alone, beside := spreadOf(s.alone.samples, totalOf), spreadOf(s.beside.samples, totalOf)
	t.add("alone", fmt.Sprint(len(s.alone.samples)), millis(alone.p50), millis(alone.p99), "")
	t.add(fmt.Sprintf("with %d hostile inputs", s.sent), fmt.Sprint(len(s.beside.samples)), millis(beside.p50), millis(beside.p99),
		fmt.Sprintf("%.2fx", s.ratio()))
	return t
}

func (s *siege) ratio() float64 {
	alone := spreadOf(s.alone.samples, totalOf).p50
	if alone <= 0 {
		return 0
	}
	return float64(spreadOf(s.beside.samples, totalOf).p50) / float64(alone)
}

// missed lists the goals that were missed.
func (s *siege) missed() []string {
	var out []string
	for _, r := range s.rows {
		if r.missed() {
			out = append(out, r.entrance+": "+r.name)
		}
	}
	if s.ratio() > hostileRatio {
		out = append(out, "p50 of turns with hostile inputs")
	}
	return out
}

func (s *siege) check() error {
	if missed := s.missed(); len(missed) > 0 {
		return fmt.Errorf("%w: %s", errReach, strings.Join(missed, "; "))
	}
	return nil
}

func (s *siege) text() string {
	verdict := "all within the bounds"
	if missed := s.missed(); len(missed) > 0 {
		verdict = "missed: " + strings.Join(missed, "; ")
	}
	return fmt.Sprintf("%s, %s, load %s at the start\n\n%s\n%s\n%s\n", s.machine.Processor, s.machine.Memory, s.machine.Load,
		s.inputs().text(), s.turns().text(), verdict)
}

func (s *siege) markdown() string {
	var b strings.Builder
	b.WriteString("# Performance under hostile input\n\nThe cost of inputs that are designed to be expensive for their size, at every " +
		"entry point. " +
		"The benchmark writes this page. Do not edit it; run the benchmark:\n\n")
	fmt.Fprintf(&b, "```sh\nmake bench ARGS='%s'\n```\n\n", strings.Join(s.options.args, " "))
	b.WriteString(hostileHow + "\n## Where and when\n\n" + (&report{machine: s.machine, date: s.date}).where())
	b.WriteString("\n## One by one\n\n" + s.inputs().markdown() + "\n## Effect on turns\n\n" + s.turns().markdown())
	b.WriteString("\n## How to read it\n\n")
	if missed := s.missed(); len(missed) > 0 {
		b.WriteString("- Missed: " + strings.Join(missed, "; ") + ".\n")
	} else {
		fmt.Fprintf(&b, "- Every input uses at most %s of processor time and %s MiB, and p50 of turns grows by a factor of at most %.1f.\n",
			hostileCPU, mebi(hostileBytes), hostileRatio)
	}
	b.WriteString("- The figures of responses (of models, tool servers and webhook receivers) include the turn or sync that requests them " +
		"and its retries.\n" +
		"- [Input limits](limits.md) lists the limits that reject these inputs.\n")
	return b.String()
}

const hostileHow = `## How it is measured

Each input is sent to an idle ` + "`windlass up`" + `, on its own. Processor time is the user and system time of its process until it is idle again. Memory is the
maximum growth of its resident memory. Then turns run in a closed loop with the paced model of the [other benchmark](performance.md), in
alternating blocks: alone, and together with one client that sends all inputs one after the other without a pause.
`
