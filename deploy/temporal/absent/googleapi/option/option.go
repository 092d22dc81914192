// Package option has the options of Google's clients, of which there are none.
package option

import "golang.org/x/oauth2"

// ClientOption is a setting.
type ClientOption struct{}

// WithTokenSource sets nothing.
func WithTokenSource(oauth2.TokenSource) ClientOption { return ClientOption{} }
