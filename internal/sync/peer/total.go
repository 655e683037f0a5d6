package peer

import "github.com/graspd/graspd/internal/sync/peer/livesubs"

// Some relays bound what all subscriptions of a connection or an address ask for together, however few they are. Nothing
// tells that bound but a refusal.

// boundTotal learns that the live REQs that are left are all that the relay bears, after one was refused for that. It reports
// whether any is left. Those that wait go on when all refusals that may be under way have come.
func (f *following) boundTotal() bool {
	f.cancelMerge()
	bytes := f.planner.Bytes()
	if bytes == 0 || f.unfiltered.on {
		return false
	}
	f.limits.BoundTotal(bytes)
	f.pauseFor(livesubs.OpenAfter)
	return true
}

// lowerTotal learns from a refusal that there must be room for stored requests beside the live REQs. It reports whether there is
// one that can be given up for that.
func (f *following) lowerTotal() bool {
	if !f.boundTotal() || !f.planner.Expendable(f.want) {
		return false
	}
	f.limits.LowerTotal()
	return true
}

// giveUp has items polled that cannot be followed, as the relay then answers nothing that is stored. It reports whether there were any.
func (f *following) giveUp() bool {
	x, rest, ok := f.planner.GiveUp(f.facts())
	if ok {
		f.pollInstead(x)
		f.requeue(rest, f.now.Wall, f.now.Mono, 0)
	}
	return ok
}
