package ingest

// Kept is what the door keeps in memory: ids with a proof, and the cost of what closed sources have left.
func (d *Door) Kept() (proofs, left int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.copies), d.left
}

// Parties is how many parties with a name the door remembers.
func (d *Door) Parties() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.parties)
}

// ProveFirst takes the next item for proved and has every other one recognised at once. Nothing is decided yet.
func (d *Door) ProveFirst() {
	first := d.takeUnchecked()
	d.recognised(first)
	d.proved(first)
	for range d.waiting() - 1 {
		d.recognised(d.takeUnchecked())
	}
}
