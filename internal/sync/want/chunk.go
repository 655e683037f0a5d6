package want

import "slices"

// chunkSize is how many root events of a repository are copied at most when one is added.
const chunkSize = 64

// chunk holds root items of one repository. Nobody changes a chunk once it is shared.
type chunk []Item

// shared returns how many of their first items c and o have in common.
func (c *chunk) shared(o *chunk) (n int) {
	for n < min(len(*c), len(*o)) && (*c)[n] == (*o)[n] {
		n++
	}
	return n
}

// appendRoot returns chunks with the item added. The result shares all full chunks.
func appendRoot(chunks []*chunk, it Item) []*chunk {
	n := len(chunks)
	if n > 0 && len(*chunks[n-1]) < chunkSize {
		last := append(slices.Clone(*chunks[n-1]), it)
		out := slices.Clone(chunks)
		out[n-1] = &last
		return out
	}
	return append(slices.Clip(chunks), &chunk{it})
}

// removeRoot returns chunks without the item, or chunks itself if the item is not there.
func removeRoot(chunks []*chunk, it Item) []*chunk {
	for at, c := range chunks {
		i := slices.Index(*c, it)
		switch {
		case i < 0:
			continue
		case len(*c) == 1:
			return slices.Concat(chunks[:at], chunks[at+1:])
		}
		rest := slices.Concat((*c)[:i], (*c)[i+1:])
		out := slices.Clone(chunks)
		out[at] = &rest
		return out
	}
	return chunks
}

// appendInPlace adds the item to chunks that nobody else has seen yet.
func appendInPlace(chunks []*chunk, it Item) []*chunk {
	if n := len(chunks); n > 0 && len(*chunks[n-1]) < chunkSize {
		*chunks[n-1] = append(*chunks[n-1], it)
		return chunks
	}
	return append(chunks, &chunk{it})
}

// sameChunks reports whether a and b are one and the same list. Nobody changes a list that was handed out, so one list means the same roots.
func sameChunks(a, b []*chunk) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
