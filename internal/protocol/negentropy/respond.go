package negentropy

// Respond answers one message of an initiator from the responder's set, with
// at most frameLimit bytes. The caller always sends the reply: a version byte
// alone tells the initiator that it is done or, where the initiator speaks
// another version, which version this side speaks. The error is [ErrMalformed].
//
// Respond keeps nothing between messages. Its work is at most in proportion to
// the message and the set; without a frame limit so is the reply.
func Respond(s *Set, frameLimit int, msg []byte) (reply []byte, err error) {
	ranges, ours, err := readVersion(msg)
	if err != nil {
		return nil, err
	}
	if !ours {
		return []byte{versionV1}, nil
	}
	x := newExchange(s, effectiveLimit(frameLimit))
	if err := x.run(ranges, x.answer); err != nil {
		return nil, err
	}
	return x.out.buf, nil
}

// answer answers a range that came by ids: it writes the own ids in the range,
// as many as fit. That is the last word about them.
func (x *exchange) answer(g section, to int) {
	x.begin()
	if x.over() {
		x.finish(x.from)
		return
	}
	end := to
	if x.limit > 0 {
		end = min(to, x.from+(x.limit-reserve-len(x.out.buf))/32)
	}
	switch end {
	case to:
		x.out.ids(&g.upper, x.set.items[x.from:to])
	case x.from:
		x.finish(end)
	default:
		cut := before(&x.set.items[end])
		x.out.ids(&cut, x.set.items[x.from:end])
		x.finish(end)
	}
}
