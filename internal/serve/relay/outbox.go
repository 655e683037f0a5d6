package relay

import (
	"context"
	"sync"

	"github.com/graspd/graspd/internal/base/fifo"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds of the frames that wait for a client. Beyond these bounds the reader takes no further frame.
const (
	maxReplies    = 256
	maxReplyBytes = 256 << 10
	maxOKs        = 2048 // more than a source has places, as the reader itself refuses some events
)

// outbox holds what the writer owes the client. OKs leave in the order of their EVENTs, everything else in the order in which the reader made
// it. The reader waits for room before it adds anything. Others add no more than the reader has asked for.
type outbox struct {
	writer bell          // rung when there is something to send
	room   chan struct{} // capacity 1: the outbox has become shorter

	mu         sync.Mutex
	replies    fifo.Queue[[]byte]
	replyBytes int
	oks        fifo.Queue[*pendingOK]
}

// pendingOK is the OK that an EVENT or AUTH will get. The reader sets size and id before fillOK; outbox.mu guards the rest.
type pendingOK struct {
	size   int // the size of the event, whose place at the door is freed when the OK is written; 0 for an event without a place
	id     nostr.ID
	filled bool
	policy.Verdict
}

func newOutbox(writer bell) *outbox { return &outbox{writer: writer, room: make(chan struct{}, 1)} }

// full reports whether the reader has to wait. The caller holds mu.
func (o *outbox) full() bool {
	return o.replies.Len() >= maxReplies || o.replyBytes >= maxReplyBytes || o.oks.Len() >= maxOKs
}

// waitForRoom blocks the reader until the outbox takes more.
func (o *outbox) waitForRoom(work context.Context) error {
	for {
		o.mu.Lock()
		full := o.full()
		o.mu.Unlock()
		if !full {
			return nil
		}
		select {
		case <-o.room:
		case <-work.Done():
			return context.Cause(work)
		}
	}
}

// reply queues a frame of the reader. It waits for room.
func (o *outbox) reply(work context.Context, frame []byte) error {
	if err := o.waitForRoom(work); err != nil {
		return err
	}
	o.post(frame)
	return nil
}

// post queues a frame without waiting.
func (o *outbox) post(frame []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.replies.Push(frame)
	o.replyBytes += len(frame)
	o.writer.ring()
}

// expectOK queues an OK that fillOK will fill: for an event of that size at the door or, with 0, for one that does not go to the door.
func (o *outbox) expectOK(work context.Context, id nostr.ID, size int) (*pendingOK, error) {
	if err := o.waitForRoom(work); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	v := &pendingOK{size: size, id: id}
	o.oks.Push(v)
	return v, nil
}

// fillOK gives the OK its verdict, so that the writer can send it. fillOK does not wait.
func (o *outbox) fillOK(v *pendingOK, p policy.Verdict) {
	o.mu.Lock()
	defer o.mu.Unlock()
	v.filled, v.Verdict = true, p
	o.writer.ring()
}

// answerNow queues an OK whose verdict the reader knows: true where reason is "", else false with the reason.
func (o *outbox) answerNow(work context.Context, id nostr.ID, reason string) error {
	v, err := o.expectOK(work, id, 0)
	if err != nil {
		return err
	}
	p := policy.Verdict{Reason: reason}
	if reason != "" {
		p.Outcome = policy.Discard
	}
	o.fillOK(v, p)
	return nil
}

// next takes the next OK that has its verdict or, if there is none, the next other frame. Both are nil when there is nothing.
func (o *outbox) next() (ok *pendingOK, frame []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v := o.oks.Peek(); v != nil && v.filled {
		o.oks.Pop()
		ok = v
	} else if frame = o.replies.Pop(); frame != nil {
		o.replyBytes -= len(frame)
	} else {
		return nil, nil
	}
	select {
	case o.room <- struct{}{}:
	default:
	}
	return ok, frame
}

// owesOK reports whether there is an OK still to send.
func (o *outbox) owesOK() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.oks.Len() > 0
}

// ready reports whether the writer can send something.
func (o *outbox) ready() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	v := o.oks.Peek()
	return v != nil && v.filled || o.replies.Len() > 0
}
