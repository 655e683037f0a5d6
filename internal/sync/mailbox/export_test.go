package mailbox

// Remembers is how many events stand in the fold.
func (f *Fold) Remembers() int { return len(f.by) }
