package dense

import (
	"container/list"
	"errors"
	"sync"
)

// ErrTooLarge means that the codes of a bank take more memory than the cache may.
var ErrTooLarge = errors.New("the codes take more memory than they may")

// Key names the codes of a bank in a space.
type Key struct {
	// Tenant and Bank name the bank, Space the space.
	Tenant, Bank string
	Space        int64
}

// Cache keeps indexes in memory, those used last. It is safe for concurrent use.
type Cache struct {
	limit int
	mu    sync.Mutex
	bytes int
	order *list.List // of *cached, the one used last at the front
	byKey map[Key]*list.Element
}

// cached is an index with its lock.
type cached struct {
	key   Key
	bytes int // guarded by the cache's lock
	mu    sync.Mutex
	index *Index
}

// NewCache returns a cache of at most limit bytes.
func NewCache(limit int) *Cache {
	return &Cache{limit: limit, order: list.New(), byKey: map[Key]*list.Element{}}
}

// Use calls f with the index of a key, which is empty at first and which no other caller uses meanwhile. f brings it up to date, and may
// replace it by another one.
func (c *Cache) Use(key Key, f func(index *Index) (*Index, error)) error {
	entry := c.entry(key)
	entry.mu.Lock()
	defer entry.mu.Unlock()
	index, err := f(entry.index)
	if err != nil {
		return err
	}
	entry.index = index
	if !c.count(entry, index.Bytes()) {
		entry.index = NewIndex()
		return ErrTooLarge
	}
	return nil
}

// entry returns the entry of a key, as the one used last.
func (c *Cache) entry(key Key) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byKey[key]; ok {
		c.order.MoveToFront(at)
		e, _ := at.Value.(*cached) // the list has nothing else
		return e
	}
	e := &cached{key: key, index: NewIndex()}
	c.byKey[key] = c.order.PushFront(e)
	return e
}

// count notes the size of an entry and drops those used least recently while there are too many bytes. It reports false if the entry alone
// is too large, and drops it, too.
func (c *Cache) count(e *cached, bytes int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byKey[e.key]; !ok || at.Value != e { // dropped meanwhile: it is collected when its users are done
		return bytes <= c.limit
	}
	c.bytes += bytes - e.bytes
	e.bytes = bytes
	for c.bytes > c.limit && c.order.Len() > 1 && c.order.Back().Value != e {
		c.drop(c.order.Back())
	}
	if bytes > c.limit {
		c.drop(c.byKey[e.key])
		return false
	}
	return true
}

func (c *Cache) drop(at *list.Element) {
	e, _ := at.Value.(*cached)
	c.bytes -= e.bytes
	delete(c.byKey, e.key)
	c.order.Remove(at)
}
