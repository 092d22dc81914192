// Package iterator has the end of lists.
package iterator

import "errors"

// Done is the end of a list.
var Done = errors.New("no more items in iterator")
