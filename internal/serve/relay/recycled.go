package relay

import (
	"sync"
	"sync/atomic"
)

// recycled has buffers that all sessions share. A session takes a buffer only for as long as the buffer holds something.
type recycled struct {
	pool sync.Pool
	out  atomic.Int64 // buffers that sessions have
}

// newRecycled makes buffers of that capacity.
func newRecycled(size int) *recycled {
	return &recycled{pool: sync.Pool{New: func() any { b := make([]byte, 0, size); return &b }}}
}

// take returns an empty buffer.
func (r *recycled) take() *[]byte {
	r.out.Add(1)
	buf := r.pool.Get().(*[]byte)
	*buf = (*buf)[:0]
	return buf
}

// give brings a buffer back. It leaves a buffer that has grown beyond most bytes to the garbage collector.
func (r *recycled) give(buf *[]byte, most int) {
	r.out.Add(-1)
	if cap(*buf) <= most {
		r.pool.Put(buf)
	}
}
