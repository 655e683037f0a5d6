package relay

import (
	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/serve/front"
)

var tooManyPings = &goodbye{code: websocket.StatusPolicyViolation, text: "rate-limited: too many pings from your address"}

// pinged counts a ping, which is a request as well, and reports whether to answer it.
func (s *session) pinged() bool {
	s.visitor.Charge(front.StepsPerRequest)
	return s.control() && !s.cork.stalled()
}

// control counts a ping or pong, and ends the session of a client that sends too many.
func (s *session) control() bool {
	if s.visitor.MayControl() {
		return true
	}
	s.end(tooManyPings)
	return false
}
