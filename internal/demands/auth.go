package demands

import "time"

// Auth is NIP-42 on one connection. This relay authenticates once, with its own
// key, and only when something is refused for want of it. Until that is settled,
// what was refused waits: the verdict, or its time, takes it back. The zero value
// is a connection on which nothing was refused.
type Auth struct {
	phase     phase
	challenge string
	until     time.Duration // the challenge, or the verdict on its answer, is awaited until then
}

type phase uint8

const (
	idle   phase = iota
	wanted       // something was refused for want of it; there is no challenge yet
	asked        // the challenge is answered
	granted
	denied
)

// LongestChallenge is how many bytes of a stranger's text are signed.
const LongestChallenge = 1024

// patience is how long a challenge, or the verdict on its answer, is awaited.
const patience = 30 * time.Second

// Challenged remembers what the relay wants to see signed. It reports whether that is to be signed now.
func (a *Auth) Challenged(text string, now time.Duration) bool {
	if len(text) > LongestChallenge {
		return false
	}
	a.challenge = text
	return a.phase == wanted && a.answer(now)
}

// Challenge is what the relay wants to see signed; "" as long as it sent none.
func (a *Auth) Challenge() string { return a.challenge }

func (a *Auth) answer(now time.Duration) bool {
	a.phase, a.until = asked, now+patience
	return true
}

// Hope is what becomes of a request that was refused for want of authentication.
type Hope uint8

// The hopes.
const (
	None    Hope = iota // it is refused
	Now                 // it was sent before this relay was authenticated, and is sent again
	Verdict             // it waits for the verdict
)

// Refused takes such a refusal of what went out in a manner. sign says that the challenge is to be signed now.
func (a *Auth) Refused(as Manner, now time.Duration) (h Hope, sign bool) {
	switch a.phase {
	case granted:
		if as.Authorized {
			return None, false
		}
		return Now, false
	case denied:
		return None, false
	case idle:
		a.phase, a.until = wanted, now+patience
		if a.challenge != "" {
			return Verdict, a.answer(now)
		}
	}
	return Verdict, false
}

// Answered takes the relay's verdict. It reports whether one was awaited.
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

// Granted says whether the relay has accepted our AUTH.
func (a *Auth) Granted() bool { return a.phase == granted }

// Awaited says whether a challenge or a verdict is to come.
func (a *Auth) Awaited() bool { return a.phase == wanted || a.phase == asked }

// Until is when an awaited challenge or verdict is waited for no more.
func (a *Auth) Until() time.Duration { return a.until }

// Expire ends the wait for what has not come by now, and returns what that was; "" where nothing is awaited or it is early.
// There is no hope of a verdict on this connection then, or, without a challenge, until one comes.
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
