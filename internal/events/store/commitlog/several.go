package commitlog

import "sync"

// Widest is how many entries a reader that is far behind reads at once.
const Widest = 16

// ReadSome reads so many entries at once, and gives those before the first that is not to be had, and why that is not.
func ReadSome(from Position, n int, read func(Position) (Entry, error)) ([]Entry, error) {
	entries, errs := make([]Entry, n), make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { entries[i], errs[i] = read(from + Position(i)) })
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			return entries[:i], err
		}
	}
	return entries, nil
}
