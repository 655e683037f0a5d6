package peer

// FirstCatchup tells when the first catch-up with a relay is through: the relay has answered all that it was asked, by a Want that
// includes whatever the relay brought. Events from others do not put that off. The zero value has seen nothing.
type FirstCatchup struct {
	through bool   // once true, it stays true
	seen    bool   // the peer has caught up with its Want once
	stored  uint64 // the newest entry of the store at that time
	brought uint64 // how many events the relay had brought at that time
}

// Through reports whether the catch-up is through. Once it is, it stays so.
func (f *FirstCatchup) Through() bool { return f.through }

// Look takes how things stand now: whether the peer has caught up with its newest Want, how many events the relay has brought by
// catch-up, the number of the newest stored entry, and the number of the newest entry that Wants know.
func (f *FirstCatchup) Look(caughtUp bool, brought, stored, known uint64) {
	if f.through || !caughtUp {
		return
	}
	if !f.seen || f.brought != brought {
		*f = FirstCatchup{seen: true, stored: stored, brought: brought}
	}
	f.through = known >= f.stored
}
