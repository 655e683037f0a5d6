package status

import (
	"fmt"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
)

// Percent writes a ratio of 0 to 1 for people, everywhere the same. It rounds down, so that 100% is all.
func Percent(r float64) string { return fmt.Sprintf("%.1f%%", float64(int(r*1000+1e-9))/10) }

// Until writes how long it is until something happens, everywhere the same.
func Until(d time.Duration) string {
	if d < time.Second {
		return "now"
	}
	return "in " + Duration(d)
}

// Duration writes a length of time, in the two largest units that it has.
func Duration(d time.Duration) string {
	d = max(0, d)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d d %d h", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// State returns the state of the relay in one word, dead or its phase. The page and the status command sort and search by it.
func (r *Relay) State() string {
	if r.Health == Dead {
		return string(Dead)
	}
	return r.Phase
}

// Why says why the relay is followed: who names it, and for how many people it is a mailbox.
func (r *Relay) Why() string {
	var why []string
	if r.Bootstrap {
		why = append(why, "bootstrap relay")
	}
	if r.Index {
		why = append(why, "index relay")
	}
	if n := r.Want.Repositories; n > 0 {
		why = append(why, "named by "+safetext.Number(n, "repository", "repositories"))
	}
	if r.Mailbox > 0 {
		why = append(why, "mailbox of "+safetext.Number(r.Mailbox, "person", "people"))
	}
	return strings.Join(why, ", ")
}

// States returns all values of State with their meaning, those first that need a look.
func States() []Word {
	return []Word{
		{Name: "dead", Meaning: "a relay that has failed without a break for a day; graspd tries it once a day", JSON: "sync.relays.health", Metric: "ngit_sync_relay_status"},
		{Name: PhaseWaiting, Meaning: "a relay that is not connected; graspd tries it again at the time beside it", JSON: "sync.relays.phase"},
		{Name: PhaseIdle, Meaning: "a relay that is not connected, as graspd wants nothing from it now", JSON: "sync.relays.phase"},
		{Name: PhaseDialing, Meaning: "graspd is connecting to the relay", JSON: "sync.relays.phase"},
		{Name: PhaseSyncing, Meaning: "a relay that is connected; graspd is asking it for what is not complete here yet", JSON: "sync.relays.phase"},
		{Name: PhaseUnproven, Meaning: "a relay that is connected and has answered everything; some of that is not proven to be complete, as the relay may have more than it showed", JSON: "sync.relays.phase"},
		{Name: PhaseLive, Meaning: "a relay that is connected; all that graspd wants from it is complete here, or asked for in turns", JSON: "sync.relays.phase"},
	}
}
