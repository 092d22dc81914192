// Command retrieval measures how well the knowledge service's search finds what questions ask for, against plain full-text search over
// pieces of a fixed size: the same corpora, the same questions, in the same run. It calls the service's own parser, chunks, store and
// search.
//
//	go run ./bench/retrieval [-check] [-misses] [-postgres URL] [-large N]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/windlass-dev/windlass/services/knowledge/eval"
)

// maxRatio is the number of misses that -check allows, as a share of those of the plain search.
const maxRatio = 0.75

// options are the flags.
type options struct {
	check, misses bool
	postgres      string
	large         int
}

func main() {
	var o options
	flag.BoolVar(&o.check, "check", false, fmt.Sprintf("fail if there are more than %v × the misses of the plain search", maxRatio))
	flag.BoolVar(&o.misses, "misses", false, "list the questions whose answer is not among the first 10 results")
	flag.StringVar(&o.postgres, "postgres", "", "URL of an empty PostgreSQL database, which has to find the same")
	flag.IntVar(&o.large, "large", 0, "measure the time of searches in a bank of this many chunks instead")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, o); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "retrieval:", err) // best effort
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, o options) (err error) {
	dir, err := os.MkdirTemp("", "retrieval")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.large > 0 {
		return measureLarge(ctx, out, dir, o.large)
	}
	corpora, err := readCorpora()
	if err != nil {
		return err
	}
	questions, err := readQuestions(corpora)
	if err != nil {
		return err
	}
	ours, plain, err := ask(ctx, out, dir, o.postgres, corpora, questions)
	if err != nil {
		return err
	}
	ratio := report(out, questions, ours, plain, o.misses)
	if o.check && ratio > maxRatio {
		return fmt.Errorf("%.2f × the misses of the plain search, more than %v ×", ratio, maxRatio)
	}
	return nil
}

// ask asks all questions of both searches.
func ask(ctx context.Context, out io.Writer, dir, postgres string, corpora []corpus, questions []question) (
	ours, plain []eval.Answer, err error,
) {
	p, err := openPlain(ctx, dir, corpora)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, p.db.Close()) }()
	s, err := openService(ctx, sqlite(dir), corpora)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, s.db.Close()) }()
	for _, q := range questions {
		spans, err := s.search(ctx, q)
		if err != nil {
			return nil, nil, err
		}
		ours = append(ours, judge(q, spans))
		if spans, err = p.search(ctx, q); err != nil {
			return nil, nil, err
		}
		plain = append(plain, judge(q, spans))
	}
	_, _ = fmt.Fprintf(out, "%d documents, %d chunks; plain: %d pieces of %d bytes\n", s.documents, s.chunks, p.pieces, pieceBytes)
	if postgres == "" {
		return ours, plain, nil
	}
	return ours, plain, compareEngines(ctx, out, postgres, s, corpora, questions)
}

// compareEngines counts the questions for which PostgreSQL returns the same ten passages in the same order.
func compareEngines(ctx context.Context, out io.Writer, url string, first *service, corpora []corpus, questions []question) (err error) {
	second, err := openService(ctx, url, corpora)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, second.db.Close()) }()
	same := 0
	for _, q := range questions {
		a, err := first.search(ctx, q)
		if err != nil {
			return err
		}
		b, err := second.search(ctx, q)
		if err != nil {
			return err
		}
		if fmt.Sprint(a) == fmt.Sprint(b) {
			same++
		}
	}
	_, _ = fmt.Fprintf(out, "SQLite and PostgreSQL return the same first 10 for %d of %d questions\n", same, len(questions))
	return nil
}

// report prints the measures of groups of questions, and returns the ratio of misses of all of them.
func report(out io.Writer, questions []question, ours, plain []eval.Answer, misses bool) float64 {
	_, _ = fmt.Fprintf(out, "\n%-22s %9s %16s %21s %21s %21s\n", "questions", "", "misses at 10", "recall at 10", "nDCG at 10", "MRR")
	group := func(name string, belongs func(question) bool) float64 {
		var a, b []eval.Answer
		for i, q := range questions {
			if belongs(q) {
				a, b = append(a, ours[i]), append(b, plain[i])
			}
		}
		missed, missedPlain := missesAt10(a), missesAt10(b)
		ratio := float64(missed) / float64(max(1, missedPlain))
		for _, row := range []struct {
			name    string
			answers []eval.Answer
			misses  string
		}{{"plain", b, fmt.Sprint(missedPlain)}, {"windlass", a, fmt.Sprintf("%d (%.2f ×)", missed, ratio)}} {
			s := eval.Summarize(row.answers)
			_, _ = fmt.Fprintf(out, "%-22s %9s %16s %21s %21s %21s\n", name, row.name, row.misses, show(s.Recall10), show(s.NDCG10),
				show(s.MRR))
			name = ""
		}
		return ratio
	}
	for _, name := range corpusNames {
		group(fmt.Sprintf("%s (%d)", name, count(questions, name)), func(q question) bool { return q.corpus == name })
	}
	group("paraphrased", func(q question) bool { return q.paraphrased })
	group("not paraphrased", func(q question) bool { return !q.paraphrased })
	group("seen while tuning", func(q question) bool { return !q.heldOut })
	group("held out", func(q question) bool { return q.heldOut })
	ratio := group("all", func(question) bool { return true })
	if misses {
		_, _ = fmt.Fprintln(out, "\nmisses at 10:")
		for i, q := range questions {
			if eval.Hit(ours[i], 10) == 0 && !q.heldOut {
				_, _ = fmt.Fprintf(out, "  %s: %s\n      %s: %s (plain: %v)\n", q.corpus, q.text, q.document, q.quote, eval.Hit(plain[i], 10) == 1)
			}
		}
	}
	return ratio
}

func show(f eval.Figure) string { return fmt.Sprintf("%.3f [%.3f–%.3f]", f.Mean, f.Low, f.High) }

func missesAt10(answers []eval.Answer) (n int) {
	for _, a := range answers {
		if eval.Hit(a, 10) == 0 {
			n++
		}
	}
	return n
}

func count(questions []question, corpus string) (n int) {
	for _, q := range questions {
		if q.corpus == corpus {
			n++
		}
	}
	return n
}
