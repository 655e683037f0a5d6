package githttp

import "time"

// keep has an answer that is over stay for a while, if there is place. It is called with mu held.
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
	for c.bytes += f.counted; c.bytes > c.most; {
		c.evicted++
		c.drop(c.kept.Back().Value.(*flight))
	}
	if c.expiry == nil {
		c.expiry = time.AfterFunc(keepTime, c.expire)
	}
}

// drop ends the keeping of an answer. It is called with mu held.
func (c *cache) drop(f *flight) {
	c.forget(f)
	c.kept.Remove(f.kept)
	f.kept = nil
	c.bytes -= f.counted
	c.dispose(f)
}

// forget has nobody else find a flight. It is called with mu held.
func (c *cache) forget(f *flight) {
	if c.byKey[f.key] == f {
		delete(c.byKey, f.key)
	}
}

// dispose gives the file of a flight back that nobody reads, writes or keeps. It is called with mu held.
func (c *cache) dispose(f *flight) {
	if f.readers == 0 && !f.running && f.kept == nil && !f.gone {
		f.gone = true
		c.forget(f)
		delete(c.all, f)
		f.close()
	}
}

// expire drops what nobody has asked for in a while.
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

// close gives back what is kept.
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
