package dense

import (
	"cmp"
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

// Fits reports whether that many entries may fit, whose codes are as long as the given one. Some that may do not.
func (c *Cache) Fits(entries int64, code []byte) bool {
	return entries <= int64(c.limit/(entryBytes+len(code)))
}

// Holds reports whether an index is not too large.
func (c *Cache) Holds(x *Index) bool { return x.Bytes() <= c.limit }

// Use calls f with the index of a key, which is empty at first and which no other caller uses meanwhile. f brings it up to date, and may
// replace it by another one. After an error of f the index stays as f left it, unless it has become too large.
func (c *Cache) Use(key Key, f func(index *Index) (*Index, error)) error {
	entry := c.entry(key)
	entry.mu.Lock()
	defer entry.mu.Unlock()
	index, err := f(entry.index)
	if err == nil {
		entry.index = index
	}
	if !c.count(entry, entry.index.Bytes()) {
		entry.index = NewIndex()
		err = cmp.Or(err, ErrTooLarge)
	}
	return err
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
// is too large, and then drops only that.
func (c *Cache) count(e *cached, bytes int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byKey[e.key]; !ok || at.Value != e { // dropped meanwhile: it is collected when its users are done
		return bytes <= c.limit
	}
	if bytes > c.limit {
		c.drop(c.byKey[e.key])
		return false
	}
	c.bytes += bytes - e.bytes
	e.bytes = bytes
	for c.bytes > c.limit && c.order.Len() > 1 && c.order.Back().Value != e {
		c.drop(c.order.Back())
	}
	return true
}

func (c *Cache) drop(at *list.Element) {
	e, _ := at.Value.(*cached)
	c.bytes -= e.bytes
	delete(c.byKey, e.key)
	c.order.Remove(at)
}
