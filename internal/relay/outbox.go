package relay

import (
	"context"

	"github.com/graspd/graspd/internal/fifo"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// What may wait for a client that does not read. Past it the reader takes no further frame.
const (
	maxReplies    = 256
	maxReplyBytes = 256 << 10
	maxVerdicts   = 2048 // more than a source has places, for those that the reader itself refuses
)

// outbox is what the writer owes the client. OKs leave in the order of their EVENTs, everything else in the order in which the
// reader made it. It is bounded by the reader, which waits for room; what others put in is bounded by what the
// reader has asked for.
type outbox struct {
	replies    fifo.Queue[[]byte]
	replyBytes int
	verdicts   fifo.Queue[*verdict]
}

// verdict is the OK that an EVENT or AUTH will get. Its fields but the first two are guarded by session.mu.
type verdict struct {
	size    int // of the event whose place at the door is freed when the OK is written; 0 where it has none
	id      nostr.ID
	decided bool
	policy.Verdict
}

func (o *outbox) full() bool {
	return o.replies.Len() >= maxReplies || o.replyBytes >= maxReplyBytes || o.verdicts.Len() >= maxVerdicts
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

// expectVerdict queues an OK that is not decided yet, of an event of that size at the door or, with 0, of none.
func (s *session) expectVerdict(work context.Context, id nostr.ID, size int) (*verdict, error) {
	if err := s.waitForRoom(work); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := &verdict{size: size, id: id}
	s.out.verdicts.Push(v)
	return v, nil
}

// decide makes the OK ready to be sent. It does not wait.
func (s *session) decide(v *verdict, p policy.Verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v.decided, v.Verdict = true, p
	s.wakeWriter()
}

// settle queues an OK that the reader decides: true, or false where there is a reason against it.
func (s *session) settle(work context.Context, id nostr.ID, reason string) error {
	v, err := s.expectVerdict(work, id, 0)
	if err != nil {
		return err
	}
	p := policy.Verdict{Reason: reason}
	if reason != "" {
		p.Outcome = policy.Discard
	}
	s.decide(v, p)
	return nil
}

// nextAnswer takes the next frame of the outbox: an OK, or else a reply. Nil means that there is none.
func (s *session) nextAnswer() (ok *verdict, frame []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.out.verdicts.Peek(); v != nil && v.decided {
		s.out.verdicts.Pop()
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

// undecided reports whether an OK is still to come.
func (s *session) undecided() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.verdicts.Len() > 0
}
