package status

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
)

// reachTime is how long a relay may stay unreached after something was first wanted of it. It is longer than a dial takes, so that Unreached
// does not speak of relays that are only being dialed.
const reachTime = 2 * time.Minute

// Unreached says that no relay was reached since start, though some have been wanted for long enough; "" where that is not so. Dead relays do
// not count unless they are bootstrap relays, as strangers name whatever they like. A relay that proved to be this one does not count
// either, as it was reached.
func Unreached(relays []Relay, start time.Time) string {
	var long []Relay
	for _, r := range relays {
		if r.Ourself || r.Connected || r.LastAlive.After(start) {
			return ""
		}
		if r.Behind >= reachTime && (r.Bootstrap || r.Health != Dead) {
			long = append(long, r)
		}
	}
	if len(long) == 0 {
		return ""
	}
	shown := long[max(0, slices.IndexFunc(long, func(r Relay) bool { return r.Cause != "" }))]
	who := fmt.Sprintf("none of the %d relays that are followed was", len(relays))
	if len(relays) == 1 {
		who = "the only relay that is followed was not"
	}
	return fmt.Sprintf("%s reached since the start (%s): look at this machine's network, name resolution and firewall; %s: %s",
		who, start.UTC().Format(time.RFC3339), shown.URL, cmp.Or(safetext.Printable(string(shown.Cause)), "no answer yet"))
}

// Failing says since when a relay fails, and the cause of its last failure, whose words a stranger may have chosen; "" when it does not
// fail.
func (r *Relay) Failing() string {
	if r.Failures == 0 {
		return ""
	}
	text := "1 failure"
	if r.Failures > 1 {
		text = fmt.Sprintf("%d failures in a row", r.Failures)
	}
	if !r.FailingSince.IsZero() {
		text += " since " + r.FailingSince.UTC().Format(time.RFC3339)
	}
	if r.Cause != "" {
		text += ", the last one: " + safetext.Printable(string(r.Cause))
	}
	return text
}
