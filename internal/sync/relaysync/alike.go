package relaysync

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
)

// Where many relays cannot be reached for one reason, that is mostly a reason of this machine, and a line for each of them would hide what else
// the log has.
const (
	alikeFor  = 10 * time.Minute // from the first of such failures on
	alikeEach = 3                // relays with a line of their own; of a reason that is this machine's, none
	alikeKept = 100              // reasons that are told apart; beyond, each relay has its line
)

// ofThisMachine are the ends of causes that say nothing about the other relay, with what to look at.
var ofThisMachine = map[string]string{
	"network is unreachable":               "look at this machine's network",
	"server misbehaving":                   "look at this machine's name resolution (/etc/resolv.conf)",
	"Temporary failure in name resolution": "look at this machine's name resolution (/etc/resolv.conf)",
	"too many open files":                  "raise the limit of open files (LimitNOFILE)",
	"operation not permitted":              "look at this machine's firewall",
	"cannot assign requested address":      "look at this machine's network",
}

// reasonOf returns the part of a cause that many relays may have in common, without their names.
func reasonOf(cause string) string {
	if i := strings.LastIndex(cause, ": "); i >= 0 {
		return cause[i+len(": "):]
	}
	return cause
}

// alike knows which relays failed lately for which reason. Any goroutine may use it.
type alike struct {
	mu sync.Mutex
	by map[string]*failure // by reason
}

type failure struct {
	since  time.Duration
	relays []grasp.RelayURL
	told   bool
}

// note takes a relay that cannot be reached. write reports whether it gets a line of its own, and all whether one line is due for all of
// them, with what to look at.
func (a *alike) note(now time.Duration, u grasp.RelayURL, cause string) (write, all bool, mend string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	reason := reasonOf(cause)
	f := a.by[reason]
	if f == nil || now-f.since > alikeFor {
		for r, x := range a.by {
			if now-x.since > alikeFor {
				delete(a.by, r)
			}
		}
		if len(a.by) >= alikeKept {
			return true, false, ""
		}
		f = &failure{since: now}
		if a.by == nil {
			a.by = map[string]*failure{}
		}
		a.by[reason] = f
	}
	mend, ours := ofThisMachine[reason]
	if !slices.Contains(f.relays, u) && len(f.relays) <= alikeEach {
		f.relays = append(f.relays, u)
	}
	switch {
	case !ours && len(f.relays) <= alikeEach:
		return true, false, ""
	case f.told:
		return false, false, ""
	}
	f.told = true
	if !ours {
		mend = "look at this machine's network, name resolution and firewall; graspd status says how each relay stands"
	}
	return false, true, mend
}
