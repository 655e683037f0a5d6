package hosting

// RoomForPacks is how many bytes unfinished packs may still take.
func (h *Host) RoomForPacks() int64 { return h.unfinished.Left() }

// Unreturned names what unfinished packs have not given back, where no upload waits for its event.
func (h *Host) Unreturned() []string {
	if n, _ := h.uploads.size(); n > 0 {
		return nil
	}
	return h.unfinished.Unreturned()
}
