package sqldb

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// changes counts the transactions that may have changed a table, for the tables that a Fresh names. SQLite only. The zero value is
// ready for use.
type changes struct {
	mu     sync.Mutex
	tables map[string]*atomic.Uint64
	// writes holds the counters of the tables that a statement changes, by its text.
	writes map[string][]*atomic.Uint64
}

// maxStatements bounds the statements whose tables are kept.
const maxStatements = 4096

// of returns the counter of a table. A transaction raises it after its commit and before it returns to its caller.
func (c *changes) of(table string) *atomic.Uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, ok := c.tables[table]; ok {
		return n
	}
	if c.tables == nil {
		c.tables = map[string]*atomic.Uint64{}
	}
	n := &atomic.Uint64{}
	c.tables[table] = n
	c.writes = map[string][]*atomic.Uint64{}
	return n
}

// word matches names in statements.
var word = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// add counts a transaction that has run statements. It is called after the commit, so that a counter which was added meanwhile counts too.
func (c *changes) add(statements []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tables) == 0 {
		return
	}
	for _, text := range statements {
		counters, known := c.writes[text]
		if !known {
			counters = c.changedBy(text)
			if len(c.writes) < maxStatements {
				c.writes[text] = counters
			}
		}
		for _, n := range counters {
			n.Add(1)
		}
	}
}

// changedBy returns the counters of all tables that a statement names, unless it only reads. The caller holds the lock.
func (c *changes) changedBy(statement string) (out []*atomic.Uint64) {
	if strings.EqualFold(word.FindString(statement), "SELECT") {
		return nil
	}
	for _, name := range word.FindAllString(statement, -1) {
		if n, ok := c.tables[name]; ok && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
