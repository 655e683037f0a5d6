package relay

import (
	"fmt"
	"time"

	"github.com/coder/websocket"
)

// quiet knows since when a client has asked for nothing and has nothing open. The session's writer owns it.
type quiet struct {
	seen  int64 // frames read so far
	since time.Time
}

// idle reports whether the client has been quiet for as long as it may. The writer asks at every tick.
func (s *session) idle(now time.Time) bool {
	seen := s.frames.seen.Load()
	if seen != s.quiet.seen || s.quiet.since.IsZero() || s.busy() {
		s.quiet = quiet{seen, now}
	}
	return now.Sub(s.quiet.since) >= s.relay.limits.Idle
}

// busy reports whether something of the client's is open or under way.
func (s *session) busy() bool {
	if !s.frames.reading.Load() || s.relay.reconciles.count(s) > 0 {
		return true
	}
	return s.subs.count() > 0 || s.out.owesOK()
}

// tooQuiet returns the goodbye to an idle client.
func (l Limits) tooQuiet() *goodbye {
	return &goodbye{code: websocket.StatusNormalClosure, text: fmt.Sprintf("idle: no message and nothing open for %v; connect again", l.Idle), quiet: true}
}
