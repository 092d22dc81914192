package watch

import "sync"

// Topic is what a watcher is notified of: a resource by its URI, or one of the server's lists.
type Topic struct{ URI, List string }

// The lists of a server.
const (
	Resources = "resources"
	Prompts   = "prompts"
)

// Updates delivers changes of topics to their watchers. For a slow one, the oldest is dropped. The zero value is ready for use.
type Updates struct {
	mu sync.Mutex
	to map[Topic]map[chan Topic]struct{}
}

// Add returns a channel on which the changes of topics arrive until Remove.
func (u *Updates) Add(topics []Topic) chan Topic {
	ch := make(chan Topic, buffer)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.to == nil {
		u.to = map[Topic]map[chan Topic]struct{}{}
	}
	for _, t := range topics {
		if u.to[t] == nil {
			u.to[t] = map[chan Topic]struct{}{}
		}
		u.to[t][ch] = struct{}{}
	}
	return ch
}

// Remove ends the delivery. It returns the URIs of resources that no watcher is left for.
func (u *Updates) Remove(topics []Topic, ch chan Topic) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var last []string
	for _, t := range topics {
		delete(u.to[t], ch)
		if watchers, ok := u.to[t]; ok && len(watchers) == 0 {
			delete(u.to, t)
			if t.URI != "" {
				last = append(last, t.URI)
			}
		}
	}
	return last
}

// Deliver sends a change to the watchers of its topic.
func (u *Updates) Deliver(t Topic) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for ch := range u.to[t] {
		select {
		case ch <- t:
			continue
		default:
		}
		select {
		case <-ch:
		default:
		}
		ch <- t // there is room, and no other sender
	}
}
