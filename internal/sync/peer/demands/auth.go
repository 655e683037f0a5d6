package demands

import "time"

// Auth is NIP-42 on one connection. This relay authenticates once, with its own
// key, and only when the other relay refuses something for want of authentication.
// Refused requests wait until the other relay has decided, or the time for that is
// over. The zero Auth is that of a connection on which nothing was refused.
type Auth struct {
	phase     phase
	challenge string
	until     time.Duration // until when to wait for the challenge, or for the verdict on its answer
}

type phase uint8

const (
	idle   phase = iota
	wanted       // something was refused for want of authentication, and there is no challenge yet
	asked        // we have answered the challenge, and there is no verdict yet
	granted
	denied
)

// LongestChallenge is the longest challenge in bytes, a stranger's text, that graspd signs.
const LongestChallenge = 1024

// patience is how long to wait for a challenge, or for the verdict on its answer.
const patience = 30 * time.Second

// Challenged remembers the text that the relay wants to see signed. It reports whether to sign it now.
func (a *Auth) Challenged(text string, now time.Duration) bool {
	if len(text) > LongestChallenge {
		return false
	}
	a.challenge = text
	return a.phase == wanted && a.answer(now)
}

// Challenge returns the text that the relay wants to see signed; "" as long as it has sent none.
func (a *Auth) Challenge() string { return a.challenge }

func (a *Auth) answer(now time.Duration) bool {
	a.phase, a.until = asked, now+patience
	return true
}

// Retry says what becomes of a request that was refused for want of authentication.
type Retry uint8

// The retries.
const (
	Never     Retry = iota // it stays refused
	Now                    // it went out before this relay was authenticated: send it again
	AfterAuth              // it waits for the verdict
)

// Refused takes the refusal, for want of authentication, of a request that went out in the mode as. sign says whether to sign the
// challenge now.
func (a *Auth) Refused(as RequestMode, now time.Duration) (h Retry, sign bool) {
	switch a.phase {
	case granted:
		if as.Authorized {
			return Never, false
		}
		return Now, false
	case denied:
		return Never, false
	case idle:
		a.phase, a.until = wanted, now+patience
		if a.challenge != "" {
			return AfterAuth, a.answer(now)
		}
	}
	return AfterAuth, false
}

// Answered takes the relay's verdict. It reports whether a verdict was awaited.
func (a *Auth) Answered(ok bool) bool {
	if a.phase != asked {
		return false
	}
	a.phase = denied
	if ok {
		a.phase = granted
	}
	return true
}

// Granted reports whether the relay has accepted our AUTH.
func (a *Auth) Granted() bool { return a.phase == granted }

// Awaited reports whether a challenge or a verdict is awaited.
func (a *Auth) Awaited() bool { return a.phase == wanted || a.phase == asked }

// Until returns the time until which to wait for an awaited challenge or verdict.
func (a *Auth) Until() time.Duration { return a.until }

// Expire ends the wait for a challenge or a verdict that has not come by now, and says which it was; "" where nothing is
// awaited or it is early. After a missed verdict there is no hope on this connection; after a missed challenge none until one
// comes.
func (a *Auth) Expire(now time.Duration) (missed string) {
	switch {
	case !a.Awaited() || now < a.until:
		return ""
	case a.phase == wanted:
		a.phase = idle
		return "no challenge"
	}
	a.phase = denied
	return "no answer"
}
