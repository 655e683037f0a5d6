package relaysync

// HoldLoads takes all places for reading the store, so that every loader waits, until release.
func (e *Engine) HoldLoads() (release func()) {
	for range cap(e.loads) {
		e.loads <- struct{}{}
	}
	return func() {
		for range cap(e.loads) {
			<-e.loads
		}
	}
}
