package githttp

import "time"

// keep keeps a flight that has ended, if it fits. The caller holds mu.
func (c *cache) keep(f *flight) {
	if f.key == "" || f.counted > c.most || c.byKey[f.key] != f || c.closed {
		return
	}
	f.used = time.Now()
	if f.kept != nil {
		c.kept.MoveToFront(f.kept)
		return
	}
	f.kept = c.kept.PushFront(f)
	for c.bytes += f.counted; c.bytes > c.most || c.kept.Len() > mostKept; {
		c.evicted++
		c.drop(c.kept.Back().Value.(*flight))
	}
	if c.expiry == nil {
		c.expiry = time.AfterFunc(keepTime, c.expire)
	}
}

// dropOne drops the kept flight that nobody reads and that was used the longest ago. It reports whether there was one.
func (c *cache) dropOne() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.kept.Back(); e != nil; e = e.Prev() {
		if f := e.Value.(*flight); len(f.readers) == 0 {
			c.evicted++
			c.drop(f)
			return true
		}
	}
	return false
}

// drop keeps a flight no longer. The caller holds mu.
func (c *cache) drop(f *flight) {
	c.forget(f)
	c.kept.Remove(f.kept)
	f.kept = nil
	c.bytes -= f.counted
	c.dispose(f)
}

// forget takes a flight out of the index, so that no new reader joins it. The caller holds mu.
func (c *cache) forget(f *flight) {
	if c.byKey[f.key] == f {
		delete(c.byKey, f.key)
	}
}

// dispose closes the file of a flight that has no reader and no writer and is not kept. The caller holds mu.
func (c *cache) dispose(f *flight) {
	if len(f.readers) == 0 && !f.running && f.kept == nil && !f.gone {
		f.gone = true
		c.forget(f)
		delete(c.all, f)
		f.close()
		f.giveBack()
	}
}

// expire drops kept flights that no client has asked for within keepTime.
func (c *cache) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expiry = nil
	now := time.Now()
	for e := c.kept.Back(); e != nil; e = c.kept.Back() {
		f := e.Value.(*flight)
		if left := keepTime - now.Sub(f.used); left > 0 {
			if !c.closed {
				c.expiry = time.AfterFunc(left, c.expire)
			}
			return
		}
		c.drop(f)
	}
}

// close drops the kept flights.
func (c *cache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.expiry != nil {
		c.expiry.Stop()
	}
	for c.kept.Len() > 0 {
		c.drop(c.kept.Back().Value.(*flight))
	}
}
