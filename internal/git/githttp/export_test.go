package githttp

// HoldLarge takes all turns of large bodies until release is called.
func (s *Server) HoldLarge() (release func()) {
	for range cap(s.large) {
		s.large <- struct{}{}
	}
	return func() {
		for range cap(s.large) {
			<-s.large
		}
	}
}
