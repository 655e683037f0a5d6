package relay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
)

// session is one client's connection, and what the client has open on it. The reader takes the frames in order, one at a time. Only the
// writer sends. Whatever both use belongs to a part with a lock; nobody holds such a lock across a wait.
type session struct {
	relay      *Relay
	conn       *websocket.Conn
	cork       *cork          // the connection under conn
	visitor    *front.Visitor // nil for a client without rates
	who        *identity
	source     Source                  // nil where the relay takes no events
	end        context.CancelCauseFunc // ends work: the writer says goodbye, the reader takes no further frame
	wake       bell                    // wakes the writer
	pay        payer                   // makes the client's address pay
	out        *outbox                 // what the writer owes the client
	subs       *subscriptions          // what the client has open
	buf        []byte                  // the frame in hand; owned by the writer
	challenged bool                    // the client has its challenge; owned by the writer
	quiet      quiet
	turn       *turn       // the writer's, for work that takes long; owned by the writer
	bill       store.Meter // for finding out with much work what live events match; owned by the writer

	// Owned by the dispatcher.
	hits      []hit
	looks     int // how many filters it has looked at, or would have, for the event lookedFor
	lookedFor store.Seq

	frames progress
	pings  sync.WaitGroup // the ping under way

	mu    sync.Mutex
	shown []nostr.PubKey // the keys that have authenticated, where the relay is private
}

var errGone = errors.New("the client is gone")

// goodbye says why the relay ends a session, in the words that the client hears.
type goodbye struct {
	code  websocket.StatusCode
	text  string // at most 100 bytes
	quiet bool   // the client was idle
}

func (g *goodbye) Error() string { return fmt.Sprintf("closed with %d: %s", g.code, g.text) }

var (
	shuttingDown = &goodbye{code: websocket.StatusGoingAway, text: "the relay is shutting down"}
	brokenInside = &goodbye{code: websocket.StatusInternalError, text: "internal error"}
	tooSlow      = &goodbye{code: websocket.StatusTryAgainLater, text: "too slow: live events have piled up; connect again"}
)

// serve runs the session until it has ended, and returns why. kill cancels ctx: that ends the session at once, without a goodbye.
func (s *session) serve(ctx context.Context, kill context.CancelFunc) error {
	defer context.AfterFunc(ctx, func() { s.cork.Close() })()
	work, end := context.WithCancelCause(ctx)
	s.end = end
	defer end(nil)
	if !s.relay.join(s, kill) {
		return s.conn.Close(shuttingDown.code, shuttingDown.text)
	}
	defer s.relay.leave(s)
	s.cork.pace = func() { s.pay.paceBytes(work) }
	s.turn = newTurn(s.relay.pools.turns, s.pay)
	s.bill = s.pay.slowed(work, math.MaxInt, s.turn)
	var writer sync.WaitGroup
	writer.Go(func() {
		err := s.contained(func() error { return s.write(ctx, work) })
		end(err)
		if s.contained(func() error { s.farewell(err); return nil }) != nil {
			s.conn.CloseNow()
		}
	})
	err := s.contained(func() error { return s.read(ctx, work) })
	end(err)
	writer.Wait()
	s.conn.CloseNow()
	s.pings.Wait()
	s.giveBack()
	return context.Cause(work)
}

// giveBack returns all that the session has taken. It contains each step, so that a fault in one does not stop the others.
func (s *session) giveBack() {
	for _, step := range []func(){
		func() {
			for _, sub := range s.subs.list() {
				s.drop(sub)
			}
		},
		s.subs.discardLive,
		func() { s.cork.retire() },
		func() { s.relay.reconciles.dropAll(s) },
	} {
		_ = s.contained(func() error { step(); return nil })
	}
}

// contained does work for the client and returns its error. A fault in it ends this session and nothing else.
func (s *session) contained(work func() error) error {
	err := s.relay.faults.Run("a client", work)
	if _, ok := errors.AsType[*contain.Fault](err); ok {
		return brokenInside
	}
	return err
}

// bell wakes one goroutine that has something to do.
type bell chan struct{} // capacity 1

func newBell() bell { return make(bell, 1) }

// ring wakes the goroutine, and does not wait. Two rings before the goroutine wakes count as one.
func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}
