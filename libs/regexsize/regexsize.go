// Package regexsize computes how large a regular expression becomes when it is compiled, without compiling it.
package regexsize

import "regexp/syntax"

// most is where counting ends.
const most = 1 << 30

// Size is an upper bound of a compiled expression, with repetitions expanded.
type Size struct {
	// Instructions are those of the program.
	Instructions int
	// Ranges are the ranges of characters in its classes. An anchored expression has a copy of them for each instruction.
	Ranges int
}

// Of returns the size of an expression, or why it is none.
func Of(text string) (Size, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return Size{}, err
	}
	return of(tree), nil
}

func of(re *syntax.Regexp) Size {
	size := Size{Instructions: 1}
	switch re.Op { // others are one instruction beside their parts
	case syntax.OpLiteral:
		size.Instructions += len(re.Rune)
	case syntax.OpCharClass:
		size.Ranges = len(re.Rune) / 2
	}
	for _, sub := range re.Sub {
		part := of(sub)
		size.Instructions += part.Instructions
		size.Ranges += part.Ranges
	}
	if re.Op == syntax.OpRepeat {
		times := max(re.Max, re.Min+1, 1)
		size.Instructions *= times
		size.Ranges *= times
	}
	return Size{min(size.Instructions, most), min(size.Ranges, most)} // the parser bounds nested repetitions, so the product fits
}
