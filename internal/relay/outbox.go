package relay

import (
	"context"

	"github.com/graspd/graspd/internal/fifo"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// Bounds of what waits for a client that does not read. Beyond them the reader takes no further frame.
const (
	maxReplies    = 256
	maxReplyBytes = 256 << 10
	maxOKs        = 2048 // more than a source has places, for those that the reader itself refuses
)

// outbox is what the writer owes the client. OKs leave in the order of their EVENTs, everything else in the order in which the reader made it.
// The reader waits for room before it adds anything. What others add is bounded by what the reader has asked for.
type outbox struct {
	replies    fifo.Queue[[]byte]
	replyBytes int
	oks        fifo.Queue[*pendingOK]
}

// pendingOK is the OK that an EVENT or AUTH will get. The reader sets size and id before the OK is filled; session.mu guards the rest.
type pendingOK struct {
	size   int // of the event whose place at the door is freed when the OK is written; 0 where it has none
	id     nostr.ID
	filled bool
	policy.Verdict
}

func (o *outbox) full() bool {
	return o.replies.Len() >= maxReplies || o.replyBytes >= maxReplyBytes || o.oks.Len() >= maxOKs
}

// waitForRoom blocks the reader until the outbox takes more.
func (s *session) waitForRoom(work context.Context) error {
	for {
		s.mu.Lock()
		full := s.out.full()
		s.mu.Unlock()
		if !full {
			return nil
		}
		select {
		case <-s.room:
		case <-work.Done():
			return context.Cause(work)
		}
	}
}

// reply queues a frame of the reader's.
func (s *session) reply(work context.Context, frame []byte) error {
	if err := s.waitForRoom(work); err != nil {
		return err
	}
	s.post(frame)
	return nil
}

// post queues a frame without waiting.
func (s *session) post(frame []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.replies.Push(frame)
	s.out.replyBytes += len(frame)
	s.wakeWriter()
}

// expectOK queues an OK that fillOK will fill: for an event of that size at the door or, with 0, for one that does not go there.
func (s *session) expectOK(work context.Context, id nostr.ID, size int) (*pendingOK, error) {
	if err := s.waitForRoom(work); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := &pendingOK{size: size, id: id}
	s.out.oks.Push(v)
	return v, nil
}

// fillOK gives the OK its verdict, so that it can be sent. It does not wait.
func (s *session) fillOK(v *pendingOK, p policy.Verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v.filled, v.Verdict = true, p
	s.wakeWriter()
}

// answerNow queues an OK whose verdict the reader knows: true, or false with a reason.
func (s *session) answerNow(work context.Context, id nostr.ID, reason string) error {
	v, err := s.expectOK(work, id, 0)
	if err != nil {
		return err
	}
	p := policy.Verdict{Reason: reason}
	if reason != "" {
		p.Outcome = policy.Discard
	}
	s.fillOK(v, p)
	return nil
}

// nextAnswer takes the next frame of the outbox: an OK, or else a reply. Nil means that there is none.
func (s *session) nextAnswer() (ok *pendingOK, frame []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.out.oks.Peek(); v != nil && v.filled {
		s.out.oks.Pop()
		ok = v
	} else if frame = s.out.replies.Pop(); frame != nil {
		s.out.replyBytes -= len(frame)
	} else {
		return nil, nil
	}
	select {
	case s.room <- struct{}{}:
	default:
	}
	return ok, frame
}

// answer sends what the outbox has ready.
func (s *session) answer() error {
	for sent := false; ; sent = true {
		v, frame := s.nextAnswer()
		switch {
		case v != nil:
			s.buf = nostr.AppendOK(s.buf[:0], v.id, v.OK(), v.Reason)
			if err := s.send(s.buf); err != nil {
				return err
			}
			if v.size > 0 {
				s.source.Release(v.size)
			}
		case frame != nil:
			if err := s.send(frame); err != nil {
				return err
			}
		case sent:
			return s.flush()
		default:
			return nil
		}
	}
}

// owesOK reports whether an OK is still to be sent.
func (s *session) owesOK() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.oks.Len() > 0
}
