package relay

import (
	"sync"
	"sync/atomic"
)

// recycled are buffers that all sessions share: each is taken for as long as it holds something, and comes back.
type recycled struct {
	pool sync.Pool
	out  atomic.Int64 // buffers that are taken
}

// newRecycled makes buffers of that capacity.
func newRecycled(size int) *recycled {
	return &recycled{pool: sync.Pool{New: func() any { b := make([]byte, 0, size); return &b }}}
}

// take gives an empty buffer.
func (r *recycled) take() *[]byte {
	r.out.Add(1)
	buf := r.pool.Get().(*[]byte)
	*buf = (*buf)[:0]
	return buf
}

// give brings a buffer back. One that has grown beyond most is left to the garbage collector.
func (r *recycled) give(buf *[]byte, most int) {
	r.out.Add(-1)
	if cap(*buf) <= most {
		r.pool.Put(buf)
	}
}
