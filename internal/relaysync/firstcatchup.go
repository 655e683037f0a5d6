package relaysync

// firstCatchup tells when the first catch-up of a relay is through: the relay has answered all that it was asked, by a Want that knows
// whatever it brought. Events of others do not put that off. The zero value has seen nothing.
type firstCatchup struct {
	through bool   // once it is, it stays so
	seen    bool   // it has caught up with what was wanted once
	stored  uint64 // the newest entry of the store then
	brought uint64 // how many events the relay had brought then
}

// look takes how things stand now: whether the peer has caught up with its newest Want, how many events it has brought by catch-up,
// and the numbers of the newest entry that is stored and of the newest that Wants know of.
func (f *firstCatchup) look(caughtUp bool, brought, stored, known uint64) {
	if f.through || !caughtUp {
		return
	}
	if !f.seen || f.brought != brought {
		*f = firstCatchup{seen: true, stored: stored, brought: brought}
	}
	f.through = known >= f.stored
}
