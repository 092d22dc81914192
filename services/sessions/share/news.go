package share

import "github.com/windlass-dev/windlass/libs/bus"

// news are the notifications of a session. Without the bus there are none.
type news struct {
	bus     messages
	subject string
	sub     *bus.Subscription
}

// newsBuffer is how many notifications may wait.
const newsBuffer = 64

// await forgets the notifications so far, and returns where the next one comes; nil = there will be none.
func (n *news) await() <-chan bus.Msg {
	for n.sub != nil {
		select {
		case _, ok := <-n.sub.C():
			if ok {
				continue
			}
			n.sub = nil // there were too many, or the bus was away
		default:
			return n.sub.C()
		}
	}
	sub, err := n.bus.Subscribe(n.subject, newsBuffer)
	if err != nil { // the stream polls
		return nil
	}
	n.sub = sub
	return sub.C()
}

func (n *news) close() {
	if n.sub != nil {
		n.sub.Close()
	}
}
