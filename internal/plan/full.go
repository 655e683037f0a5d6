package plan

// Some relays bound what all subscriptions of a connection or an address ask for together, however few they are. Nothing
// tells that bound but a refusal.

// held returns how much all live REQs ask for together, in bytes of their messages.
func (rs reqs) held() (sum int) {
	for _, l := range rs {
		sum += l.size.Message(l.values)
	}
	return sum
}

// bears says whether the relay is believed to bear so many bytes of live REQs more.
func (f *following) bears(more int) bool {
	return f.limits.Bears(f.live.held(), more)
}

// full learns that the live REQs that are left are all that the relay bears, after one was refused for that. It reports
// whether any is left. Those that wait go on when all refusals that may be under way have come.
func (f *following) full() bool {
	f.cancelMerge()
	held := f.live.held()
	if held == 0 || f.all.followsAll() {
		return false
	}
	f.limits.Full(held)
	f.wire.rest(liveOpenAfter)
	return true
}

// fuller learns likewise that there must be room for stored requests beside the live REQs. It reports whether there is
// one that can be given up for that.
func (f *following) fuller() bool {
	if !f.full() || f.live.oldest(f.want, aboveAll) == nil {
		return false
	}
	f.limits.Fuller()
	return true
}
