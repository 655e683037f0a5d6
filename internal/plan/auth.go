package plan

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/refusal"
)

// auth is NIP-42 on one connection. This relay authenticates once, with its own
// key, and only when something is refused for want of it. Until that is settled,
// what was refused is put off for ever: the verdict, or its time, takes it back.
type auth struct {
	phase     authPhase
	challenge string
	until     time.Duration // the challenge, or the verdict on its answer, is awaited until then
}

type authPhase uint8

const (
	authIdle   authPhase = iota
	authWanted           // something was refused for want of it; there is no challenge yet
	authAsked            // the challenge is answered
	authGranted
	authDenied
)

// longestChallenge is how many bytes of a stranger's text are signed.
const longestChallenge = 1024

// challenged remembers what the relay wants to see signed.
func (p *Peer) challenged(text string) {
	if len(text) > longestChallenge {
		return
	}
	p.conn.auth.challenge = text
	if p.conn.auth.phase == authWanted {
		p.answerChallenge()
	}
}

func (p *Peer) answerChallenge() {
	a := &p.conn.auth
	a.phase, a.until = authAsked, p.now.Mono+silence
	p.effect(Authenticate{Challenge: a.challenge})
}

// authWait handles the refusal of a request for want of authentication. It
// returns when the request is to be sent again: now, if it was sent before this
// relay was authenticated, never, if the verdict is awaited; and false if there is
// nothing to hope for.
func (p *Peer) authWait(why refusal.Kind, as manner) (time.Duration, bool) {
	a := &p.conn.auth
	if why != refusal.Auth {
		return 0, false
	}
	switch a.phase {
	case authGranted:
		return p.now.Mono, !as.authorized
	case authDenied:
		return 0, false
	case authIdle:
		a.phase, a.until = authWanted, p.now.Mono+silence
		if a.challenge != "" {
			p.answerChallenge()
		}
	}
	return never, true
}

// authenticated takes the relay's verdict.
func (p *Peer) authenticated(in Authenticated) {
	if p.conn.auth.phase != authAsked {
		return
	}
	if in.OK {
		p.conn.auth.phase = authGranted
		p.report(Info, "authenticated to the relay")
		p.takeBack(p.now.Mono)
		p.reopenMute()
		return
	}
	p.authFailed(authDenied, in.Reason)
}

// authFailed gives up what waits: there is no hope of a verdict on this
// connection, or, without a challenge, until one comes.
func (p *Peer) authFailed(phase authPhase, why string) {
	p.conn.auth.phase = phase
	p.report(Warn, "relay demands authentication and this relay gets none", "cause", why)
	p.takeBack(p.now.Mono + refusedRetry)
}

// reopenMute sends live REQs again that count as open and were never answered:
// they may have been refused by a NOTICE that came late.
func (p *Peer) reopenMute() {
	mute := func(l *liveReq) bool { r := p.conn.requests[l.sub]; return r != nil && !r.answered }
	p.cancelMergeOf(mute)
	for _, l := range slices.Clone(p.conn.following.live) {
		if mute(l) {
			p.closeLive(l)
			p.requeue(l.lots, l.sent.Wall, p.now.Mono, l.tries)
		}
	}
}

// takeBack sets the time of all that waited for the verdict.
func (p *Peer) takeBack(at time.Duration) {
	for _, t := range p.conn.later {
		if t.after == never {
			t.after = at
		}
	}
	for _, w := range p.conn.waiting {
		if w.after == never {
			w.after = at
		}
	}
}

// awaited says whether a challenge or a verdict is to come.
func (a *auth) awaited() bool { return a.phase == authWanted || a.phase == authAsked }

// tendAuth ends the wait for a challenge or a verdict that does not come.
func (p *Peer) tendAuth() {
	a := &p.conn.auth
	switch {
	case !a.awaited() || p.now.Mono < a.until:
	case a.phase == authWanted:
		p.authFailed(authIdle, "no challenge")
	default:
		p.authFailed(authDenied, "no answer")
	}
}
