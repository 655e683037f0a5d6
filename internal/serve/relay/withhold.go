package relay

import "github.com/graspd/graspd/internal/protocol/nostr"

// Withhold has the relay answer no request, and end the subscriptions that are open, with a reason that clients hear; "" ends that. Connections stay,
// and events are taken.
func (r *Relay) Withhold(reason string) {
	if reason == "" {
		r.withheld.Store(nil)
		return
	}
	r.withheld.Store(&reason)
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.sessions {
		for _, sub := range s.subs.list() {
			if s.drop(sub) {
				s.out.post(nostr.AppendClosed(nil, sub.id, reason))
			}
		}
	}
}

// withholds says why no client gets an answer; "" where they do.
func (r *Relay) withholds() string {
	if reason := r.withheld.Load(); reason != nil {
		return *reason
	}
	return ""
}
