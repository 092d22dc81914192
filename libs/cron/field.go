package cron

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// parse reads a list of ranges with steps.
func (f field) parse(text string) (set, error) {
	var out set
	for item := range strings.SplitSeq(text, ",") {
		got, err := f.item(item)
		if err != nil {
			return 0, err
		}
		out |= got
	}
	return out, nil
}

// item reads "*", "n" or "n-m", optionally followed by "/step".
func (f field) item(text string) (set, error) {
	span, stepText, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		n, err := strconv.Atoi(stepText)
		if err != nil || n < 1 || n > f.max {
			return 0, fmt.Errorf("the step %q is not a number from 1 to %d", stepText, f.max)
		}
		step = n
	}
	from, to, err := f.span(span, stepped)
	if err != nil {
		return 0, err
	}
	var out set
	for n := from; n <= to; n += step {
		out |= 1 << n
	}
	return out, nil
}

// span returns both ends. A single number with a step extends to the maximum, as in "5/15".
func (f field) span(text string, stepped bool) (from, to int, err error) {
	if text == "" {
		return 0, 0, errors.New("something is missing beside a comma or slash")
	}
	if text == "*" {
		if f.names != nil && f.max == 7 {
			return 0, 6, nil
		}
		return f.min, f.max, nil
	}
	first, last, isRange := strings.Cut(text, "-")
	if from, err = f.number(first); err != nil {
		return 0, 0, err
	}
	switch {
	case isRange:
		to, err = f.number(last)
	case stepped:
		to = f.max
	default:
		to = from
	}
	if err == nil && to < from {
		err = fmt.Errorf("%q ends before it begins", text)
	}
	return from, to, err
}

func (f field) number(text string) (int, error) {
	if i := slices.Index(f.names, strings.ToLower(text)); i >= 0 {
		return f.min + i, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.min || n > f.max {
		return 0, fmt.Errorf("%q is not a number from %d to %d", text, f.min, f.max)
	}
	return n, nil
}
