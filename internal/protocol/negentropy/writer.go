package negentropy

// maxVarint is the length of the longest varint in bytes.
const maxVarint = 10

// appendVarint appends a number in its shortest form, see reader.varint.
func appendVarint(dst []byte, v uint64) []byte {
	shift := 0
	for v>>shift > 0x7f {
		shift += 7
	}
	for ; shift > 0; shift -= 7 {
		dst = append(dst, byte(v>>shift)|0x80)
	}
	return append(dst, byte(v&0x7f))
}

// writer puts a message together. A copy of a writer is a point to go back to.
type writer struct {
	buf  []byte
	last uint64 // the time of the bound written last
}

func newWriter() writer { return writer{buf: []byte{versionV1}} }

// header writes what all ranges begin with. Bounds must not fall.
func (w *writer) header(upper *bound, mode byte) {
	if upper.infinite() {
		w.buf = append(w.buf, 0, 0, mode)
		return
	}
	w.buf = appendVarint(w.buf, 1+upper.Time-w.last)
	w.last = upper.Time
	w.buf = append(w.buf, byte(upper.size))
	w.buf = append(w.buf, upper.ID[:upper.size]...)
	w.buf = append(w.buf, mode)
}

// skip writes a range about which nothing is left to say.
func (w *writer) skip(upper *bound) { w.header(upper, modeSkip) }

// fingerprint writes a range by the fingerprint of items[from:to] of the set.
func (w *writer) fingerprint(upper *bound, s *Set, from, to int) {
	w.header(upper, modeFingerprint)
	print := s.fingerprint(from, to)
	w.buf = append(w.buf, print[:]...)
}

// ids writes a range by the ids of all its items.
func (w *writer) ids(upper *bound, items []Item) {
	w.header(upper, modeIDs)
	w.buf = appendVarint(w.buf, uint64(len(items)))
	for i := range items {
		w.buf = append(w.buf, items[i].ID[:]...)
	}
}

// buckets is the number of parts that a range is split into; a range of less
// than two items for each is written by its ids.
const buckets = 16

// split writes a range with the items[from:to] of the set so that the other
// side can tell where it differs: by ids, or as equal parts by fingerprint.
func (w *writer) split(upper *bound, s *Set, from, to int) {
	n := to - from
	if n < 2*buckets {
		w.ids(upper, s.items[from:to])
		return
	}
	for i := range buckets {
		end := from + n/buckets
		if i < n%buckets {
			end++
		}
		b := *upper
		if end < to {
			b = between(&s.items[end-1], &s.items[end])
		}
		w.fingerprint(&b, s, from, end)
		from = end
	}
}
