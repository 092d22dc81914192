// Package webhookdb keeps webhooks and what is delivered to them. It is part of the sessions store.
package webhookdb

import "github.com/windlass-dev/windlass/services/sessions/store/rows"

// Tx writes them in a transaction of the sessions store.
type Tx struct{ rows.Tx }

// Reader reads them outside a transaction.
type Reader struct{ rows.Reader }
